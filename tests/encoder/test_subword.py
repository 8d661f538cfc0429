import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from encoder.subword import PAD_ID, UNK_ID, Subword, SubwordSettings, train_subword
from encoder.tokens import Tokens
from mining.errors import InputError

WORDS = [
    "stone",
    "river",
    "mountain",
    "house",
    "walking",
    "talked",
    "singing",
    "quickly",
    "10²",
    "½",
    "…",
    "été",
    "über",
]
CORPUS = {
    "en": [" ".join(WORDS[i % 7 : i % 7 + 5]) + f" {i} ." for i in range(300)],
    "deu": [" ".join(reversed(WORDS[i % 5 : i % 5 + 6])) for i in range(40)],
}
SETTINGS = SubwordSettings(vocabulary=120, character_coverage=1.0)


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def subword(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Subword:
    path = tmp_path_factory.mktemp("subword") / "sentencepiece.model"
    train_subword(CORPUS, SETTINGS.model_copy(update={"model": request.param}), path)
    return Subword.load(path)


def as_lists(tokens: Tokens) -> list[list[int]]:
    return [tokens.ids[a:b].tolist() for a, b in zip(tokens.offsets, tokens.offsets[1:], strict=False)]


def test_special_tokens(subword: Subword) -> None:
    assert (subword.pad_id, subword.unk_id) == (0, 1)
    assert subword.vocabulary == 122  # language tokens come on top
    assert subword.languages == ("de", "en")


def test_no_text_spells_a_language_token(subword: Subword) -> None:
    assert not {2, 3} & set(subword.encode(["<2en> <2de> house"]).ids.tolist())


def test_decode_gives_the_text_back(subword: Subword) -> None:
    sentences = ["stone 10² … ½", "", "walking talked"]
    assert subword.decode(subword.encode(sentences)) == sentences
    assert subword.decode(subword.encode([])) == []


@given(st.data())
def test_encoding_words_once_is_encoding_sentences(subword: Subword, data: st.DataObject) -> None:
    alphabet = st.sampled_from([*"estonrivma  12.²é", "日", "▁", "<", "\t"])
    sentences = data.draw(st.lists(st.text(alphabet, max_size=30), max_size=6))
    processor = SentencePieceProcessor(model_proto=subword.model)
    assert as_lists(subword.encode(sentences)) == [processor.encode(sentence) for sentence in sentences]


def test_shape_and_types(subword: Subword) -> None:
    tokens = subword.encode(["house", "", "stone river"], threads=2)
    assert (tokens.ids.dtype, tokens.offsets.dtype) == (np.int32, np.int64)
    assert tokens.lengths[1] == 0
    assert as_lists(subword.encode([])) == []


@pytest.mark.parametrize("bad", ["half \ud83d", None])
def test_what_is_not_text_is_an_input_error(subword: Subword, bad: str) -> None:
    with pytest.raises(InputError, match="sentence 2"):
        subword.encode(["fine", bad])


def test_pickles(subword: Subword) -> None:
    again = pickle.loads(pickle.dumps(subword))
    assert as_lists(again.encode(CORPUS["en"])) == as_lists(subword.encode(CORPUS["en"]))


def test_same_sentences_same_model(tmp_path: Path) -> None:
    for name, corpus in (("a", CORPUS), ("b", dict(reversed(CORPUS.items())))):
        train_subword({lang: iter(text) for lang, text in corpus.items()}, SETTINGS, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize(
    ("corpus", "settings", "message"),
    [
        (CORPUS, SETTINGS.model_copy(update={"vocabulary": 60_000}), r"60000 is too large .* set it to \d+ or less"),
        (CORPUS, SETTINGS.model_copy(update={"vocabulary": 10}), r"10 is too small .* set it to \d+ or more"),
        ({"en": []}, SETTINGS, "corpus is empty"),
        ({}, SETTINGS, "corpus is empty"),
        ({"en": ["a"], "xx": ["b"]}, SETTINGS, "'xx' is not a language code"),
        ({"de": ["a"], "deu": ["b"]}, SETTINGS, "same one"),
    ],
)
def test_bad_input(tmp_path: Path, corpus: dict[str, list[str]], settings: SubwordSettings, message: str) -> None:
    with pytest.raises(InputError, match=message):
        train_subword(corpus, settings, tmp_path / "out.model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_the_advised_vocabulary_is_the_largest_that_works(tmp_path: Path, model: str) -> None:
    settings = SETTINGS.model_copy(update={"model": model, "vocabulary": 60_000})
    with pytest.raises(InputError) as caught:
        train_subword(CORPUS, settings, tmp_path / "out.model")
    advised = int(str(caught.value).split("set it to ")[1].split()[0])
    train_subword(CORPUS, settings.model_copy(update={"vocabulary": advised}), tmp_path / "out.model")
    assert Subword.load(tmp_path / "out.model").vocabulary == advised + 2


@pytest.mark.parametrize(("content", "message"), [(None, "cannot be read"), (b"junk", "not a SentencePiece model")])
def test_bad_model_file(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "x.model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        Subword.load(path)


def test_unwritable_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        train_subword(CORPUS, SETTINGS, tmp_path / "file" / "out.model")


def test_pieces_that_stand_for_bytes_are_no_text(tmp_path: Path) -> None:
    model = tmp_path / "bytes"
    tokens = {"pad_id": PAD_ID, "unk_id": UNK_ID, "bos_id": -1, "eos_id": -1}
    SentencePieceTrainer.Train(
        sentence_iterator=iter(CORPUS["en"]), model_prefix=str(model), vocab_size=340, byte_fallback=True, **tokens
    )
    pieces = Subword.load(model.with_suffix(".model")).pieces()
    assert "\u2581" in "".join(pieces)
    assert not any(piece.startswith("<") for piece in pieces)
