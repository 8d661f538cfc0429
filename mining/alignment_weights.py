"""The weights of the log-linear model of beads, as `mining.alignment_fit` finds them and alignment uses them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from mining.alignment_lattice import BeadWeights
from mining.alignment_marks import MARKS

MODEL_FILE = Path(__file__).with_name("alignment_weights.json")
_LONGEST_SEEN, _LONGER = 5, 1.0  # for each sentence beyond those of nearly all beads that the fit has seen
_PRIORS = ("1-1", "1-2", "1-3", "2-2", "2-3", "3-3")
JOINS = tuple(f"join {mark}" for mark in MARKS)
TERMS = (
    "distance n*m", "distance n+m", "distance", "words n+m", "words", "length ratio", "length ratio squared",
    "length excess", *(f"bead {kind}" for kind in _PRIORS), "bead 1-n", "bead n-m", *JOINS,
    "deletion", "further deletion", "deletion located", "deletion elsewhere", "deletion length",
)  # fmt: skip
BeadModel = Mapping[str, float]  # a weight for each of `TERMS`


@cache
def default_model(*, worded: bool) -> BeadModel:
    """The model that comes with the package, for documents with vectors of their words, and for others."""
    models = json.loads(MODEL_FILE.read_text(encoding="utf-8"))
    model: dict[str, float] = models["with words" if worded else "without words"]
    return model


def prior_term(n: int, m: int) -> str:
    """Which of `TERMS` says how likely beads of n and m sentences are."""
    low, high = min(n, m), max(n, m)
    return f"bead {low}-{high}" if high < 4 else ("bead 1-n" if low == 1 else "bead n-m")


def lattice_weights(model: BeadModel, beads: int) -> BeadWeights:
    distance, prior, words = (np.zeros((beads + 1, beads + 1)) for _ in range(3))
    for n in range(1, beads + 1):
        for m in range(1, beads + 1):
            distance[n, m] = model["distance n*m"] * n * m + model["distance n+m"] * (n + m) + model["distance"]
            words[n, m] = model["words n+m"] * (n + m) + model["words"]
            prior[n, m] = model[prior_term(n, m)] - _LONGER * max(n + m - _LONGEST_SEEN, 0)
    lengths = model["length ratio"], model["length ratio squared"], model["length excess"]
    return BeadWeights(distance, prior, words, *lengths, model["deletion"], model["further deletion"], beads)
