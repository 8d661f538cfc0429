"""What a memory budget allows."""

import re
from typing import Any

import pytest

from mining.errors import InputError
from pipelines.datasets.manifest import Counters, Dataset, Manifest, Request, Shard
from pipelines.mine.memory_budget import MemoryShares, memory_shares, require_memory

GIB = 1 << 30


def side(*rows: int) -> Dataset:
    shards = [Shard(index=i, name=str(i), rows=count, digest="") for i, count in enumerate(rows)]
    request = Request(kind="sentences", configuration={}, inputs=[])
    return Dataset("side", Manifest(request=request, shards=shards, counters=Counters(), fingerprint=""))


@pytest.mark.parametrize(
    ("budget", "shares"),
    [
        (4 * GIB, MemoryShares(512, 21_474_836, GIB)),
        (64 << 20, MemoryShares(8, 335_544, 16 << 20)),
        (1 << 20, MemoryShares(1, 5_242, 1 << 18)),
    ],
)
def test_shares_grow_with_the_budget(budget: int, shares: MemoryShares) -> None:
    assert memory_shares(budget) == shares


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        ({}, None),
        (
            {"dim": 4096},
            "too small for the neighbours of 50,000 x 20,000 vectors of dim 4096; raise --memory to",
        ),
        ({"k": 1000}, "of dim 256; raise --memory to"),
        ({"source": side(*[50_000] * 200)}, None),  # the other side bounds the pairs
        ({"source": side(*[50_000] * 200), "target": side(*[50_000] * 200)}, "take up to 716MiB; give that much"),
        ({"source": side()}, None),
    ],
)
def test_what_does_not_fit_is_refused_with_what_it_needs(given: dict[str, Any], needed: str | None) -> None:
    asked = {
        "budget": 512 << 20,
        "k": 4,
        "dim": 256,
        "source": side(50_000, 10),
        "target": side(20_000),
        "threads": 2,
    } | given
    if needed is None:
        require_memory(**asked)
    else:
        with pytest.raises(InputError, match=re.escape(needed)):
            require_memory(**asked)
