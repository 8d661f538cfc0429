"""What a demo takes and how long it trains: the whole one and the quick one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.demo.packages import Package


class Plan(NamedTuple):
    """Packages by what they are for, and the size of the encoder and of its training."""

    languages: tuple[str, ...]
    seed: tuple[Package, ...]  # their sentences are known bitext
    mined: tuple[Package, ...]  # their sentences are shuffled, unaligned, and mined
    minutes: float
    epochs: float
    round_precision: float  # of the mined pairs to learn from
    round_epochs: float  # of the second training, on known and mined pairs
    round_lr: float
    mined_weight: float  # a mined pair is drawn so many times as often as a known one
    vocabulary: int
    table: int  # rows for hashed bigrams, and as many for words
    probes: int = 200  # pairs of each language to calibrate the threshold with, neither trained on nor mined
    precision: float = 0.8  # to aim at

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
    epochs=20,
    round_precision=0.95,
    round_epochs=3,
    round_lr=3e-3,
    mined_weight=4,
    vocabulary=8000,
    table=65536,
)
QUICK = FULL._replace(
    languages=("de", "ru"),
    seed=tuple(package for package in FULL.seed if package.name not in ("pretix", "mezzanine", "deluge")),
    mined=tuple(package for package in FULL.mined if package.name not in ("spyder", "django-cms")),
    minutes=0.3,
    round_precision=0.9,  # after so short a training hardly a pair is surer
    vocabulary=4000,
)


def training_settings(plan: Plan, seed: Path) -> dict[str, Any]:
    """The configuration for `twinlode train`: the bag of configs/ems-small.yaml, smaller, on the seed bitext.

    Batches are of everything, and the temperature is higher: on so little text the harder negatives of ems-small harm.
    """
    return {
        "data": {"corpora": [{"path": str(seed / f"en-{language}.tsv")} for language in plan.languages]},
        "text": {"normalize": {"vowel_marks": True}},
        "subword": {"model": "unigram", "vocabulary": plan.vocabulary},
        "model": {"kind": "bag", "dim": 256, "bigrams": plan.table, "words": plan.table, "sparse": True},
        "objective": {
            "kind": "ems",
            "temperature": 0.08,
            "projection_dim": 0,
            "xtr": 0.1,
            "xtr_pairs": 128,
            "xtr_negatives": 1024,
        },
        "optimizer": {
            "kind": "lazy_adam",
            "lr": 5e-3,
            "betas": [0.9, 0.98],
            "eps": 1e-9,
            "weight_decay": 0,
            "clip": 1000,
        },
        "schedule": {"warmup": 0.02},
        "batch": {"pairs": 2048},
        "evaluation": {"pairs": 1000},
        "limits": {"minutes": plan.minutes, "epochs": plan.epochs},
    }


def round_settings(plan: Plan, seed: Path, mined: Sequence[Path], start: Path) -> dict[str, Any]:
    """The configuration of the round: on from the encoder `start`, on known and mined pairs, in smaller steps."""
    settings = training_settings(plan, seed)
    settings["data"]["corpora"] += [{"path": str(path), "weight": plan.mined_weight} for path in mined]
    settings["optimizer"]["lr"] = plan.round_lr
    # In so short a run P@1 on held-out pairs hardly moves: the last encoder is taken, whichever had the highest.
    settings["evaluation"] = {"pairs": 0}
    settings["limits"] = {"epochs": plan.round_epochs}
    return {**settings, "start": {"encoder": str(start)}}
