"""Moses tokens: each way in which the compiled tokenizer departs from the reference, and that nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from encoder.moses import Moses
from encoder.normalize import single_spaced

CASES = [
    ("en", "Don't you know Mr. Smith's dog, i.e. Rex? It's 1,000.5 (or so)..."),
    ("en", "The --abort option, `quoted`, and a well-known -x flag."),
    ("en", "It took 26 ms. then 3. then more, see freebsd.org. Done"),
    ("en", "happy,145) and 1,000"),
    ("fr", "C'est l'index de l'été, n'est-ce pas ?"),
    ("it", "Un po' di pane e un po' d'acqua."),
    ("de", "Am 3. Mai ging's los, d.h. im 19. Jahrhundert."),
    ("ca", "L'home d'avui"),
    ("tr", "Ankara'da 5'te İstanbul'a"),
    ("uk", "М'ята та п'ять."),
    ("hi", "वह अपने माता-पिता के साथ रहता है ।"),
    ("bn", "ধুলি-ধুসরিত মিসকীনকে"),
    ("ta", "நான் வீட்டுக்குப் போகிறேன்."),
    ("ko", "모든 브라우저는 제3자 쿠키를 10초마다 2곱하기 13은 26이다."),
    ("he", "ההפניה וה-"),
    ("da", "enheder (f.eks. startenheder)"),
    ("vi", "Tôi đang học tiếng Việt, còn bạn?"),
]


def tokenize(moses: Moses, sentence: str) -> str:
    (spaced,) = single_spaced([sentence])
    return " ".join(filter(None, map(moses.tokens, moses.spaced(spaced).split(" "))))


@pytest.mark.parametrize(("lang", "sentence"), CASES)
def test_tokens_of_the_reference(lang: str, sentence: str) -> None:
    assert tokenize(Moses(lang), sentence) == MosesTokenizer(lang).tokenize(sentence, escape=False, return_str=True)


@pytest.mark.parametrize(
    ("lang", "sentence", "expected"),
    [
        ("fa", "می\u200cداند؟", "می\u200cداند ؟"),  # the reference tears words apart at the non-joiner
        ("fi", "TV:tä katson.", "TV:tä katson ."),  # Moses in Perl keeps this colon, sacremoses forgot
        ("en", "CO₂ falls", "CO₂ falls"),
        ("en", "", ""),
        ("en", "  \t ", ""),
        ("xx-no-such-list", "A  b.", "A b ."),
    ],
)
def test_where_we_know_better(lang: str, sentence: str, expected: str) -> None:
    assert tokenize(Moses(lang), sentence) == expected


TOKENIZERS = [Moses(lang) for lang in ("en", "fr", "fi", "hi", "ko")]


@given(st.text(st.characters(categories=["L"]), min_size=1), st.sampled_from(TOKENIZERS))
def test_words_of_letters_alone_stay_whole(word: str, moses: Moses) -> None:
    assert not word.isalpha() or moses._tokenize(word) == moses.tokens(word) == word


@given(st.text(st.characters(codec="utf-8")), st.sampled_from(TOKENIZERS))
def test_no_character_is_lost(text: str, moses: Moses) -> None:
    tokens = tokenize(moses, text)
    assert "".join(tokens.split()) == "".join(text.split())
    assert tokens == " ".join(tokens.split())
