"""Exports give the same vectors in the library they are for, and come back."""

from pathlib import Path

import numpy as np
import pytest
import torch

from encoder import Encoder
from encoder.exchange import export_encoder, import_encoder
from encoder.models import BagSettings, ModelSettings, TransformerSettings
from encoder.normalize import NormalizeSettings, normalize
from encoder.standard_tokenizer import standard_tokenizer
from encoder.subword import Subword, SubwordSettings, train_subword
from encoder.text import TextEncoder, TextSettings
from mining.errors import InputError
from tests.encoder.fixtures import sentences, write_checkpoint, write_tiny_xlm_roberta

TEXTS = [
    *sentences(20, seed=7),
    "Ｆｕｌｌ　ｗｉｄｔｈ ﬁne\u200b text",
    "ΟΔΟΣ ΣΑΣ",
    "İstanbul <2de> ¿½ 𝒜?",
    "cat " * 300,
]
MARKED = ["أَهْلًا وَسَهْلًا إلى مدرســة", "آمن ٱلكتاب على أن إبل", "שָׁלוֹם עֲלֵיכֶם", "ﻻ ﷺ"]
SPACED = ["\tcat\u200b  dog\x1cold\x85new \n", " \x07red\x1f", "\t the\xadcat\u2028\u200fa\t\t", "\n", ""]
STEPS = {
    "all": NormalizeSettings(vowel_marks=True),
    "default": NormalizeSettings(),
    "no forms, no case": NormalizeSettings(nfkc=False, lowercase=False),
    "no control": NormalizeSettings(control=False),
    "no white space": NormalizeSettings(whitespace=False),
    "none": NormalizeSettings(nfkc=False, control=False, whitespace=False, lowercase=False),
}
CHINESE = ["我来到北京清华大学", "他来到了网易杭研大厦。"]
JAPANESE = ["今日はとても良い天気です。", "東京都に住んでいます"]
PLAIN = TextSettings(segment=False, max_tokens=100)
SMALL = {"dim": 32, "layers": 2, "heads": 4, "ffn": 64, "positions": 110}
CASES: dict[str, tuple[ModelSettings, TextSettings, str]] = {
    "transformer": (TransformerSettings(**SMALL), PLAIN, "bert"),
    "transformer cls": (TransformerSettings(**SMALL, pooling="cls"), PLAIN, "bert"),
    "bag": (BagSettings(dim=8), PLAIN, "static embedding"),
    "pre-norm": (TransformerSettings(**SMALL, norm="pre"), PLAIN, "twinlode"),
    "bigrams": (BagSettings(dim=8, bigrams=32), PLAIN, "twinlode"),
    "segmented": (TransformerSettings(**SMALL), TextSettings(), "twinlode"),
}


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("name", STEPS)
def test_standard_tokenizer_gives_our_ids(tmp_path: Path, kind: str, name: str) -> None:
    steps, texts = STEPS[name], [*TEXTS, *MARKED, *SPACED]
    subword = subword_with_marks(tmp_path / "spm", kind)
    text = TextEncoder(TextSettings(normalize=steps, segment=False, max_tokens=100), subword)
    theirs = standard_tokenizer(subword, steps, 100)(texts, truncation=True)["input_ids"]
    ours = text.encode(texts, None)
    for number, ids in enumerate(theirs):
        assert ids == ours.ids[ours.offsets[number] : ours.offsets[number + 1]].tolist(), repr(texts[number])


def subword_with_marks(path: Path, kind: str) -> Subword:
    """Subwords that tell Arabic and Hebrew with marks from the same words without."""
    lines = [*sentences(300, seed=9), *MARKED, *normalize(MARKED, STEPS["all"])]
    train_subword({"en": lines}, SubwordSettings(vocabulary=110, model=kind, character_coverage=1.0), path)
    return Subword.load(path)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("name", CASES)
