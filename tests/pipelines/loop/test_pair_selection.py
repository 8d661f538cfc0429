"""Rules for mined pairs: each reason, and the caps against a plain reading of what they say."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoder.data.exclusion import exclusion_key
from mining.pairs import SCHEMA, conform
from pipelines.loop.loop_settings import SelectionSettings
from pipelines.loop.pair_selection import Known, near_duplicate_key, select_pairs

NOTHING = Known(frozenset(), {})


def mined(*rows: tuple[int, int, float, str, str]) -> pa.Table:
    names = ("src_id", "tgt_id", "score", "src_text", "tgt_text")
    if not rows:
        return SCHEMA.empty_table()
    return conform(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))))


PAIRS = mined(
    (0, 0, 1.5, "Seite 12.", "page 12"),
    (1, 1, 1.4, "seite 13", "another page"),
    (2, 2, 1.3, "Das Haus", "the house"),
    (3, 3, 1.2, "Ein Haus", "The HOUSE!"),
    (4, 4, 1.1, "Wasser", "water"),
)


@pytest.mark.parametrize(
    ("known", "changes", "kept", "dropped"),
    [
        (NOTHING, {}, [0, 2, 4], {"near_duplicate": 2}),
        (NOTHING, {"near_duplicates": "keep"}, [0, 1, 2, 3, 4], {}),
        (NOTHING, {"per_language_pair": 2}, [0, 2], {"language_pair_cap": 1, "near_duplicate": 2}),
        (Known(frozenset({exclusion_key("WATER.")}), {}), {}, [0, 2], {"evaluation_file": 1, "near_duplicate": 2}),
        (
            Known(frozenset(), {"de-en": frozenset({(exclusion_key("das haus"), exclusion_key("the house"))})}),
            {},
            [0, 3, 4],  # what is dropped takes no place: the near duplicate of the seed pair stays
            {"in_seed": 1, "near_duplicate": 1},
        ),
        (
            Known(frozenset(), {"fr-en": frozenset({(exclusion_key("das haus"), exclusion_key("the house"))})}),
            {},
            [0, 2, 4],
            {"near_duplicate": 2},
        ),
    ],
    ids=["near duplicates", "all", "language pair cap", "evaluation", "seed", "seed of another language pair"],
)
def test_reasons(known: Known, changes: dict[str, Any], kept: list[int], dropped: dict[str, int]) -> None:
    found = select_pairs({"de-en": PAIRS}, known, SelectionSettings(**changes))["de-en"]
    assert found.pairs["src_id"].to_pylist() == kept
    assert found.dropped == dropped


def test_a_sentence_is_capped_over_all_language_pairs_best_first() -> None:
    tables = {
        "de-en": mined((0, 7, 1.2, "a", "x"), (1, 8, 1.1, "b", "y")),
        "fr-en": mined((0, 7, 1.3, "c", "x"), (1, 9, 1.0, "d", "z")),
        "es-en": mined(),
    }
    found = select_pairs(tables, NOTHING, SelectionSettings(per_sentence=1))
    assert found["de-en"].pairs["tgt_id"].to_pylist() == [8]
    assert found["de-en"].dropped == {"sentence_cap": 1}
    assert found["fr-en"].pairs["tgt_id"].to_pylist() == [7, 9]
    assert found["es-en"].pairs.num_rows == 0
    assert found["es-en"].pairs.schema.equals(SCHEMA)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), max_size=20),
    st.integers(1, 3),
)
def test_caps_hold_and_nothing_is_dropped_without_need(rows: list[tuple[int, int, int]], most: int) -> None:
    rows = sorted(rows, key=lambda row: -row[2])
    table = mined(*((a, b, float(score), f"s{n}", f"t{n}") for n, (a, b, score) in enumerate(rows)))
    rules = SelectionSettings(per_sentence=most, near_duplicates="keep")
    found = select_pairs({"de-en": table}, NOTHING, rules)["de-en"]
    uses: Counter[tuple[str, int]] = Counter()
    expected = []
    for number, (a, b, _) in enumerate(rows):
        if uses["s", a] < most and uses["t", b] < most:
            expected.append(f"s{number}")
            uses["s", a] += 1
            uses["t", b] += 1
    assert found.pairs["src_text"].to_pylist() == expected
    assert sum(found.dropped.values()) == len(rows) - len(expected)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Page 3 of 12", "page 104 OF 2!", True),
        ("Version 1.0", "version 2.5", True),
        ("Version one", "version two", False),
        ("第3章", "第12章。", True),
    ],
)
def test_near_duplicates(one: str, other: str, same: bool) -> None:
    assert (near_duplicate_key(one) == near_duplicate_key(other)) == same
