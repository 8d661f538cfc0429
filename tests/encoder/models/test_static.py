"""Folders of static embeddings, as sentence-transformers writes them and as we export bags."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from encoder import Encoder
from encoder.exchange import export_encoder
from encoder.models import BagSettings
from encoder.text import TextSettings
from mining.errors import InputError
from tests.encoder.fixtures import sentences, write_checkpoint

TEXTS = [*sentences(30, seed=3), "", "unheard of"]


def write_static(folder: Path, *more: str) -> None:
    """By sentence-transformers itself, with the modules `more` after the embeddings."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    words = dict.fromkeys(word for text in TEXTS[:-1] for word in text.split())
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(["[UNK]", *words])}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    first = modules.StaticEmbedding(tokenizer, embedding_dim=12)
    SentenceTransformer(modules=[first, *(getattr(modules, name)() for name in more)], device="cpu").save(str(folder))


@pytest.mark.parametrize("more", [[], ["Normalize"]])
def test_vectors_are_those_of_sentence_transformers(tmp_path: Path, more: list[str]) -> None:
    from sentence_transformers import SentenceTransformer

    write_static(tmp_path / "static", *more)
    encoder = Encoder.load(tmp_path / "static")
    theirs = SentenceTransformer(str(tmp_path / "static"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(encoder.encode(TEXTS), theirs, atol=1e-6)
    assert (encoder.dim, len(encoder.fingerprint)) == (12, 32)


def test_an_exported_bag_comes_back(tmp_path: Path) -> None:
    bag = write_checkpoint(tmp_path / "best", BagSettings(dim=8), text=TextSettings(segment=False, max_tokens=10))
    export_encoder(str(bag), "sentence-transformers", tmp_path / "static")
    again = Encoder.load(tmp_path / "static")
    np.testing.assert_allclose(again.encode(TEXTS), Encoder.load(bag).encode(TEXTS), atol=1e-6)


def test_model2vec_maps_and_weighs_tokens(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    write_static(tmp_path / "static")
    (inside,) = (path.parent for path in (tmp_path / "static").rglob("model.safetensors"))
    tokens = len(load_file(inside / "model.safetensors")["embedding.weight"])
    made = {"embeddings": torch.randn(5, 12), "mapping": torch.arange(tokens) % 5, "weights": torch.rand(tokens)}
    for names in (["embeddings", "mapping", "weights"], ["embeddings", "mapping"]):
        save_file({name: made[name] for name in names}, inside / "model.safetensors")
        theirs = SentenceTransformer(str(tmp_path / "static"), device="cpu").encode(TEXTS)
        np.testing.assert_allclose(Encoder.load(tmp_path / "static").encode(TEXTS), theirs, atol=1e-6)


def test_what_cannot_be_loaded_is_said(tmp_path: Path) -> None:
    write_static(tmp_path / "static")
    folder = tmp_path / "static"
    (module,) = json.loads((folder / "modules.json").read_text())
    inside = folder / module["path"]
    dense = {"idx": 1, "name": "1", "path": "1_Dense", "type": "sentence_transformers.models.Dense"}
    (folder / "modules.json").write_text(json.dumps([module, dense]))
    with pytest.raises(InputError, match="not Dense"):
        Encoder.load(folder)
    (folder / "modules.json").write_text(json.dumps([module]))
    (inside / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match=r"tokenizer\.json: cannot be read"):
        Encoder.load(folder)
    (inside / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match=r"model\.safetensors cannot be read"):
        Encoder.load(folder)
