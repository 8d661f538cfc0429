"""Noise put into pairs of a bitext itself: how wrong pairs of just this text score, which no training can tell."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from mining.even_rows import evenly_spread
from mining.scoring.noise import Noise
from mining.scoring.prior import Planted
from mining.scoring.tasks import Bitext, cleaning_task
from pipelines.clean.chunk_scores import Scorer

SAMPLE = 2048  # pairs, half of which are spoilt
_SPOILT = 0.5
_FLAWS = Noise.truncated, Noise.omission, Noise.swapped  # another number or name may score as a right pair does
_UNRELATED = "random", Noise.salad  # copies are for the filters


def sampled(tables: Iterable[pa.Table], rows: int) -> pa.Table:
    """At most so many scored pairs of each table, evenly spread over it."""
    chosen = []
    for table in tables:
        scored = table.select(["source", "target", "log_ratio"]).filter(table["log_ratio"].is_valid())
        chosen.append(scored.take(evenly_spread(len(scored), rows)))
    return pa.concat_tables(chosen)


def spoil(sample: pa.Table, scorer: Scorer) -> Planted:
    """Spoil one text of half of the pairs and score them all again, together."""
    if len(sample) < 2:
        return Planted.nothing()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(sample))
    sides = [sample[name].take(order).to_pylist() for name in ("source", "target")]
    task = cleaning_task(Bitext(scorer.langs[0] or "", scorer.langs[1] or "", *sides), _SPOILT, None, rng)
    after = scorer.scores(task.source, task.target)[:, 0]
    kinds = np.array(task.kinds, object)
    flawed, unrelated = np.isin(kinds, _FLAWS), np.isin(kinds, _UNRELATED)
    planted = flawed | unrelated
    before = sample["log_ratio"].to_numpy()[order]
    return Planted(before[planted].astype(np.float64), after[planted].astype(np.float64), flawed[planted])
