"""Vectors go through the shuffle as Arrow, and come out as they were."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pipelines.graph import partition_plan
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_transform import GraphOfAll
from pipelines.graph.key_batches import KeyRowsCoder
from pipelines.graph.partition import KeyRows
from pipelines.graph.partition_plan import Item
from pipelines.graph.vector_sides import VectorShard
from pipelines.runners.local import run_local
from tests.pipelines.graph.vector_datasets import write_side


def key_rows(rows: int, dtype: type, copies: int = 8) -> KeyRows:
    draw = np.random.default_rng(rows)
    return KeyRows(
        Item("backward", VectorShard(7, "gs://bucket/wör k/00007.arrow", 65_536, "1f2e")),
        np.arange(rows) * 3,
        draw.integers(0, 1 << 62, rows),
        draw.standard_normal((rows, 16)).astype(dtype),
        draw.random(rows),
        draw.integers(-1, 9, (rows, copies)).astype(np.int32),
        draw.integers(0, 200, (rows, copies)).astype(np.uint8),
    )


@pytest.mark.parametrize("rows", [0, 1, 500])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_what_comes_out_is_what_went_in(rows: int, dtype: type) -> None:
    given = key_rows(rows, dtype)
    encoded = KeyRowsCoder().encode(given)
    found = KeyRowsCoder().decode(encoded)
    assert found.item == given.item
    for ours, theirs in zip(found[1:], given[1:], strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    (batch,) = pa.ipc.open_stream(encoded)
    assert batch.num_rows == rows and batch.schema.field("stored").type.list_size == 16


def test_rows_that_do_not_lie_together_are_put_together() -> None:
    given = key_rows(20, np.float32)
    apart = given._replace(stored=np.repeat(given.stored, 2, axis=0)[::2], cells=np.asfortranarray(given.cells))
    found = KeyRowsCoder().decode(KeyRowsCoder().encode(apart))
    np.testing.assert_array_equal(found.stored, given.stored)
    np.testing.assert_array_equal(found.cells, given.cells)


def test_the_shuffle_carries_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_plan, "KEY_BYTES", 1 << 18)
    carried, encode = [], KeyRowsCoder.encode
    monkeypatch.setattr(
        KeyRowsCoder, "encode", lambda self, value: (carried.append(len(value.rows)), encode(self, value))[1]
    )
    draw = np.random.default_rng(0)
    source, target = (
        write_side(tmp_path / name, draw.standard_normal((600, 16)).astype(np.float32), 2) for name in "st"
    )
    asked = GraphSettings(source=source, target=target, out=str(tmp_path / "g"), search="partitioned", copies=2)
    run_local(GraphOfAll(asked), 1)
    assert sum(carried) >= 1200, "every vector goes to a key"
