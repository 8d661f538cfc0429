"""A made-up bilingual corpus small enough to learn by heart."""

from pathlib import Path
from typing import Any

import pytest

from encoder.settings import validate_settings
from encoder.training.training_settings import TrainSettings

SUBJECTS = {"the cat": "le chat", "a dog": "un chien", "my sister": "ma soeur", "our king": "notre roi"}
VERBS = {"sees": "voit", "eats": "mange", "finds": "trouve", "draws": "dessine"}
OBJECTS = {"bread": "du pain", "a house": "une maison", "the sea": "la mer", "two apples": "deux pommes"}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """64 pairs."""
    lines = [f"{s} {v} {o}\t{SUBJECTS[s]} {VERBS[v]} {OBJECTS[o]}\n" for s in SUBJECTS for v in VERBS for o in OBJECTS]
    path = tmp_path / "en-fr.tsv"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def make_settings(corpus: Path, **changes: Any) -> TrainSettings:
    tree = {
        "data": {"corpora": [{"path": str(corpus)}]},
        "subword": {"vocabulary": 90, "character_coverage": 1.0},
        "model": {"kind": "bag", "dim": 32},
        "objective": {"kind": "ems", "temperature": 0.05, "language_dim": 4, "projection_dim": 16},
        "optimizer": {"lr": 0.02, "weight_decay": 0},
        "batch": {"pairs": 32},
        "evaluation": {"pairs": 0},
        "limits": {"steps": 20},
    }
    return validate_settings(TrainSettings, tree | changes, "test")
