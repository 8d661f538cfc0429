"""The pair classifier: gradient-boosted trees over the features of candidate pairs, with calibrated probabilities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import lightgbm
import numpy as np
from numpy.typing import NDArray

from mining.errors import InputError
from mining.files import atomic_group
from mining.paths import exists, open_url
from mining.scoring.features import NAMES

TREES, ABOUT, PROJECTION = "trees.txt", "classifier.json", "projection.npy"
FOLDER = "classifier"  # beside the encoder that it was trained with
_VERSION = 1
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


@dataclass(frozen=True)
class PairClassifier:
    """Trees, the calibration of their log odds, and how word vectors of its encoder are made smaller."""

    booster: lightgbm.Booster
    slope: float
    intercept: float
    centre: NDArray[np.float32]  # (encoder dim,)
    projection: NDArray[np.float32]  # (encoder dim, word dim)
    encoder: str  # the fingerprint of the encoder whose vectors it was trained on
    about: dict[str, object]  # how it was trained and what it reached

    def log_odds(self, features: NDArray[np.float32], threads: int = 0) -> NDArray[np.float32]:
        """Calibrated log odds that each pair is a translation: the score that pairs are ranked by."""
        if not len(features):
            return np.empty(0, np.float32)
        raw = self.booster.predict(features, raw_score=True, num_threads=threads)
        return (self.slope * np.asarray(raw) + self.intercept).astype(np.float32)

    def explain(self, features: NDArray[np.float32], most: int = 8) -> list[list[Contribution]]:
        """For each pair the features that move its log odds most (Shapley values of the trees), largest first."""
        shares = np.asarray(self.booster.predict(features, pred_contrib=True))[:, :-1] * self.slope
        explained = []
        for row, values in zip(shares, features, strict=True):
            chosen = np.argsort(-np.abs(row), kind="stable")[:most]
            explained.append([Contribution(NAMES[at], float(values[at]), float(row[at])) for at in chosen])
        return explained

    def project(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Word vectors of the encoder in the few dimensions that MaxSim compares."""
        return np.asarray((vectors - self.centre) @ self.projection, np.float32)

    def importance(self) -> dict[str, float]:
        """Share of the trees' gain of each feature, largest first."""
        gain = self.booster.feature_importance("gain")
        order = np.argsort(-gain)
        return {NAMES[at]: float(gain[at] / gain.sum()) for at in order if gain[at] > 0}

    def save(self, folder: str) -> None:
        """A folder of text, JSON and one array: nothing that runs code when it is read."""
        about = {
            "version": _VERSION,
            "encoder": self.encoder,
            "slope": self.slope,
            "intercept": self.intercept,
            "features": list(NAMES),
            "about": self.about,
        }
        with atomic_group([f"{folder}/{name}" for name in (TREES, PROJECTION, ABOUT)]) as streams:
            streams[0].write(self.booster.model_to_string().encode())
            stacked = np.concatenate([self.centre[None], self.projection.T]).astype(np.float16)
            np.save(streams[1], stacked, allow_pickle=False)
            streams[2].write(json.dumps(about, indent=1).encode())


def is_classifier(folder: str) -> bool:
    return exists(f"{folder}/{ABOUT}")


def load_classifier(folder: str) -> PairClassifier:
    """A classifier that `save` wrote; one of other features is refused."""
    try:
        about = json.loads(_read(f"{folder}/{ABOUT}"))
        with open_url(f"{folder}/{PROJECTION}") as stream:
            stacked = np.load(stream, allow_pickle=False).astype(np.float32)
        trees = _read(f"{folder}/{TREES}").decode()
    except FileNotFoundError as error:
        raise InputError(f"{folder}: no pair classifier there ({error}); make one with train-classifier") from None
    except (ValueError, KeyError) as error:
        raise InputError(f"{folder}: a damaged pair classifier ({error}); train it again") from None
    if about.get("version") != _VERSION or about.get("features") != list(NAMES):
        raise InputError(f"{folder}: a pair classifier of another version of twinlode; train it again")
    return PairClassifier(
        lightgbm.Booster(model_str=trees),
        about["slope"],
        about["intercept"],
        stacked[0],
        np.ascontiguousarray(stacked[1:].T),
        about["encoder"],
        about["about"],
    )


def _read(url: str) -> bytes:
    with open_url(url) as stream:
        return bytes(stream.read())


class Examples(NamedTuple):
    """Labelled pairs of one training task."""

    features: NDArray[np.float32]
    labels: NDArray[np.bool_]
    name: str


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
