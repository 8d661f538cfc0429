"""Filters that answer keep, or drop with a reason."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from mining.filters.identity import IdentityFilter
from mining.filters.language import LanguageFilter
from mining.filters.length import LengthFilter, LengthRatioFilter
from mining.filters.numbers import NumberFilter
from mining.filters.pair_filter import PairFilter, TextPairs
from mining.filters.repetition import RepeatedTargetFilter
from mining.filters.script import ScriptFilter
from mining.pairs import conform

__all__ = [
    "FilterResult",
    "FilterSettings",
    "IdentityFilter",
    "LanguageFilter",
    "LengthFilter",
    "LengthRatioFilter",
    "NumberFilter",
    "PairFilter",
    "RepeatedTargetFilter",
    "ScriptFilter",
    "TextPairs",
    "apply_filters",
]


class FilterSettings(BaseModel):
    """Every filter in the order it is asked, cheap ones first; null switches one off."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    length: LengthFilter | None = LengthFilter()
    length_ratio: LengthRatioFilter | None = LengthRatioFilter()
    identical: IdentityFilter | None = IdentityFilter()
    numbers: NumberFilter | None = NumberFilter()
    script: ScriptFilter | None = ScriptFilter()
    language: LanguageFilter | None = LanguageFilter()
    # Last, so that only pairs that every other filter keeps use up a target's places.
    repeated_target: RepeatedTargetFilter | None = RepeatedTargetFilter()

    @classmethod
    def none(cls) -> FilterSettings:
        """Every filter off."""
        return cls(**dict.fromkeys(cls.model_fields))

    def active(self) -> list[PairFilter]:
        return [value for name in type(self).model_fields if (value := getattr(self, name)) is not None]


class FilterResult(NamedTuple):
    """Which rows stay, why each other row went (null for those that stay), and how many went for each reason."""

    kept: NDArray[np.bool_]
    reasons: pa.StringArray
    counts: Counter[str]

    def split(self, pairs: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The kept pairs, and the rejected ones with their `reason`, both under the pairs schema."""
        kept = conform(pairs.filter(pa.array(self.kept)))
        rejected = pairs.append_column("reason", self.reasons).filter(pa.array(~self.kept))
        return kept, conform(rejected)


def apply_filters(
    pairs: pa.Table | pa.RecordBatch,
    settings: FilterSettings,
    src_lang: str | None = None,
    tgt_lang: str | None = None,
    *,
    seen_targets: Counter[int] | None = None,
) -> FilterResult:
    """Ask each filter about the rows that are still in; the first to object gives the reason.

    `pairs` needs the columns src_text and tgt_text, best pair first. Give the same `seen_targets` to every batch of one
    run, so that repeated targets are counted across batches.
    """
    texts = TextPairs(_text(pairs, "src_text"), _text(pairs, "tgt_text"), src_lang, tgt_lang)
    rows = np.arange(pairs.num_rows)
    reasons = np.full(pairs.num_rows, None, dtype=object)
    for rule in settings.active():
        if not len(rows):
            break
        scores = rule.score(texts, seen_targets) if isinstance(rule, RepeatedTargetFilter) else rule.score(texts)
        good = rule.accept(scores)
        if not good.all():
            reasons[rows[~good]] = rule.reason
            texts, rows = texts.take(np.flatnonzero(good)), rows[good]
    kept = np.zeros(pairs.num_rows, dtype=bool)
    kept[rows] = True
    return FilterResult(kept, pa.array(reasons, pa.string()), Counter(reasons[~kept].tolist()))


def _text(pairs: pa.Table | pa.RecordBatch, name: str) -> pa.Array:
    column = pairs.column(name)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
