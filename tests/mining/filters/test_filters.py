"""All filters together: order, reasons, counts, and what goes where."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from pydantic import ValidationError

from mining.filters import FilterSettings, RepeatedTargetFilter, apply_filters
from mining.pairs import REJECTED_SCHEMA, SCHEMA

ROWS = [
    ("Der Ausschuss tagt heute um 15 Uhr in Berlin.", "The committee meets today at 15 hours in Berlin.", None),
    ("x", "The committee meets today.", "length"),
    ("Ja, das ist so.", "Yes, and there is a great deal more to be said about it than that.", "length_ratio"),
    ("Committee on Fisheries, Brussels", "Committee on Fisheries, Brussels.", "identical"),
    ("Der Bericht erschien 1998 in Wien.", "The report appeared in Vienna in 1989.", "numbers"),
    ("Комитет заседает сегодня вечером.", "The committee meets this evening.", "script"),
    ("Le comité se réunit ce soir à huit heures.", "The committee meets this evening at eight.", "language"),
]


def table(rows: list) -> pa.Table:
    return pa.table({"src_text": [row[0] for row in rows], "tgt_text": [row[1] for row in rows]})


def test_each_reason() -> None:
    result = apply_filters(table(ROWS), FilterSettings(), "de", "en")
    expected = [reason for _, _, reason in ROWS]
    assert result.reasons.to_pylist() == expected
    assert result.kept.tolist() == [reason is None for reason in expected]
    assert result.counts == Counter(reason for reason in expected if reason)


def test_everything_off_keeps_everything() -> None:
    result = apply_filters(table(ROWS), FilterSettings.none(), "de", "en")
    assert result.kept.all()
    assert not result.counts


def test_split_under_the_pairs_schema() -> None:
    pairs = table(ROWS)
    kept, rejected = apply_filters(pairs, FilterSettings(), "de", "en").split(pairs)
    assert kept.schema == SCHEMA
    assert rejected.schema == REJECTED_SCHEMA
    assert kept.num_rows + rejected.num_rows == len(ROWS)
    assert rejected["reason"].to_pylist() == [reason for _, _, reason in ROWS if reason]


def test_repeated_targets_across_batches() -> None:
    settings = FilterSettings.none().model_copy(update={"repeated_target": RepeatedTargetFilter(max_pairs=2)})
    seen: Counter[int] = Counter()
    batch = table([("a", "hub"), ("b", "hub"), ("c", "other")])
    first = apply_filters(batch, settings, seen_targets=seen)
    second = apply_filters(batch.to_batches()[0], settings, seen_targets=seen)
    assert first.kept.tolist() == [True, True, True]
    assert second.kept.tolist() == [False, False, True]
    assert apply_filters(batch, settings).kept.all()


def test_a_dropped_pair_takes_no_place_of_its_target() -> None:
    settings = FilterSettings(language=None, repeated_target=RepeatedTargetFilter(max_pairs=1))
    result = apply_filters(
        table([("x", "The same target"), ("Das gleiche Ziel", "The same target")]), settings, "de", "en"
    )
    assert result.reasons.to_pylist() == ["length", None]


@pytest.mark.parametrize("rows", [[], [("", "")]])
def test_empty(rows: list) -> None:
    result = apply_filters(
        pa.table(
            {
                "src_text": pa.array([r[0] for r in rows], pa.string()),
                "tgt_text": pa.array([r[1] for r in rows], pa.string()),
            }
        ),
        FilterSettings(),
        "de",
        "en",
    )
    assert len(result.kept) == len(rows)
    assert not result.kept.any()


def test_settings_refuse_unknown_keys() -> None:
    with pytest.raises(ValidationError):
        FilterSettings.model_validate({"lenght": None})
    with pytest.raises(ValidationError):
        FilterSettings.model_validate({"length": {"minimum": 3}})
    assert FilterSettings.model_validate({"length": {"min_chars": 9}, "numbers": None}).length.min_chars == 9
