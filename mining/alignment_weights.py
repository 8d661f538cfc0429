"""The weights of the log-linear model of beads, as `mining.alignment_fit` finds them and alignment uses them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from mining.alignment_marks import MARKS
from mining.alignment_scores import BeadWeights

MODEL_FILE = Path(__file__).with_name("alignment_weights.json")
_PRIORS = ("1-1", "1-2", "1-3", "2-2", "2-3", "3-3")
JOINS = tuple(f"join {mark}" for mark in MARKS)
TERMS = (
    "distance n*m", "distance n+m", "distance", "words inside", "words astray", "length ratio", "length ratio squared",
    "length excess", *(f"bead {kind}" for kind in _PRIORS), "bead 1-n", "bead n-m", *JOINS,
    "deletion", "further deletion", "deletion located", "deletion elsewhere", "deletion length", "deletion freedom",
)  # fmt: skip
BeadModel = Mapping[str, float]  # a weight for each of `TERMS`


def default_model(*, worded: bool) -> BeadModel:
    """The model that comes with the package, for documents with vectors of their words, and for others."""
    return _packaged()["with words" if worded else "without words"]


def usual_shares() -> Mapping[str, float]:
    """How often beads of each kind are, and gaps, where the package's models fit: see `mining.alignment_priors`."""
    return _packaged()["usual shares"]


@cache
def _packaged() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = json.loads(MODEL_FILE.read_text(encoding="utf-8"))
    return found


def prior_term(n: int, m: int) -> str:
    """Which of `TERMS` says how likely beads of n and m sentences are."""
    low, high = min(n, m), max(n, m)
    return f"bead {low}-{high}" if high < 4 else ("bead 1-n" if low == 1 else "bead n-m")


def lattice_weights(model: BeadModel, beads: int) -> BeadWeights:
    distance, prior = (np.zeros((beads + 1, beads + 1)) for _ in range(2))
    for n in range(1, beads + 1):
        for m in range(1, beads + 1):
            distance[n, m] = model["distance n*m"] * n * m + model["distance n+m"] * (n + m) + model["distance"]
            prior[n, m] = model[prior_term(n, m)]
    return BeadWeights(
        distance,
        prior,
        ratio=model["length ratio"],
        squared=model["length ratio squared"],
        excess=model["length excess"],
        inside=model["words inside"],
        astray=model["words astray"],
        deletion=model["deletion"],
        further=model["further deletion"],
        beads=beads,
    )
