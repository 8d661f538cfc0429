"""Each filter by itself: tables of cases."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mining.filters import IdentityFilter, LanguageFilter, LengthFilter, LengthRatioFilter, NumberFilter, ScriptFilter
from mining.filters.characters import count_characters
from mining.filters.pair_filter import PairFilter, TextPairs, base_language
from mining.filters.script import scripts_of


def accepts(
    rule: PairFilter, source: str, target: str, src_lang: str | None = None, tgt_lang: str | None = None
) -> bool:
    pairs = TextPairs(pa.array([source]), pa.array([target]), src_lang, tgt_lang)
    accepted = rule.accept(rule.score(pairs))
    assert accepted.shape == (1,)
    return bool(accepted[0])


@given(st.lists(st.text(max_size=12), max_size=6), st.integers(0, 3))
def test_counts_equal_python(texts: list[str], skip: int) -> None:
    counts = count_characters(pa.array(texts, pa.string())[skip:], r"\p{Nd}", "[a-c]")
    for row, text in enumerate(texts[skip:]):
        assert counts.characters[row] == len(text)
        assert counts.kinds[row].tolist() == [sum(c.isdecimal() for c in text), sum(c in "abc" for c in text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), (" ", 0), ("a", 1), (" a  b ", 2), ("a\u00a0b\u3000c", 3), ("中文句子", 1), ("a\U0010ffff b", 2)],
)
def test_words(text: str, words: int) -> None:
    assert count_characters(pa.array([text])).words.tolist() == [words]


def test_counts_without_a_data_buffer() -> None:
    assert count_characters(pa.array(["", ""]), r"\p{L}").kinds.tolist() == [[0], [0]]


@pytest.mark.parametrize(
    ("settings", "source", "target", "kept"),
    [
        ({"min_chars": 3}, "abc", "abc", True),
        ({"min_chars": 3}, "abc", "ab", False),
        ({"min_chars": 2}, "你好", "hi", True),
        ({"max_chars": 5}, "abcdef", "a", False),
        ({"min_words": 2, "min_chars": 0}, "a b", "a", False),
        ({"max_words": 2}, "eins zwei drei", "one two", False),
    ],
)
def test_length(settings: dict, source: str, target: str, kept: bool) -> None:
    assert accepts(LengthFilter(**settings), source, target) is kept


@pytest.mark.parametrize(
    ("source", "target", "languages", "kept"),
    [
        ("a" * 100, "b" * 150, ("de", "en"), True),
        ("a" * 100, "b" * 300, ("de", "en"), False),
        ("Ja.", "Yes, it is.", ("de", "en"), True),
        (
            "委员会今天下午在布鲁塞尔召开了会议",
            "The committee held its meeting this afternoon.",
            ("zh-Hans", "en"),
            True,
        ),
        ("委员会今天下午在布鲁塞尔召开了会议", "The committee held its meeting this afternoon.", (None, None), True),
        (
            "会" * 40,
            "The committee held its meeting in Brussels this afternoon, after lunch, and went home later." * 2,
            ("zh", "en"),
            True,
        ),
        (
            "会" * 40,
            "The committee held its meeting in Brussels this afternoon, after lunch, and went home later." * 2,
            (None, "en"),
            False,
        ),
    ],
)
def test_length_ratio(source: str, target: str, languages: tuple, kept: bool) -> None:
    assert accepts(LengthRatioFilter(), source, target, *languages) is kept


@pytest.mark.parametrize(
    ("source", "target", "kept"),
    [
        ("European Parliament", "european parliament", False),
        (" European Parliament", "European Parliament!", False),
        ("Europäisches Parlament", "European Parliament", True),
        ("Guten Morgen", "Good morning", True),
    ],
)
def test_identity(source: str, target: str, kept: bool) -> None:
    assert accepts(IdentityFilter(), source, target) is kept


@pytest.mark.parametrize(
    ("source", "target", "overlap"),
    [
        ("no numbers", "at all", 1.0),
        ("Artikel 13", "Article 14", 0.0),
        ("Seite 3", "page 4", 0.0),
        ("in 1998", "im Jahr", 0.0),
        ("1,000 people", "1.000 Leute", 1.0),
        ("1 000 000 and 5", "1000000 und 5", 1.0),
        ("1.5 kg", "1,5 kg", 1.0),
        ("3 cats", "drei Katzen", 1.0),
        ("3 cats in 1998", "drei Katzen 1998", 1.0),
        ("٣٤ كتابا", "34 books", 1.0),
        ("２０２４年", "in 2024", 1.0),
        ("07.05.2004", "7/5/2004", 1.0),
        ("12 May 2004", "12.5.2004", 1.0),
        ("2001 2002 2003", "2001 2002 2009", 2 / 3),
        ("9" * 6000, "9" * 6000, 1.0),
        ("9" * 6000, "words", 0.0),
    ],
)
def test_numbers(source: str, target: str, overlap: float) -> None:
    for pair in ((source, target), (target, source)):
        assert NumberFilter().score(TextPairs(pa.array([pair[0]]), pa.array([pair[1]]), None, None))[
            0
        ] == pytest.approx(overlap)


@pytest.mark.parametrize(
    ("text", "language", "kept"),
    [
        ("Hello there", "en", True),
        ("Привет всем", "en", False),
        ("Привет всем", "ru", True),
        ("Используйте React", "ru", True),
        ("在 JavaScript 中使用 Promise", "zh", True),
        ("Use a Promise", "zh", False),
        ("カタカナ", "ja", True),
        ("한국어", "ko", True),
        ("हिन्दी", "hi", True),
        ("123 - 456", "en", False),
        ("Zdravo svete", "sr", True),
        ("Здраво свете", "sr", True),
        ("ᏣᎳᎩ", "chr", True),
        ("Привет", None, True),
    ],
)
def test_script(text: str, language: str | None, kept: bool) -> None:
    assert accepts(ScriptFilter(), text, "anything", language, None) is kept
    assert accepts(ScriptFilter(), "anything", text, None, language) is kept


def test_every_script_is_one_that_re2_knows() -> None:
    languages = re.findall(
        r"\w+", "az ja ko ku sr zh hy am ka el gu pa he kn km lo ml my or si ta te th bo ar bn ru hi"
    )
    for script in {script for language in languages for script in scripts_of(language)}:
        assert count_characters(pa.array(["a"]), rf"\p{{{script}}}").kinds.sum() == (script == "Latin")


@pytest.mark.parametrize(
    ("text", "language", "kept"),
    [
        ("Das ist ein ganz gewöhnlicher deutscher Satz.", "de", True),
        ("DAS IST EIN GANZ GEWÖHNLICHER SATZ.", "de-AT", True),
        ("Ceci est une phrase française tout à fait ordinaire.", "de", False),
        ("Det er en helt almindelig sætning på dansk.", "nb", False),
        ("Det er en helt vanlig setning på norsk.", "nb", True),
        ("zwei Zeilen\nin einem Satz, der lang genug ist", "de", True),
        ("Ceci est une phrase française.", "xx", True),
        ("Ceci est une phrase française.", None, True),
    ],
)
def test_language(text: str, language: str | None, kept: bool) -> None:
    assert accepts(LanguageFilter(), text, "The other side is plain English text.", language, "en") is kept


@pytest.mark.parametrize(("code", "base"), [("zh-Hant", "zh"), ("pt_BR", "pt"), ("EN", "en"), (None, None)])
def test_base_language(code: str | None, base: str | None) -> None:
    assert base_language(code) == base
