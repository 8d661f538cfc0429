"""The surest of the mined pairs, as bitext to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from mining.pairs import SCHEMA, conform
from pipelines.datasets.manifest import Dataset
from pipelines.demo.demo_corpora import write_text
from pipelines.demo.hand import Place
from pipelines.demo.scores import MineScore
from pipelines.loop.loop_settings import SelectionSettings
from pipelines.loop.pair_selection import Known, select_pairs
from pipelines.mine.pair_stage import pair_batches
from pipelines.mine.score_curve import ScoreCurve


def write_sure_pairs(place: Place, scores: Sequence[MineScore], precision: float) -> list[Path]:
    """The pairs to learn from: those that score highest, so many that `precision` of them are right by the estimate.

    The loop's rules choose among them. Files are `english TAB other`, with none where there are no pairs.
    """
    mined = {f"en-{score.corpora.language}": _surest(score.pairs, precision) for score in scores}
    chosen = select_pairs(mined, Known(frozenset(), {}), SelectionSettings())
    written = []
    for score, selection in zip(scores, chosen.values(), strict=True):
        sides = (selection.pairs[side].to_pylist() for side in ("src_text", "tgt_text"))
        lines = [f"{english}\t{other}\n" for english, other in zip(*sides, strict=True)]
        if lines:
            path = place.mined(score.corpora.language)
            write_text(path, "".join(lines))
            written.append(path)
    return written


def _surest(pairs: Dataset, precision: float) -> pa.Table:
    table = pa.concat_tables([SCHEMA.empty_table(), *(conform(batch) for batch in pair_batches(pairs))])
    curve = ScoreCurve.read(pairs.url)
    threshold = curve.reaching(precision) if curve else None
    return table.filter(pc.greater_equal(table["score"], threshold)) if threshold is not None else table.slice(0, 0)
