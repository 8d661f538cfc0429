"""A small encoder with a classifier beside it, trained once for all tests here."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from encoder.data.corpora import CorpusSettings, DataSettings
from encoder.inference import Encoder
from encoder.models.bag import BagSettings
from mining.scoring.classifier import FOLDER
from pipelines.clean.classifier_training import ClassifierSettings, train_classifier
from tests.encoder.fixtures import WORDS, write_checkpoint


def toy_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Sentences with their "translations": the same words, the other way round."""
    draw = random.Random(seed)
    words = [draw.choices(WORDS, k=draw.randint(7, 12)) for _ in range(count)]
    return [(" ".join(sentence), " ".join(reversed(sentence))) for sentence in words]


@pytest.fixture(scope="session")
def scoring_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scoring")
    path = write_checkpoint(folder / "encoder", BagSettings(dim=24))
    lines = "\n".join(f"{source}\t{target}" for source, target in toy_pairs(420, 1))
    (folder / "de-en.tsv").write_text(lines, encoding="utf-8")
    settings = ClassifierSettings(
        data=DataSettings(corpora=(CorpusSettings(path=str(folder / "de-en.tsv")),)),
        pairs=400, lexicon_pairs=0, word_dim=16, trees=25,
    )  # fmt: skip
    train_classifier(settings, Encoder.load(path)).save(str(path / FOLDER))
    return path
