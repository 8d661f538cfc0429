"""The pair classifier: gradient-boosted trees over the features of candidate pairs, with calibrated probabilities."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mining.errors import InputError
from mining.files import atomic_group
from mining.paths import exists, open_url
from mining.retrieval import greedy_matching
from mining.scoring.features import NAMES, RATIO
from mining.scoring.prior import Ratios, right_share

if TYPE_CHECKING:  # takes most of a second to import, which a mine by the margin alone need not wait for
    import lightgbm

Floats = NDArray[np.float64]

ABOUT, PROJECTION = "classifier.json", "projection.npy"
FOLDER = "classifier"  # beside the encoder that it was trained with
_VERSION = 2
_FOLDS = 2  # the likelihood ratios are those of trees that did not see the pair, nor its languages if there are enough
_RANKING = 5.0  # weight of the ratio margin beside the trees' score of candidates, chosen on europarl-dev
_ROUNDS = 40
_NEGATIVES = 0.4  # of the wrong candidates are trained on
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


class Scaling(NamedTuple):
    """How raw scores become log likelihood ratios, and how far off the shares of right pairs were by them."""

    slope: float
    intercept: float
    spread: float  # of the logit of the estimated share, over tasks

    def log_ratios(self, raw: NDArray[np.float64]) -> NDArray[np.float32]:
        return (self.slope * raw + self.intercept).astype(np.float32)


class TreeHead(NamedTuple):
    """The trees of one use, and the scaling of their scores."""

    booster: lightgbm.Booster
    scaling: Scaling


@dataclass(frozen=True)
class PairClassifier:
    """Trees for both uses, and how word vectors of its encoder are made smaller."""

    heads: dict[Use, TreeHead]
    projection: NDArray[np.float32]  # (encoder dim, word dim)
    encoder: str  # the fingerprint of the encoder whose vectors it was trained on
    about: dict[str, object]  # how it was trained and what it reached

    def log_ratios(self, features: NDArray[np.float32], use: Use, threads: int = 0) -> NDArray[np.float32]:
        """How much likelier each pair's features are of a translation than of none: the score that pairs are ranked by.

        With the share of translations among all pairs (`mining.scoring.prior`) it becomes a probability.
        """
        head = self.heads[use]
        return head.scaling.log_ratios(raw_scores(head.booster, features, use, threads))

    def explain(self, features: NDArray[np.float32], use: Use, most: int = 8) -> list[list[Contribution]]:
        """For each pair the features that move its log odds most (Shapley values of the trees), largest first."""
        head = self.heads[use]
        shares = np.asarray(head.booster.predict(features, pred_contrib=True))[:, :-1] * head.scaling.slope
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
        contents = {_trees(use): head.booster.model_to_string().encode() for use, head in self.heads.items()}
        array = io.BytesIO()
        np.save(array, self.projection.astype(np.float16), allow_pickle=False)
        contents[PROJECTION] = array.getvalue()
        about = {
            "version": _VERSION,
            "encoder": self.encoder,
            "scaling": {use: list(head.scaling) for use, head in self.heads.items()},
            "features": list(NAMES),
            "files": {name: _digest(content) for name, content in contents.items()},
            "about": self.about,
        }
        contents[ABOUT] = json.dumps(about, indent=1).encode()
        with atomic_group([f"{folder}/{name}" for name in contents]) as streams:
            for stream, content in zip(streams, contents.values(), strict=True):
                stream.write(content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


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
    """A classifier that `save` wrote; one of other features, or with a file that is not its own, is refused."""
    import lightgbm

    try:
        about = json.loads(_read(f"{folder}/{ABOUT}"))
        if about["version"] != _VERSION or about["features"] != list(NAMES):
            raise InputError(f"{folder}: a pair classifier of another version of twinlode; train it again")
        contents = {name: _read(f"{folder}/{name}") for name in about["files"]}
        for name, content in contents.items():
            if _digest(content) != about["files"][name]:
                raise InputError(f"{folder}/{name}: not the file that {ABOUT} names; train the classifier again")
        projection = np.load(io.BytesIO(contents[PROJECTION]), allow_pickle=False).astype(np.float32)
        heads = {
            Use(use): TreeHead(lightgbm.Booster(model_str=contents[_trees(use)].decode()), Scaling(*numbers))
            for use, numbers in about["scaling"].items()
        }
    except FileNotFoundError as error:
        raise InputError(f"{folder}: no pair classifier there ({error}); make one with train-classifier") from None
    except (ValueError, KeyError, TypeError, lightgbm.basic.LightGBMError) as error:
        raise InputError(f"{folder}: a damaged pair classifier ({error}); train it again") from None
    return PairClassifier(heads, projection, about["encoder"], about["about"])


def _read(url: str) -> bytes:
    with open_url(url) as stream:
        return bytes(stream.read())


class TaskExamples(NamedTuple):
    """Labelled pairs of one training task; given pairs have a source and a target of their own each."""

    use: Use
    features: NDArray[np.float32]
    labels: NDArray[np.bool_]
    usable: NDArray[np.bool_]  # False where the label is doubtful
    source: NDArray[np.int64]
    target: NDArray[np.int64]

    def take(self, rows: NDArray[np.bool_]) -> TaskExamples:
        return self._replace(**{name: getattr(self, name)[rows] for name in self._fields[1:]})

    def matched(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """The pairs that are left when each sentence is in one pair only, best first; their labels are sure."""
        order = np.lexsort((self.target, self.source, -scores))
        sizes = int(self.source.max(initial=-1)) + 1, int(self.target.max(initial=-1)) + 1
        kept = order[greedy_matching(self.source[order], self.target[order], *sizes)]
        return kept[self.usable[kept]]


def fit_trees(tasks: Sequence[TaskExamples], rounds: int = 300, seed: int = 0, threads: int = 0) -> lightgbm.Booster:
    """Trees over the usable examples of all tasks together, each task with the same weight."""
    import lightgbm

    rng = np.random.default_rng(seed)
    used = [task.take(task.usable & _drawn(task, rng)) for task in tasks]
    sizes = [len(task.labels) for task in used]
    weights = [np.where(task.labels | (task.use != Use.mining), 1.0, 1 / _NEGATIVES) for task in used]
    data = lightgbm.Dataset(
        np.concatenate([task.features for task in used]),
        np.concatenate([task.labels for task in used]),
        weight=np.concatenate([weight * (np.mean(sizes) / weight.sum()) for weight in weights]),
        feature_name=[name.replace(" ", "_") for name in NAMES],
    )
    parameters = _PARAMETERS | {"seed": seed, "num_threads": threads}
    return lightgbm.train(parameters, data, num_boost_round=rounds)


def _drawn(task: TaskExamples, rng: np.random.Generator) -> NDArray[np.bool_]:
    """All right pairs, and of the many wrong candidates of a mining task a part that stands for all of them."""
    return task.labels | (rng.random(len(task.labels)) < (_NEGATIVES if task.use == Use.mining else 1.0))


def fit_head(tasks: Sequence[TaskExamples], use: Use, rounds: int, seed: int = 0, threads: int = 0) -> TreeHead:
    """Trees of the tasks of one use, calibrated on what trees of the other folds say of each."""
    chosen = [task for task in tasks if task.use == use]
    scores = [np.empty(len(task.labels)) for task in chosen]
    folds = _folds(chosen, np.random.default_rng(seed))
    for fold in range(_FOLDS):
        others = [task.take(numbers != fold) for task, numbers in zip(chosen, folds, strict=True)]
        booster = fit_trees([task for task in others if len(task.labels)], rounds, seed, threads)
        for task, numbers, found in zip(chosen, folds, scores, strict=True):
            found[numbers == fold] = raw_scores(booster, task.features[numbers == fold], use, threads)
    return TreeHead(fit_trees(chosen, rounds, seed, threads), fit_scaling(chosen, scores))


def _folds(tasks: Sequence[TaskExamples], rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """The fold of every example: that of its task, where there are tasks enough."""
    if len(tasks) >= 2 * _FOLDS:
        return [np.full(len(task.labels), number % _FOLDS) for number, task in enumerate(tasks)]
    return [rng.integers(_FOLDS, size=len(task.labels)) for task in tasks]


def fit_scaling(tasks: Sequence[TaskExamples], scores: Sequence[NDArray[np.float64]]) -> Scaling:
    """Platt's scaling that explains the labels of all tasks, each with its own share of right pairs.

    A pair labelled as wrong may be a translation that nobody knew of, in some corpora one in ten: how many are is a
    parameter of each task, found by expectation maximisation, or the best scores would all look doubtful.
    """
    matched = [task.matched(raw) for task, raw in zip(tasks, scores, strict=True)]
    raws = [raw[rows] for raw, rows in zip(scores, matched, strict=True)]
    labels = [task.labels[rows] for task, rows in zip(tasks, matched, strict=True)]
    weights = [np.full(len(raw), 1 / max(len(raw), 1)) for raw in raws]
    truths = [right.astype(np.float64) for right in labels]
    slope, intercept = 1.0, 0.0
    for _ in range(_ROUNDS):
        offsets = [np.full(len(truth), _logit(truth.mean())) for truth in truths]
        before = slope, intercept
        raw, truth, offset, weight = (np.concatenate(parts) for parts in (raws, truths, offsets, weights))
        slope, intercept = fit_logistic(raw, truth, offset, weight, before)
        truths = [
            _truth(slope * raw + intercept, right, truth)
            for raw, right, truth in zip(raws, labels, truths, strict=True)
        ]
        if np.allclose(before, (slope, intercept), atol=1e-3):
            break
    found = Scaling(slope, intercept, 0.0)
    estimates = [right_share(Ratios.of(found.log_ratios(raw))) for raw in raws]
    errors = [_logit(share) - _logit(truth.mean()) for share, truth in zip(estimates, truths, strict=True)]
    return found._replace(spread=float(np.sqrt(np.mean(np.square(errors)))))


def _truth(log_ratios: NDArray[np.float64], labels: NDArray[np.bool_], truth: NDArray[np.float64]) -> Floats:
    """The chance that each pair is right: labelled ones are, others may be a translation that nobody labelled."""
    chance = 1 / (1 + np.exp(-np.clip(log_ratios + _logit(truth.mean()), -40, 40)))
    missed = np.clip((truth * ~labels).sum() / max(truth.sum(), 1e-9), 1e-3, 0.5)
    return np.asarray(np.where(labels, 1.0, missed * chance / (missed * chance + 1 - chance + 1e-12)))


def _logit(share: float) -> float:
    share = float(np.clip(share, 1e-3, 1 - 1e-3))
    return float(np.log(share / (1 - share)))


def fit_logistic(
    raw: Floats, truth: Floats, offsets: Floats, weights: Floats, start: tuple[float, float]
) -> tuple[float, float]:
    """Slope and intercept of the log odds of the truth, less the offsets, in raw scores."""

    def loss(parameters: Floats) -> tuple[float, Floats]:
        odds = parameters[0] * raw + parameters[1] + offsets
        error = weights * (1 / (1 + np.exp(-np.clip(odds, -40, 40))) - truth)
        value = weights @ (np.logaddexp(0, odds) - truth * odds)
        return float(value), np.array([error @ raw, error.sum()])

    from scipy.optimize import minimize

    found = minimize(loss, np.array(start), jac=True, method="L-BFGS-B", bounds=[(1e-3, None), (None, None)])
    return float(found.x[0]), float(found.x[1])
