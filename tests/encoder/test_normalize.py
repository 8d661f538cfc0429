import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from encoder.normalize import LAST_LETTER, NormalizeSettings, lowercase, normalize, require_text, safe_forms
from mining.errors import InputError

STEPS = ("nfkc", "control", "whitespace", "lowercase")
OFF = dict.fromkeys(STEPS, False)


def only(step: str, text: str) -> str:
    return normalize([text], NormalizeSettings(**(OFF | {step: True})))[0]


@pytest.mark.parametrize(
    ("step", "given_text", "expected"),
    [
        ("nfkc", "ＡＢＣ１２３", "ABC123"),
        ("nfkc", "ｶﾞ", "ガ"),
        ("nfkc", "ﬁn", "fin"),
        ("nfkc", "e\u0301", "é"),
        ("nfkc", "a\u00a0b", "a b"),
        ("nfkc", "ﻼ", "لا"),
        ("nfkc", "𝐀", "A"),
        # NFKC would change what these say.
        ("nfkc", "10² H₂O ½ ① ㎡ … № ™ ´ ﷺ", "10² H₂O ½ ① ㎡ … № ™ ´ ﷺ"),
        ("vowel_marks", "أَهْلًا إلى مدرســة", "اهلا الي مدرسه"),
        ("vowel_marks", "שָׁלוֹם é", "שלום é"),
        ("control", "a\x00b\x1bc\u200bd\ufeffe\u202ef\xad\ud800", "abcdef"),
        ("control", "می\u200cخواهم", "می\u200cخواهم"),
        ("control", "a\tb\nc", "a\tb\nc"),
        ("whitespace", "  a \t b\u3000\u2028c\n", "a b c"),
        ("lowercase", "Straße ÀÉ ΑΣ", "straße àé ας"),
        ("lowercase", "İstanbul", "istanbul"),
    ],
)
def test_each_step_alone(step: str, given_text: str, expected: str) -> None:
    assert only(step, given_text) == expected


def test_no_step_changes_nothing() -> None:
    text = " İ\u200b ＡＢ\x00  ﬁ "
    assert normalize([text], NormalizeSettings(**OFF)) == [text]


def test_unknown_step_is_refused() -> None:
    with pytest.raises(ValidationError):
        NormalizeSettings(nfkd=True)  # type: ignore[call-arg]


@given(st.text())
def test_all_steps_leave_encodable_text_of_single_spaces(text: str) -> None:
    (clean,) = normalize([text], NormalizeSettings())
    clean.encode("utf-8")
    assert clean == " ".join(clean.split())


@given(st.text())
def test_repeating_the_unicode_step_changes_nothing(text: str) -> None:
    once = only("nfkc", text)
    assert only("nfkc", once) == once


def kept(text: str) -> bool:
    """Whether a character of the text, or one it is canonically composed of, is kept where NFKC would replace it."""
    parts = set(unicodedata.normalize("NFD", text))
    return any(unicodedata.decomposition(c)[:1] == "<" and ord(c) not in safe_forms() for c in parts)


@given(st.text(st.characters(codec="utf-8")))
def test_the_unicode_step_is_nfkc_where_all_is_safe(text: str) -> None:
    assert kept(text) or only("nfkc", text) == unicodedata.normalize("NFKC", text)


def test_every_character_of_unicode() -> None:
    characters = list(map(chr, range(LAST_LETTER + 1)))
    once = normalize(characters, NormalizeSettings(**OFF | {"nfkc": True}))
    assert normalize(once, NormalizeSettings(**OFF | {"nfkc": True})) == once
    pairs = zip(characters, once, strict=True)
    assert not [ascii(c) for c, got in pairs if got != unicodedata.normalize("NFKC", c) and not kept(c)]
    above = "".join(map(chr, range(LAST_LETTER + 1, sys.maxunicode + 1)))
    assert unicodedata.is_normalized("NFKC", above)


@pytest.mark.parametrize("mark", ["\u0301", "\u0307", "\u0338", "\u3099"])
def test_every_character_with_a_mark(mark: str) -> None:
    marked = [chr(i) + mark for i in range(0x10000) if not unicodedata.is_normalized("NFKC", chr(i))]
    once = normalize(marked, NormalizeSettings(**OFF | {"nfkc": True}))
    assert normalize(once, NormalizeSettings(**OFF | {"nfkc": True})) == once


def test_all_steps_again_change_no_character() -> None:
    once = normalize(list(map(chr, range(LAST_LETTER + 1))), NormalizeSettings())
    assert normalize(once, NormalizeSettings()) == once


MARKED = ["a \u064b b", "\u0623\u064e", "\ufb01n\u00a0 x", "\x07 \u2002", "\u1e9b\u0323", "e\u0301 \uff21", "plain"]


@pytest.mark.parametrize("wanted", [{}, {"vowel_marks": True}, {"nfkc": False}, {"lowercase": False}])
@pytest.mark.parametrize("done", [{}, {"nfkc": False}, {"control": False}, {"whitespace": False}])
def test_the_steps_that_are_left_do_what_all_steps_do(wanted: dict[str, bool], done: dict[str, bool]) -> None:
    texts = [*map(chr, range(0x80, 0x3100)), *(f"{chr(i)}\u0301 \u0651 x" for i in range(0x400)), *MARKED]
    whole, before = NormalizeSettings(**wanted), NormalizeSettings(**{"lowercase": False} | done)
    once = normalize(texts, before)
    assert normalize(once, whole.after(before)) == normalize(once, whole)
    assert whole.after(whole) == NormalizeSettings(**OFF)


def test_lowercase_of_many() -> None:
    assert lowercase(["A", "Б", ""]) == ["a", "б", ""]


@pytest.mark.parametrize("bad", ["half \ud83d pair", None, 3])
def test_what_is_not_text_is_named(bad: object) -> None:
    require_text(["fine"])
    with pytest.raises(InputError, match="sentence 2"):
        require_text(["fine", bad])  # type: ignore[list-item]
