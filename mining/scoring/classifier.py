"""The pair classifier: gradient-boosted trees over the features of candidate pairs, with calibrated probabilities."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mining.errors import InputError
from mining.files import atomic_group
from mining.paths import exists, open_url
from mining.row_products import row_products
from mining.scoring.features import NAMES, RATIO
from mining.scoring.prior import Components
from mining.scoring.trees import Trees, mean_of, parse_trees, predict
from mining.threads import thread_pool

if TYPE_CHECKING:  # takes most of a second to import, and is needed for training and explanations alone
    import lightgbm

ABOUT, PROJECTION, COMPONENTS = "classifier.json", "projection.npy", "components.npy"
FOLDER = "classifier"  # beside the encoder that it was trained with
_VERSION = 4
_RANKING = 4.0  # weight of the ratio margin beside the trees' score of candidates, chosen on europarl-dev


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
    """How raw scores become log likelihood ratios."""

    slope: float
    intercept: float

    def log_ratios(self, raw: NDArray[np.float64]) -> NDArray[np.float32]:
        return (self.slope * raw + self.intercept).astype(np.float32)


@dataclass(frozen=True)
class TreeHead:
    """The models of one use as LightGBM writes them, whose scores are averaged, and the scaling of the mean."""

    models: tuple[str, ...]
    scaling: Scaling

    @cached_property
    def trees(self) -> Trees:
        return mean_of([parse_trees(model) for model in self.models])

    @cached_property
    def boosters(self) -> list[lightgbm.Booster]:
        import lightgbm

        return [lightgbm.Booster(model_str=model) for model in self.models]


@dataclass(frozen=True)
class PairClassifier:
    """Trees for both uses, what cleaning scores tell of noise, and how word vectors of its encoder are made smaller."""

    heads: dict[Use, TreeHead]
    components: Components  # of the log ratios of cleaning
    projection: NDArray[np.float32]  # (encoder dim, word dim)
    encoder: str  # the fingerprint of the encoder whose vectors it was trained on
    about: dict[str, object]  # how it was trained and what it reached
    least_mean: float = 0.0  # of the neighbours' cosines in training, but for a few

    def log_ratios(self, features: NDArray[np.float32], use: Use, threads: int | None = None) -> NDArray[np.float32]:
        """How much likelier each pair's features are of a translation than of none: the score that pairs are ranked by.

        With what is known of all pairs of a bitext (`mining.scoring.prior`) it becomes a probability.
        """
        head = self.heads[use]
        return head.scaling.log_ratios(raw_scores(head.trees, features, use, threads))

    def explain(self, features: NDArray[np.float32], use: Use, most: int = 8) -> list[list[Contribution]]:
        """For each pair the features that move its log odds most (Shapley values of the trees), largest first."""
        head = self.heads[use]
        every = [np.asarray(booster.predict(features, pred_contrib=True)) for booster in head.boosters]
        shares = np.mean(every, axis=0)[:, :-1] * head.scaling.slope
        explained = []
        for row, values in zip(shares, features, strict=True):
            chosen = np.argsort(-np.abs(row), kind="stable")[:most]
            explained.append([Contribution(NAMES[at], float(values[at]), float(row[at])) for at in chosen])
        return explained

    def project(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Word vectors of the encoder in the few dimensions that MaxSim compares."""
        return row_products(vectors, self.projection)

    def importance(self, use: Use) -> dict[str, float]:
        """Share of the trees' gain of each feature, largest first."""
        gain = np.sum([booster.feature_importance("gain") for booster in self.heads[use].boosters], axis=0)
        order = np.argsort(-gain)
        return {NAMES[at]: float(gain[at] / gain.sum()) for at in order if gain[at] > 0}

    def save(self, folder: str) -> None:
        """A folder of text, JSON and one array: nothing that runs code when it is read."""
        contents = {
            _trees(use, number): gzip.compress(model.encode(), mtime=0)  # a third of the bytes, the same each time
            for use, head in self.heads.items()
            for number, model in enumerate(head.models, 1)
        }
        contents[PROJECTION] = _array_content(self.projection.astype(np.float16))
        contents[COMPONENTS] = _array_content(self.components.densities.astype(np.float32))
        about = {
            "version": _VERSION,
            "encoder": self.encoder,
            "least_mean": self.least_mean,
            "models": {use: len(head.models) for use, head in self.heads.items()},
            "scaling": {use: list(head.scaling) for use, head in self.heads.items()},
            "features": list(NAMES),
            "files": {name: _digest(content) for name, content in contents.items()},
            "about": self.about,
        }
        contents[ABOUT] = json.dumps(about, indent=1).encode()
        with atomic_group([f"{folder}/{name}" for name in contents]) as streams:
            for stream, content in zip(streams, contents.values(), strict=True):
                stream.write(content)


def _array_content(array: NDArray[np.generic]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def raw_scores(
    trees: Trees, features: NDArray[np.float32], use: Use, threads: int | None = None
) -> NDArray[np.float64]:
    """The trees' log odds; where candidates are ranked, a little of the margin orders what the trees take for equal."""
    with thread_pool(threads) as pool:
        raw = predict(trees, features, pool)
    # A pair without a margin (an isolated sentence) is ranked by the trees alone.
    return raw + _RANKING * np.nan_to_num(features[:, RATIO] - 1.0) if use == Use.mining else raw


def _trees(use: str, number: int) -> str:
    return f"trees-{use}-{number}.txt.gz"


def is_classifier(folder: str) -> bool:
    return exists(f"{folder}/{ABOUT}")


def load_classifier(folder: str) -> PairClassifier:
    """A classifier that `save` wrote; one of other features, or with a file that is not its own, is refused."""
    try:
        about = json.loads(_read(f"{folder}/{ABOUT}"))
        if about["version"] != _VERSION or about["features"] != list(NAMES):
            raise InputError(f"{folder}: a pair classifier of another version of twinlode; train it again")
        if any("/" in name or name.startswith(".") for name in about["files"]):
            raise InputError(f"{folder}/{ABOUT}: names files outside of the folder")
        contents = {name: _read(f"{folder}/{name}") for name in about["files"]}
        for name, content in contents.items():
            if _digest(content) != about["files"][name]:
                raise InputError(f"{folder}/{name}: not the file that {ABOUT} names; train the classifier again")
        projection, densities = (
            np.load(io.BytesIO(contents[name]), allow_pickle=False) for name in (PROJECTION, COMPONENTS)
        )
        models = {
            use: tuple(gzip.decompress(contents[_trees(use, number + 1)]).decode() for number in range(count))
            for use, count in about["models"].items()
        }
        heads = {Use(use): TreeHead(models[use], Scaling(*numbers)) for use, numbers in about["scaling"].items()}
        if any(head.trees.features.max() >= len(NAMES) for head in heads.values()):
            raise ValueError("its trees ask for features that there are not")
    except InputError:
        raise
    except FileNotFoundError as error:
        raise InputError(f"{folder}: no pair classifier there ({error}); make one with train-classifier") from None
    except (ValueError, KeyError, TypeError, EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"{folder}: a damaged pair classifier ({error}); train it again") from None
    components = Components(densities.astype(np.float64))
    least_mean = float(about.get("least_mean", 0.0))  # versions before had none
    small = projection.astype(np.float32)
    return PairClassifier(heads, components, small, about["encoder"], about["about"], least_mean)


def _read(url: str) -> bytes:
    with open_url(url) as stream:
        return bytes(stream.read())
