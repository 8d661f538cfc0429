"""One round of the loop: mined pairs become known ones, the encoder learns on, and the same text is mined again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from mining.pairs import SCHEMA, conform
from pipelines.datasets import Dataset
from pipelines.demo.corpora import write_text
from pipelines.demo.hand import Place
from pipelines.demo.scores import Score
from pipelines.loop.selection import Known, select_pairs
from pipelines.loop.settings import SelectionSettings
from pipelines.mine import pair_batches


def write_mined(place: Place, scores: Sequence[Score]) -> list[Path]:
    """The pairs to learn from, chosen by the loop's rules: `english TAB other`; no file where there are none."""
    mined = {f"en-{score.corpora.language}": _table(score.pairs) for score in scores}
    chosen = select_pairs(mined, Known(frozenset(), {}), SelectionSettings())
    written = []
    for score, selection in zip(scores, chosen.values(), strict=True):
        sides = (selection.pairs[side].to_pylist() for side in ("src_text", "tgt_text"))
        lines = [f"{english}\t{other}\n" for english, other in zip(*sides, strict=True)]
        if lines:
            path = place.round.mined(score.corpora.language)
            write_text(path, "".join(lines))
            written.append(path)
    return written


def _table(pairs: Dataset) -> pa.Table:
    return pa.concat_tables([SCHEMA.empty_table(), *(conform(batch) for batch in pair_batches(pairs))])
