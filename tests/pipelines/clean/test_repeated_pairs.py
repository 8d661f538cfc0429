"""Pairs of a bitext that came before."""

import numpy as np
import pyarrow as pa
import pytest

from pipelines.clean import repeated_pairs
from pipelines.clean.repeated_pairs import DUPLICATE, NEAR_DUPLICATE, RepeatedPairs


def column(*texts: str | None) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(texts, pa.string())])


def test_the_first_stays_and_others_have_their_reason() -> None:
    source = column("Page 1", "page 1!", "Page 2", "Pagé 1", "other", "Page 1")
    target = column("Seite 1", "Seite 1", "Seite 2", "Seite 1", "anders", "Seite 1")
    known = column(None, None, None, None, "empty", "empty")
    met = RepeatedPairs()
    expected = [None, DUPLICATE, NEAR_DUPLICATE, NEAR_DUPLICATE, "empty", "empty"]
    assert met.reasons(source, target, known).to_pylist() == expected
    assert met.reasons(source[:1], target[:1], known[:1]).to_pylist() == [DUPLICATE]


def test_a_pair_with_the_right_numbers_repeats_none_with_wrong_ones() -> None:
    source, target = column("Page 1", "Page 2", "Page 4"), column("Seite 3", "Seite 2", "Seite 9")
    found = RepeatedPairs().reasons(source, target, column(None, None, None))
    assert found.to_pylist() == [None, None, NEAR_DUPLICATE]


def test_a_quarter_of_the_room_is_hardly_any_forgetting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_pairs, "_REMEMBERED", 1 << 14)
    texts = column(*(f"sentence {chr(97 + n % 26) * (1 + n // 26)}" for n in range(4096)))
    met, known = RepeatedPairs(), column(*[None] * 4096)
    assert met.reasons(texts, texts, known).null_count == 4096
    again = np.array(met.reasons(texts, texts, known).to_pylist(), object)
    assert (again == None).sum() <= 4  # noqa: E711
