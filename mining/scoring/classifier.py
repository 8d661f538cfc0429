"""The pair classifier: gradient-boosted trees over the features of candidate pairs, with calibrated probabilities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import lightgbm
import numpy as np
from numpy.typing import NDArray

from mining.errors import InputError
from mining.files import atomic_group
from mining.paths import exists, open_url
from mining.scoring.features import NAMES, RATIO

ABOUT, PROJECTION = "classifier.json", "projection.npy"
FOLDER = "classifier"  # beside the encoder that it was trained with
_VERSION = 1
_HELD_OUT = 0.15  # of each task: the probabilities are calibrated on them
_RANKING = 10.0  # weight of the ratio margin beside the log odds of candidates, chosen on europarl-dev
_PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.08,
    "num_leaves": 48,
    "min_data_in_leaf": 60,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "verbosity": -1,
    "deterministic": True,
    "force_row_wise": True,
}


class Contribution(NamedTuple):
    """What one feature adds to a pair's log odds."""

    name: str
    value: float
    log_odds: float


class Use(StrEnum):
    """What pairs are scored for: candidates that a search found, or pairs that were given as such."""

    mining = "mining"
    cleaning = "cleaning"


class Head(NamedTuple):
    """The trees of one use, and the calibration of their log odds."""

    booster: lightgbm.Booster
    slope: float
    intercept: float

    def log_odds(self, features: NDArray[np.float32], use: Use, threads: int = 0) -> NDArray[np.float32]:
        raw = raw_scores(self.booster, features, use, threads)
        return (self.slope * raw + self.intercept).astype(np.float32)