def test_sentence_transformers_gives_the_same_vectors(tmp_path: Path, name: str, kind: str) -> None:
    from sentence_transformers import SentenceTransformer

    model, text, architecture = CASES[name]
    folder = write_checkpoint(tmp_path / "best", model, text=text, kind=kind)
    exported = export_encoder(str(folder), "sentence-transformers", tmp_path / "st")
    assert exported.architecture == architecture
    loaded = SentenceTransformer(str(tmp_path / "st"), device="cpu", trust_remote_code=not exported.standard)
    np.testing.assert_allclose(loaded.encode(TEXTS), Encoder.load(folder).encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize(("lang", "texts"), [("zh", CHINESE), ("ja", JAPANESE)])
def test_sentence_transformers_segments_by_language(tmp_path: Path, lang: str, texts: list[str]) -> None:
    from sentence_transformers import SentenceTransformer

    folder = write_checkpoint(tmp_path / "best", TransformerSettings(**SMALL), text=TextSettings())
    export_encoder(str(folder), "sentence-transformers", tmp_path / "st")
    loaded = SentenceTransformer(str(tmp_path / "st"), device="cpu", trust_remote_code=True)
    np.testing.assert_allclose(loaded.encode(texts, lang=lang), Encoder.load(folder).encode(texts, lang), atol=1e-5)
    assert not np.allclose(loaded.encode(texts, lang=lang), loaded.encode(texts), atol=1e-3)


def test_auto_model_loads_the_hugging_face_export(tmp_path: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    folder = write_checkpoint(tmp_path / "best", CASES["transformer"][0], text=PLAIN)
    export_encoder(str(folder), "huggingface", tmp_path / "hf")
    model, tokenizer = AutoModel.from_pretrained(tmp_path / "hf").eval(), AutoTokenizer.from_pretrained(tmp_path / "hf")
    assert type(model).__name__ == "BertModel"
    inputs = tokenizer(TEXTS[:5], return_tensors="pt", padding=True)
    with torch.inference_mode():
        states = model(**inputs).last_hidden_state
    mask = inputs["attention_mask"][..., None]
    mean = (states * mask).sum(1) / mask.sum(1)
    np.testing.assert_allclose(mean, Encoder.load(folder).encode(TEXTS[:5]), atol=1e-5)


@pytest.mark.parametrize("name", ["transformer", "bigrams", "segmented"])
def test_what_was_exported_can_be_imported(tmp_path: Path, name: str) -> None:
    model, text, _ = CASES[name]
    folder = write_checkpoint(tmp_path / "best", model, text=text)
    export_encoder(str(folder), "sentence-transformers", tmp_path / "st")
    imported = import_encoder(str(tmp_path / "st"), tmp_path / "back")
    back = Encoder.load(tmp_path / "back")
    assert (back.dim, back.fingerprint) == (imported.dim, imported.fingerprint)
    np.testing.assert_allclose(back.encode(TEXTS), Encoder.load(folder).encode(TEXTS), atol=1e-5)


def test_pretrained_goes_through_a_checkpoint_and_out_again(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    source = write_tiny_xlm_roberta(tmp_path / "xlmr")
    expected = Encoder.load(source).encode(TEXTS)
    import_encoder(str(source), tmp_path / "checkpoint")
    np.testing.assert_allclose(Encoder.load(tmp_path / "checkpoint").encode(TEXTS), expected, atol=1e-6)
    export_encoder(str(tmp_path / "checkpoint"), "huggingface", tmp_path / "out")
    loaded = SentenceTransformer(str(tmp_path / "out"), device="cpu")
    np.testing.assert_allclose(loaded.encode(TEXTS), expected, atol=1e-5)


def test_refusals(tmp_path: Path) -> None:
    bag = str(write_checkpoint(tmp_path / "best", BagSettings(dim=8)))
    with pytest.raises(InputError, match="--format sentence-transformers"):
        export_encoder(bag, "huggingface", tmp_path / "hf")
    assert not (tmp_path / "hf").exists()
    with pytest.raises(InputError, match="checkpoint already"):
        import_encoder(bag, tmp_path / "x")
    export_encoder(bag, "sentence-transformers", tmp_path / "st")
    with pytest.raises(InputError, match="exists already"):
        export_encoder(bag, "sentence-transformers", tmp_path / "st")
    with pytest.raises(InputError, match="static embeddings"):
        import_encoder(str(tmp_path / "st"), tmp_path / "x")
