"""Vectors by encoders and from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from encoder import Encoder
from encoder.models import BagSettings
from mining.errors import InputError
from mining.vectors import write_vectors
from pipelines.evaluation.benchmark import evaluate
from pipelines.evaluation.benchmark_files import Texts
from pipelines.evaluation.sources import EncodedTexts, TextWriter, VectorFolder, load_source
from pipelines.evaluation.tatoeba import Tatoeba
from tests.encoder.fixtures import sentences, write_checkpoint, write_tiny_xlm_roberta
from tests.pipelines.evaluation.toys import write

TEXTS = Texts("sub/a.de", ["das haus", "der fluss", "das haus"], "de")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("source") / "bag", BagSettings(dim=16))


def test_a_text_is_encoded_once_for_each_language(checkpoint: Path) -> None:
    reported: list[str] = []
    totals: list[int] = []

    def report(text: str, done: int, total: int) -> None:
        reported.append(text)
        totals.append(total)

    source = load_source(str(checkpoint), report)
    assert isinstance(source, EncodedTexts)
    first = source.vectors(TEXTS)
    np.testing.assert_array_equal(first, Encoder.load(checkpoint).encode(TEXTS.lines, "de"))
    assert source.vectors(Texts("another name", TEXTS.lines, "de")) is first
    assert source.vectors(Texts("a.en", TEXTS.lines, "en")) is not first
    assert reported == ["sub/a.de", "a.en"]
    others = ["a new sentence", *TEXTS.lines[::-1]]
    again = source.vectors(Texts("c.de", others, "de"))
    np.testing.assert_array_equal(again, Encoder.load(checkpoint).encode(others, "de"))
    assert totals[-1] == 1, "the others are known"
    assert source.truncation.endswith("tokens") and len(source.fingerprint) == 32
    assert source.vectors(Texts("none", [], "de")).shape == (0, first.shape[1])


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A Hugging Face folder and the same model as a sentence-transformers folder, pooled otherwise."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    plain = write_tiny_xlm_roberta(tmp_path_factory.mktemp("plain"))
    saved = tmp_path_factory.mktemp("saved") / "st"
    SentenceTransformer(modules=[Transformer(str(plain)), Pooling(32, "max")], device="cpu").save(str(saved))
    return {"Hugging Face": plain, "sentence-transformers": saved}


@pytest.mark.parametrize("kind", ["Hugging Face", "sentence-transformers"])
def test_foreign_encoders_run_a_benchmark(foreign: dict[str, Path], tmp_path: Path, kind: str) -> None:
    for ending in ("deu", "eng"):
        write(tmp_path, f"tatoeba.deu-eng.{ending}", *sentences(6, longest=8))
    source = load_source(str(foreign[kind]))
    result = evaluate(Tatoeba(data="."), source, tmp_path)
    assert result.outcome.scores[-1].value == 100.0
    assert result.how.truncation == "24 tokens" and len(result.how.encoder_fingerprint) == 32
    others = {load_source(str(folder)).fingerprint for folder in foreign.values()}
    assert len(others) == 2


@pytest.mark.parametrize("ending", [".npy", ".arrow"])
def test_precomputed_vectors(tmp_path: Path, ending: str) -> None:
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    (tmp_path / "sub").mkdir()
    if ending == ".npy":
        np.save(tmp_path / "sub/a.de.npy", vectors)
    else:
        write_vectors(str(tmp_path / "sub/a.de.arrow"), np.arange(3), vectors)
    source = load_source(str(tmp_path))
    assert isinstance(source, VectorFolder)
    np.testing.assert_array_equal(source.vectors(TEXTS), vectors)
    with pytest.raises(InputError, match="3 vectors, but the text has 1 lines"):
        source.vectors(Texts("sub/a.de", ["das haus"]))
    with pytest.raises(InputError, match=r"b\.de\.npy: no such file; precomputed vectors of b\.de \(1 sentences\)"):
        source.vectors(Texts("b.de", ["das haus"]))


def test_fingerprint_of_a_vector_folder_follows_its_content(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((2, 2), np.float32))
    before = VectorFolder(tmp_path).fingerprint
    np.save(tmp_path / "a.npy", np.full((2, 2), 2, np.float32))
    assert VectorFolder(tmp_path).fingerprint != before


def test_an_empty_folder_is_no_encoder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither a checkpoint"):
        load_source(str(tmp_path))


def test_texts_are_written_where_their_vectors_will_be_sought(tmp_path: Path) -> None:
    writer = TextWriter(tmp_path)
    assert len(writer.vectors(Texts("sub/a.de", ["ein\nHaus", "Fluss"]))) == 2
    assert (tmp_path / "sub/a.de").read_text() == "ein Haus\nFluss\n"
    np.save(tmp_path / "sub/a.de.npy", np.eye(2, dtype=np.float32))
    assert load_source(str(tmp_path)).vectors(Texts("sub/a.de", ["ein\nHaus", "Fluss"])).shape == (2, 2)
