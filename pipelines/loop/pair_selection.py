"""Which mined pairs are trained on: rules that answer keep, or drop with a reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from encoder.data.exclusion import exclusion_key
from pipelines.loop.loop_settings import SelectionSettings

EVALUATION, IN_SEED, NEAR_DUPLICATE = "evaluation_file", "in_seed", "near_duplicate"
SENTENCE_CAP, PAIR_CAP = "sentence_cap", "language_pair_cap"
_DIGITS = re.compile(r"\d+")


class Selection(NamedTuple):
    """The pairs of one language pair to train on, best first, and why the others are not."""

    pairs: pa.Table
    dropped: dict[str, int]


class Known(NamedTuple):
    """What no pair may repeat: sentences of evaluation files, and pairs of the seed (by `exclusion_key`)."""

    evaluation: frozenset[int]
    seed: Mapping[str, frozenset[tuple[int, int]]]


def select_pairs(mined: Mapping[str, pa.Table], known: Known, settings: SelectionSettings) -> dict[str, Selection]:
    """Go through the pairs of all language pairs, best first, and keep what no rule objects to.

    `mined` has tables of the pairs schema, best first, by language pair such as `de-en`. A pair that is dropped takes
    no place of another.
    """
    order = _best_first([table["score"].to_numpy() for table in mined.values()])
    judges = [_Judge(pair, table, known, settings) for pair, table in mined.items()]
    uses: Counter[tuple[str, int]] = Counter()
    for number, row in order:
        judges[number].judge(row, uses)
    return {judge.pair: judge.result() for judge in judges}


class _Judge:
    """The pairs of one language pair on their way."""

    def __init__(self, pair: str, table: pa.Table, known: Known, settings: SelectionSettings) -> None:
        self.pair, self._table, self._settings = pair, table, settings
        self._evaluation, self._seed = known.evaluation, known.seed.get(pair, frozenset())
        self._texts = table["src_text"].to_pylist(), table["tgt_text"].to_pylist()
        self._ids = table["src_id"].to_pylist(), table["tgt_id"].to_pylist()
        self._seen: tuple[set[int], set[int]] = (set(), set())
        self._kept: list[int] = []
        self._dropped: Counter[str] = Counter()

    def judge(self, row: int, uses: Counter[tuple[str, int]]) -> None:
        texts = [side[row] for side in self._texts]
        ends = [(lang, side[row]) for lang, side in zip(self.pair.split("-"), self._ids, strict=True)]
        loose = [near_duplicate_key(text) for text in texts]
        reason = self._objection(texts, loose, [uses[end] for end in ends])
        if reason is not None:
            self._dropped[reason] += 1
            return
        self._kept.append(row)
        uses.update(ends)
        for key, seen in zip(loose, self._seen, strict=True):
            seen.add(key)

    def _objection(self, texts: Sequence[str], loose: Sequence[int], uses: Sequence[int]) -> str | None:
        rules = self._settings
        source, target = (exclusion_key(text) for text in texts)
        if source in self._evaluation or target in self._evaluation:
            return EVALUATION
        if (source, target) in self._seed:
            return IN_SEED
        if rules.near_duplicates == "drop" and (loose[0] in self._seen[0] or loose[1] in self._seen[1]):
            return NEAR_DUPLICATE
        if rules.per_sentence is not None and max(uses) >= rules.per_sentence:
            return SENTENCE_CAP
        if rules.per_language_pair is not None and len(self._kept) >= rules.per_language_pair:
            return PAIR_CAP
        return None

    def result(self) -> Selection:
        kept = self._table.take(pa.array(self._kept, pa.int64()))
        return Selection(kept, dict(sorted(self._dropped.items())))


def near_duplicate_key(text: str) -> int:
    """The same number for sentences that differ only in case, width, white space, punctuation or digits."""
    return exclusion_key(_DIGITS.sub("0", text))


def _best_first(scores: Sequence[np.ndarray]) -> list[tuple[int, int]]:
    """(language pair, row) of all pairs by score; ties in the order of the language pairs."""
    numbers = np.repeat(np.arange(len(scores)), [len(part) for part in scores])
    rows = np.concatenate([np.zeros(0, np.int64), *(np.arange(len(part)) for part in scores)])
    order = np.argsort(-np.concatenate([np.zeros(0, np.float32), *scores]), kind="stable")
    return list(zip(numbers[order].tolist(), rows[order].tolist(), strict=True))
