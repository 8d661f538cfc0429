"""What a text says of the gaps between its sentences."""

from __future__ import annotations

import pytest

from mining.alignment_marks import MARKS, find_marks


@pytest.mark.parametrize(
    ("text", "following", "expected"),
    [
        ("He came.", "She went.", set()),
        ("He said:", "come!", {"colon", "lower case"}),
        ("one thing ; ", "Another", {"comma"}),
        ("« Makalu » ( Grenoble :", "Arthaud )", {"colon", "bracket"}),
        ("A heading", "Text begins.", {"no end"}),
        ("(He came.) »", "", set()),
        ("24 a !", "3 b", set()),
        ("他来了。", "她走了。", set()),
        ("他说：", "", {"colon"}),
        ("", "", {"no end"}),
    ],
)
def test_marks(text: str, following: str, expected: set[str]) -> None:
    row = find_marks([text, following])[0]
    assert {name for name, found in zip(MARKS, row, strict=True) if found} == expected