@dataclass(frozen=True)
class PairClassifier:
    """Trees for both uses, and how word vectors of its encoder are made smaller."""

    heads: dict[Use, Head]
    projection: NDArray[np.float32]  # (encoder dim, word dim)
    encoder: str  # the fingerprint of the encoder whose vectors it was trained on
    about: dict[str, object]  # how it was trained and what it reached

    def log_odds(self, features: NDArray[np.float32], use: Use, threads: int = 0) -> NDArray[np.float32]:
        """Calibrated log odds that each pair is a translation: the score that pairs are ranked by."""
        return self.heads[use].log_odds(features, use, threads)

    def explain(self, features: NDArray[np.float32], use: Use, most: int = 8) -> list[list[Contribution]]:
        """For each pair the features that move its log odds most (Shapley values of the trees), largest first."""
        head = self.heads[use]
        shares = np.asarray(head.booster.predict(features, pred_contrib=True))[:, :-1] * head.slope
        explained = []
        for row, values in zip(shares, features, strict=True):
            chosen = np.argsort(-np.abs(row), kind="stable")[:most]
            explained.append([Contribution(NAMES[at], float(values[at]), float(row[at])) for at in chosen])
        return explained

    def project(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Word vectors of the encoder in the few dimensions that MaxSim compares."""
        return np.asarray(vectors @ self.projection, np.float32)

    def importance(self, use: Use) -> dict[str, float]:
        """Share of the trees' gain of each feature, largest first."""
        gain = self.heads[use].booster.feature_importance("gain")
        order = np.argsort(-gain)
        return {NAMES[at]: float(gain[at] / gain.sum()) for at in order if gain[at] > 0}

    def save(self, folder: str) -> None:
        """A folder of text, JSON and one array: nothing that runs code when it is read."""
        about = {
            "version": _VERSION,
            "encoder": self.encoder,
            "calibration": {use: [head.slope, head.intercept] for use, head in self.heads.items()},
            "features": list(NAMES),
            "about": self.about,
        }
        names = [PROJECTION, *(_trees(use) for use in self.heads), ABOUT]
        with atomic_group([f"{folder}/{name}" for name in names]) as streams:
            np.save(streams[0], self.projection.astype(np.float16), allow_pickle=False)
            for stream, head in zip(streams[1:], self.heads.values(), strict=False):
                stream.write(head.booster.model_to_string().encode())
            streams[-1].write(json.dumps(about, indent=1).encode())


def raw_scores(
    booster: lightgbm.Booster, features: NDArray[np.float32], use: Use, threads: int = 0
) -> NDArray[np.float64]:
    """The trees' log odds; where candidates are ranked, a little of the margin orders what the trees take for equal."""
    if not len(features):
        return np.empty(0)
    raw = np.asarray(booster.predict(features, raw_score=True, num_threads=threads), np.float64)
    # A pair without a margin (an isolated sentence) is ranked by the trees alone.
    return raw + _RANKING * np.nan_to_num(features[:, RATIO] - 1.0) if use == Use.mining else raw


def _trees(use: str) -> str:
    return f"trees-{use}.txt"


def is_classifier(folder: str) -> bool:
    return exists(f"{folder}/{ABOUT}")


def load_classifier(folder: str) -> PairClassifier:
    """A classifier that `save` wrote; one of other features is refused."""
    try:
        about = json.loads(_read(f"{folder}/{ABOUT}"))
        if about["version"] != _VERSION or about["features"] != list(NAMES):
            raise InputError(f"{folder}: a pair classifier of another version of twinlode; train it again")
        with open_url(f"{folder}/{PROJECTION}") as stream:
            projection = np.load(stream, allow_pickle=False).astype(np.float32)
        heads = {
            Use(use): Head(lightgbm.Booster(model_str=_read(f"{folder}/{_trees(use)}").decode()), *scale)
            for use, scale in about["calibration"].items()
        }
    except FileNotFoundError as error:
        raise InputError(f"{folder}: no pair classifier there ({error}); make one with train-classifier") from None
    except (ValueError, KeyError, TypeError, lightgbm.basic.LightGBMError) as error:
        raise InputError(f"{folder}: a damaged pair classifier ({error}); train it again") from None
    return PairClassifier(heads, projection, about["encoder"], about["about"])


def _read(url: str) -> bytes:
    with open_url(url) as stream:
        return bytes(stream.read())


class Examples(NamedTuple):
    """Labelled pairs of one training task."""

    use: Use
    features: NDArray[np.float32]
    labels: NDArray[np.bool_]


def fit_trees(tasks: Sequence[Examples], rounds: int = 300, seed: int = 0, threads: int = 0) -> lightgbm.Booster:
    """Trees over the examples of all tasks together, each task with the same weight."""
    sizes = [len(task.labels) for task in tasks]
    weights = np.repeat([np.mean(sizes) / size for size in sizes], sizes)
    data = lightgbm.Dataset(
        np.concatenate([task.features for task in tasks]),
        np.concatenate([task.labels for task in tasks]),
        weight=weights,
        feature_name=[name.replace(" ", "_") for name in NAMES],
    )
    parameters = _PARAMETERS | {"seed": seed, "num_threads": threads}
    return lightgbm.train(parameters, data, num_boost_round=rounds)


def fit_head(
    tasks: Sequence[Examples], use: Use, rounds: int, rng: np.random.Generator, seed: int = 0, threads: int = 0
) -> Head:
    """Trees of the tasks of one use, calibrated on a part of each that they are not trained on."""
    chosen = [task for task in tasks if task.use == use]
    held = [rng.random(len(task.labels)) < _HELD_OUT for task in chosen]
    kept = [Examples(use, task.features[~out], task.labels[~out]) for task, out in zip(chosen, held, strict=True)]
    booster = fit_trees(kept, rounds, seed, threads)
    rest = np.concatenate([task.features[out] for task, out in zip(chosen, held, strict=True)])
    labels = np.concatenate([task.labels[out] for task, out in zip(chosen, held, strict=True)])
    return Head(booster, *fit_calibration(raw_scores(booster, rest, use, threads), labels))


def fit_calibration(raw: NDArray[np.float64], labels: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and intercept of Platt's scaling on pairs that the trees were not trained on, by Newton's method."""
    targets = labels.astype(np.float64)
    slope, intercept = 0.0, 0.0  # from where Newton's steps do not overshoot
    for _ in range(50):
        chance = 1 / (1 + np.exp(-np.clip(slope * raw + intercept, -30, 30)))
        error, spread = chance - targets, np.maximum(chance * (1 - chance), 1e-9)
        gradient = np.array([error @ raw, error.sum()])
        hessian = np.array([[spread @ raw**2, spread @ raw], [spread @ raw, spread.sum()]]) + 1e-6 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        slope, intercept = slope - step[0], intercept - step[1]
        if np.abs(step).max() < 1e-6:
            break
    return float(max(slope, 1e-3)), float(intercept)
