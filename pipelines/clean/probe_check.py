"""Known translations, and mismatched ones, added to a bitext as probes: do the probabilities keep what they promise?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mining.scoring.prior import Point
from pipelines.clean.bitext_chunks import SCHEMA

FEWEST = 80  # seed pairs; of fewer, none is spared
_MOST = 400
_SHARE = 1 / 3  # of the seed pairs; the others make the lexicon
_IN_CHUNK = 40


class SeedPairs(NamedTuple):
    """Known translations."""

    source: list[str]
    target: list[str]

    def split(self) -> tuple[SeedPairs, SeedPairs]:
        """Those that become probes, and those for the lexicon."""
        count = min(int(_SHARE * len(self.source)), _MOST) if len(self.source) >= FEWEST else 0
        first, rest = slice(count), slice(count, None)
        return SeedPairs(self.source[first], self.target[first]), SeedPairs(self.source[rest], self.target[rest])


class Check(NamedTuple):
    """How many probe pairs of each kind there were, and how many would be kept."""

    right: int = 0
    right_kept: int = 0
    mismatched: int = 0
    mismatched_kept: int = 0

    def precision(self, share: float) -> float | None:
        """That of what is kept, by the probe pairs, where `share` of all pairs are right."""
        if not self.right or not self.mismatched:
            return None
        right = share * self.right_kept / self.right
        wrong = (1 - share) * self.mismatched_kept / self.mismatched
        return right / (right + wrong) if right + wrong else None


def with_probes(chunk: pa.Table, known: SeedPairs, number: int) -> pa.Table:
    """The chunk with some of the known pairs behind it, and as many whose target is another one's.

    Their lines are negative: odd ones are right, even ones mismatched.
    """
    count = len(known.source)
    if count < 2:
        return chunk
    chosen = (np.arange(min(_IN_CHUNK, count)) + number * _IN_CHUNK) % count
    others = (chosen + count // 2) % count
    probes = {
        "line": np.concatenate([-2 * chosen - 1, -2 * chosen - 2]),
        "source": [known.source[row] for row in [*chosen, *chosen]],
        "target": [known.target[row] for row in [*chosen, *others]],
    }
    columns = [pa.array(probes.get(field.name, [None] * 2 * len(chosen)), field.type) for field in SCHEMA]
    return pa.concat_tables([chunk, pa.table(columns, SCHEMA)], promote_options="default")


def divide(scored: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The scored rows of the bitext, and the probes."""
    own = scored["line"].to_numpy() > 0
    return scored.filter(pa.array(own)), scored.filter(pa.array(~own))


def check(probes: Iterable[pa.Table], point: Point) -> Check:
    """Probes that a filter drops count as not kept."""
    total = Check()
    for table in probes:
        right = table["line"].to_numpy() % 2 == 1
        values = table["log_ratio"].to_numpy()
        kept = ~np.isnan(values)
        kept[kept] = point.keeps(values[kept])
        counts = right.sum(), (right & kept).sum(), (~right).sum(), (~right & kept).sum()
        total = Check(*(int(old + new) for old, new in zip(total, counts, strict=True)))
    return total
