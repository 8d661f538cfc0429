"""Messages of programs as plain sentences."""

import pytest

from pipelines.demo.messages import identity, is_sentence_pair, plain

MESSAGES = [
    ("Delete %(name)s from %d files?", "Delete … from … files?"),
    ("%1$s of {total:.2f} in ${place}, {{ user }}", "… of … in …, …"),
    ("Could not open %1: %2", "Could not open …: …"),
    ("{% trans %}{} {0}", "…"),
    ("100% sure, 50%% off", "100% sure, 50% off"),
    ("<p>Read <a href='{url}'>the  manual</a>.</p><br/>Now", "Read the manual. Now"),
    ("if a < b and b > c", "if a < b and b > c"),
    ("&Open a file", "Open a file"),
    ("_Open a snake_case file", "Open a snake_case file"),
    ("打开文件(&O)", "打开文件"),
    ("Fish &amp; chips &lt;now&gt;", "Fish & chips <now>"),
    ("Use :ref:`the index` and **bold** ``code``", "Use the index and bold code"),
    ("two\nlines\there", "two lines here"),
]


@pytest.mark.parametrize(("message", "expected"), MESSAGES)
def test_what_is_not_text_is_taken_out(message: str, expected: str) -> None:
    assert plain(message) == expected


PAIRS = [
    ("Please close the window", "Bitte schließe das Fenster", True),
    ("Close the window", "Schließe das Fenster", False),  # three words
    ("Please close … … …", "Bitte schließe … … …", False),
    ("Please close the Window", "please close the window!", False),  # not translated
    ("one two three four " * 11, "eins", False),
    ("Please close the window", "长" * 301, False),
    ("a b c d 2026-11-16 (%Y-%m-%d)", "e f g h 2026-11-16", False),  # more signs than words
]


@pytest.mark.parametrize(("english", "other", "expected"), PAIRS)
def test_which_pairs_are_sentences(english: str, other: str, expected: bool) -> None:
    assert is_sentence_pair(english, other) is expected


def test_identity_ignores_case_and_signs_only() -> None:
    assert identity("Save this page…") == identity("save THIS page")
    assert identity("Save page 1") != identity("Save page 2")
