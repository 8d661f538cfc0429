"""The pair classifier of a round's encoder, trained on the seed: the next round's candidates are scored by it."""

from __future__ import annotations

from pathlib import Path

from encoder.data.corpora import CorpusSettings, DataSettings
from encoder.inference import Encoder
from mining.errors import InputError
from mining.scoring.classifier import FOLDER, is_classifier
from pipelines.clean.bitext_sample import FEWEST_PAIRS
from pipelines.clean.classifier_training import ClassifierSettings, TaskSettings, train_classifier
from pipelines.loop.seed_bitext import SeedRecord, trained_path


def require_enough(drawn: SeedRecord) -> None:
    """Refuse a seed of which no classifier can be learned, before hours of work."""
    if not _pairs(drawn):
        raise InputError(
            f"classifier: no language pair has {FEWEST_PAIRS} seed pairs to learn from; leave out `classifier`"
        )


def add_classifier(settings: TaskSettings, encoder: Path, seed: Path, drawn: SeedRecord) -> None:
    """Train a classifier into the folder of an encoder, unless there is one."""
    folder = str(encoder / FOLDER)
    if is_classifier(folder):
        return
    pairs = _pairs(drawn)
    corpora = tuple(CorpusSettings(path=str(trained_path(seed, pair))) for pair in pairs)
    everything = ClassifierSettings(data=DataSettings(corpora=corpora), language_pairs=pairs, **settings.model_dump())
    train_classifier(everything, Encoder.load(encoder)).save(folder)


def _pairs(drawn: SeedRecord) -> tuple[str, ...]:
    return tuple(pair for pair, count in drawn.pairs.items() if count >= FEWEST_PAIRS)
