"""What a demo takes and how long it trains: the whole one and the quick one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from encoder.checkpoint import CONFIG, CheckpointSettings
from encoder.settings import load_settings
from pipelines.demo.packages import Package


class Plan(NamedTuple):
    """Packages by what they are for, and how the default encoder learns from them."""

    languages: tuple[str, ...]
    seed: tuple[Package, ...]  # their sentences are known bitext
    mined: tuple[Package, ...]  # their sentences are shuffled, unaligned, and mined
    minutes: float  # of training, at most
    epochs: float
    lr: float = 2e-3
    sure: float = 0.95  # precision of the mined pairs to learn from
    mined_weight: float = 4  # how often a mined pair is drawn for each time that a known one is
    probes: int = 200  # pairs of each language to calibrate the threshold with, neither trained on nor mined
    precision: float = 0.8  # to aim at
    judged_pairs: int = 2500  # of each language, that a pair classifier is trained with
    trees: int = 200

    @property
    def packages(self) -> tuple[Package, ...]:
        return self.seed + self.mined


FULL = Plan(
    languages=("de", "fr", "es", "ru", "zh", "ja", "pt", "tr", "cs", "ar"),
    seed=(
        Package("gramps", "6.0.8"),
        Package("pretix", "2026.8.0"),
        Package("django-oscar", "4.2.1"),
        Package("trac", "1.6"),
        Package("django", "5.2.19"),
        Package("mezzanine", "6.1.1"),
        Package("deluge", "2.2.0"),
        Package("mailman", "3.3.10"),
        Package("solaar", "1.1.20"),
        Package("django-filer", "3.6.0"),
    ),
    mined=(
        Package("wagtail", "8.0.1"),
        Package("spyder", "6.1.8"),
        Package("thonny", "5.0.1"),
        Package("sphinx", "9.0.4"),
        Package("nicotine-plus", "3.3.11"),
        Package("postorius", "1.3.13"),
        Package("django-allauth", "65.21.1"),
        Package("django-cms", "5.1.3"),
        Package("djangorestframework", "3.18.3"),
    ),
    minutes=2.0,
    epochs=12,
)
QUICK = FULL._replace(
    languages=("de", "ru"),
    seed=tuple(package for package in FULL.seed if package.name not in ("pretix", "mezzanine", "deluge")),
    mined=tuple(package for package in FULL.mined if package.name not in ("spyder", "django-cms")),
    minutes=0.5,
    judged_pairs=4000,
)


def classifier_settings(plan: Plan, seed: Path) -> dict[str, Any]:
    """The configuration for `twinlode train-classifier`: small, on the known pairs that the encoder learned from."""
    known = [{"path": str(seed / f"en-{language}.tsv")} for language in plan.languages]
    return {"data": {"corpora": known}, "pairs": plan.judged_pairs, "lexicon_pairs": 0, "trees": plan.trees}


def training_settings(plan: Plan, seed: Path, mined: Sequence[Path], start: Path) -> dict[str, Any]:
    """The configuration for `twinlode train`: on from the encoder `start`, on known and mined pairs.

    Batches are of everything: on so little text the harder negatives of configs/ems-small.yaml harm.
    """
    made = load_settings(CheckpointSettings, start / CONFIG).model_dump(mode="json", exclude_none=True)
    known = [{"path": str(seed / f"en-{language}.tsv")} for language in plan.languages]
    return {
        "data": {"corpora": [*known, *({"path": str(path), "weight": plan.mined_weight} for path in mined)]},
        "text": made["text"],
        "model": made["model"],
        "objective": {"kind": "ems", "temperature": 0.05, "margin": 0.2, "projection_dim": 0, "xtr": 0},
        "optimizer": {
            "kind": "lazy_adam",
            "lr": plan.lr,
            "betas": [0.9, 0.98],
            "eps": 1e-9,
            "weight_decay": 0,
            "clip": 1000,
        },
        "schedule": {"warmup": 0.02},
        "batch": {"pairs": 1024},
        # In so short a run P@1 on held-out pairs hardly moves: the last encoder is taken, whichever had the highest.
        "evaluation": {"pairs": 0},
        "limits": {"minutes": plan.minutes, "epochs": plan.epochs},
        "start": {"encoder": str(start)},
    }
