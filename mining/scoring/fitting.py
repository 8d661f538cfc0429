"""Fitting a pair classifier: trees over the examples of training tasks, and what their scores mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mining.retrieval import greedy_matching
from mining.scoring.classifier import Scaling, TreeHead, Use, raw_scores
from mining.scoring.features import NAMES
from mining.scoring.prior import Components
from mining.scoring.trees import mean_of, parse_trees

Floats = NDArray[np.float64]

_FOLDS = 2  # the likelihood ratios are those of trees that did not see the pair, nor its languages if there are enough
_ROUNDS = 40
_WRONG = 6000  # candidates of a mining task that are trained on: they stand for all wrong ones
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


class TaskExamples(NamedTuple):
    """Labelled pairs of one training task; given pairs have a source and a target of their own each."""

    use: Use
    features: NDArray[np.float32]
    labels: NDArray[np.bool_]
    usable: NDArray[np.bool_]  # False where the label is doubtful
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    components: NDArray[np.int64]  # 0 for right pairs, else the kind of noise

    def take(self, rows: NDArray[np.bool_]) -> TaskExamples:
        return self._replace(**{name: getattr(self, name)[rows] for name in self._fields[1:]})

    def matched(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """The pairs that are left when each sentence is in one pair only, best first; their labels are sure."""
        order = np.lexsort((self.target, self.source, -scores))
        sizes = int(self.source.max(initial=-1)) + 1, int(self.target.max(initial=-1)) + 1
        kept = order[greedy_matching(self.source[order], self.target[order], *sizes)]
        return kept[self.usable[kept]]


def fit_trees(tasks: Sequence[TaskExamples], rounds: int = 300, seed: int = 0, threads: int | None = None) -> str:
    """Trees over the usable examples of all tasks together, each task with the same weight, as LightGBM writes them."""
    import lightgbm  # takes most of a second

    rng = np.random.default_rng(seed)
    used, weights = zip(*(_drawn(task.take(task.usable), rng) for task in tasks), strict=True)
    size = np.mean([len(task.labels) for task in used])
    data = lightgbm.Dataset(
        np.concatenate([task.features for task in used]),
        np.concatenate([task.labels for task in used]),
        weight=np.concatenate([weight * (size / weight.sum()) for weight in weights]),
        feature_name=[name.replace(" ", "_") for name in NAMES],
    )
    parameters = _PARAMETERS | {"seed": seed, "num_threads": threads or 0}
    return str(lightgbm.train(parameters, data, num_boost_round=rounds).model_to_string())


def _drawn(task: TaskExamples, rng: np.random.Generator) -> tuple[TaskExamples, Floats]:
    """All right pairs and some of the wrong ones, which weigh as much as all of them."""
    share = min(_WRONG / max(int((~task.labels).sum()), 1), 1.0)
    drawn = task.take(task.labels | (rng.random(len(task.labels)) < share))
    return drawn, np.where(drawn.labels, 1.0, 1 / share)


class Fitted(NamedTuple):
    """The trees of one use, and how the scores of pairs that they did not see are distributed."""

    head: TreeHead
    components: Components


def fit_head(
    tasks: Sequence[TaskExamples], use: Use, rounds: int, seed: int = 0, threads: int | None = None, models: int = 1
) -> Fitted:
    """Trees of the tasks of one use, calibrated on what trees of the other folds say of each.

    Several models, each of its own draw of examples and features, are averaged.
    """
    chosen = [task for task in tasks if task.use == use]
    scores = [np.empty(len(task.labels)) for task in chosen]
    folds = _folds(chosen, np.random.default_rng(seed))

    def fitted(some: Sequence[TaskExamples]) -> tuple[str, ...]:
        return tuple(fit_trees(some, rounds, seed + number, threads) for number in range(models))

    for fold in range(_FOLDS):
        others = [task.take(numbers != fold) for task, numbers in zip(chosen, folds, strict=True)]
        trees = mean_of([*map(parse_trees, fitted([task for task in others if len(task.labels)]))])
        for task, numbers, found in zip(chosen, folds, scores, strict=True):
            found[numbers == fold] = raw_scores(trees, task.features[numbers == fold], use, threads)
    scaling = fit_scaling(chosen, scores)
    judged = [(scaling.log_ratios(raw), task.components) for task, raw in zip(chosen, scores, strict=True)]
    return Fitted(TreeHead(fitted(chosen), scaling), Components.of(judged))


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
    return Scaling(slope, intercept)


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
