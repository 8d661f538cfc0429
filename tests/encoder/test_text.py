import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from encoder.normalize import NormalizeSettings
from encoder.subword import Subword, SubwordSettings, train_subword
from encoder.text import TextEncoder, TextSettings, prepare
from encoder.tokens import Tokens
from mining.errors import InputError

ODD = "aAzß5１.．,'’-`\u2581\u00ad\u200b\u200d\u00a0\u3000 \t\0\x1c\x1f\x85\u2028中文漢圖。いеЯ١हिก…²ﬁİ"
SENTENCES = ["The Stone, it's RED.", "", "  Ｗide\u200b Stone.  ", "Mr. Red saw the stone. It was red"]


@pytest.fixture(scope="module")
def subword(tmp_path_factory: pytest.TempPathFactory) -> Subword:
    path = tmp_path_factory.mktemp("text") / "sentencepiece.model"
    texts = prepare([*SENTENCES, *ODD, "图书馆", "圖書館"], "zh", TextSettings(segment=False))
    train_subword({"en": texts * 5}, SubwordSettings(vocabulary=90), path)
    return Subword.load(path)


def _ids(encoder: TextEncoder, sentence: str) -> list[int]:
    return encoder.encode([sentence], "zh").ids.tolist()


def test_simplified_chinese_has_one_spelling(subword: Subword) -> None:
    settings = TextSettings(simplified_chinese=True)
    assert prepare(["圖書館", "图书馆"], "zh", settings) == ["图书馆"] * 2
    assert _ids(TextEncoder(settings, subword), "圖書館") == _ids(TextEncoder(settings, subword), "图书馆")
    assert _ids(TextEncoder(TextSettings(), subword), "圖書館") != _ids(TextEncoder(settings, subword), "圖書館")
    with pytest.raises(ValueError, match="switch on segment"):
        TextSettings(simplified_chinese=True, segment=False)
    with pytest.raises(ValueError, match="clitics"):
        TextSettings(clitics=True, segment=False)


def test_prepare_lowers_after_it_segments() -> None:
    assert prepare(SENTENCES, "en", TextSettings()) == [
        "the stone , it 's red .",
        "",
        "wide stone .",
        "mr. red saw the stone . it was red",
    ]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (TextSettings(segment=False), "the stone, it's red."),
        (TextSettings(normalize=NormalizeSettings(lowercase=False)), "The Stone , it 's RED ."),
        (TextSettings(segment=False, normalize=NormalizeSettings(lowercase=False)), "The Stone, it's RED."),
    ],
)
def test_steps_can_be_left_out(settings: TextSettings, expected: str) -> None:
    assert prepare(SENTENCES[:1], "en", settings) == [expected]


@pytest.mark.parametrize("threads", [1, 2])
def test_encode_is_prepare_then_subword_then_truncate(subword: Subword, threads: int) -> None:
    settings = TextSettings(max_tokens=5)
    tokens = TextEncoder(settings, subword, threads=threads).encode(SENTENCES, "eng")
    whole = subword.encode(prepare(SENTENCES, "en", settings))
    assert tokens.lengths.max() == 5
    assert tokens.lengths[1] == 0
    for row, length in enumerate(tokens.lengths):
        start, longer = tokens.offsets[row], whole.offsets[row]
        assert (tokens.ids[start : start + length] == whole.ids[longer : longer + length]).all()


LANGUAGES = ["en", "fr", "de", "tr", "zh", "ja", "th", "hi", None]
texts = st.lists(st.text(st.sampled_from(ODD) | st.characters(codec="utf-8")), max_size=4)


steps = st.builds(
    NormalizeSettings,
    lowercase=st.booleans(),
    whitespace=st.booleans(),
    control=st.booleans(),
    vowel_marks=st.booleans(),
)


encodings = st.builds(
    TextSettings,
    normalize=steps,
    simplified_chinese=st.booleans(),
    clitics=st.booleans(),
    max_tokens=st.sampled_from([1, 5, 120]),
)


@given(texts, st.sampled_from(LANGUAGES), encodings)
@example(["0\x1b0" * 50, "0\x1b0"], "zh", TextSettings(normalize=NormalizeSettings(control=False)))  # 150 tokens
def test_going_word_by_word_changes_nothing(
    subword: Subword, sentences: list[str], lang: str | None, settings: TextSettings
) -> None:
    tokens = TextEncoder(settings, subword).encode(sentences, lang)
    sentencepiece = SentencePieceProcessor(model_proto=subword.model)
    rows = [sentencepiece.encode(text)[: settings.max_tokens] for text in prepare(sentences, lang, settings)]
    whole = Tokens.from_lists(rows)
    assert np.array_equal(tokens.ids, whole.ids)
    assert np.array_equal(tokens.offsets, whole.offsets)


def test_no_sentences(subword: Subword) -> None:
    assert len(TextEncoder(TextSettings(), subword).encode([], None).lengths) == 0


def test_one_string_is_refused(subword: Subword) -> None:
    with pytest.raises(InputError, match=r"write \[sentence\]"):
        TextEncoder(TextSettings(), subword).encode("The stone", "en")


def test_pickles(subword: Subword, tmp_path: Path) -> None:
    encoder = TextEncoder(TextSettings(), subword)
    again = pickle.loads(pickle.dumps(encoder))
    assert again.encode(SENTENCES, "en").ids.tolist() == encoder.encode(SENTENCES, "en").ids.tolist()


@pytest.mark.parametrize("lang", ["en", "zh", "ja", "th"])
def test_what_is_not_text_is_named_by_its_sentence(subword: Subword, lang: str) -> None:
    steps = NormalizeSettings(control=False, nfkc=False, whitespace=False, lowercase=False)
    encoder = TextEncoder(TextSettings(normalize=steps), subword)
    with pytest.raises(InputError, match=r"sentence 2 .* holds half a surrogate pair"):
        encoder.encode(["one or two words", "a \ud800b"], lang)
    with pytest.raises(InputError, match="sentence 2 is NoneType"):
        encoder.encode(["one or two words", None], lang)  # type: ignore[list-item]
