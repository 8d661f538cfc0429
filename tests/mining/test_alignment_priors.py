"""Habits of the bead model, moved towards those of the documents."""

import numpy as np
import pytest

from mining.alignment import RELUCTANCE, align_sentences, alignment_task
from mining.alignment_lattice import search, trace
from mining.alignment_priors import bead_shares, refit_priors
from mining.alignment_weights import default_model, lattice_weights, usual_shares
from tests.mining.test_alignment import make_pair

WEIGHTS = lattice_weights(default_model(worded=False), 8)


def beads_of_sizes(*sizes: tuple[int, int]) -> np.ndarray:
    ends = np.cumsum(sizes, axis=0)
    starts = ends - sizes
    return np.stack([starts[:, 0], ends[:, 0], starts[:, 1], ends[:, 1]], 1)


def test_shares_of_beads_and_gaps() -> None:
    shares = bead_shares(
        [beads_of_sizes(*[(1, 1)] * 12, (2, 1), (1, 0), (0, 1), (1, 2), (0, 1)), beads_of_sizes((4, 4))]
    )
    kinds = {name: share for name, share in shares.items() if name.startswith("bead")}
    assert sum(kinds.values()) == pytest.approx(1, abs=1e-3)
    assert len(kinds) == 8
    assert shares["bead 1-1"] == pytest.approx(12.5 / 19, abs=1e-4)
    assert shares["bead 1-2"] == pytest.approx(2.5 / 19, abs=1e-4)
    assert shares["bead n-m"] == pytest.approx(1.5 / 19, abs=1e-4)
    assert shares["deletion"] == pytest.approx(2.5 / 19, abs=1e-4)  # the first two follow one another


def test_usual_documents_change_nothing() -> None:
    usual = {"bead 1-1": 0.5, "bead 1-2": 0.5, "deletion": 0.25}
    usual |= dict.fromkeys(("bead 1-3", "bead 2-2", "bead 2-3", "bead 3-3", "bead 1-n", "bead n-m"), 1e-9)
    found = beads_of_sizes(*[(1, 1), (1, 2), (2, 1), (1, 1), (0, 1)] * 50)
    fitted = refit_priors(WEIGHTS, found, usual)
    assert fitted.prior[1, :3] == pytest.approx(WEIGHTS.prior[1, :3])
    assert fitted.deletion == pytest.approx(WEIGHTS.deletion)


def test_frequent_kinds_gain_and_others_lose() -> None:
    fitted = refit_priors(WEIGHTS, beads_of_sizes(*[(1, 1)] * 300), usual_shares())
    more = fitted.prior - WEIGHTS.prior
    assert more[1, 1] > 0.1
    assert (more[1:, 1:][~np.eye(8, dtype=bool)] < -1).all()
    assert fitted.deletion < WEIGHTS.deletion - 1
    few = refit_priors(WEIGHTS, beads_of_sizes((1, 1), (1, 1)), usual_shares())
    assert np.abs(few.prior - WEIGHTS.prior).max() < 0.1  # two beads say little


def test_an_alignment_is_made_again_with_its_own_priors() -> None:
    source, target, _ = make_pair([(1, 1), (1, 2), (1, 1), (1, 1), (0, 1)] * 12, noise=2.5)
    usual = dict(usual_shares()) | {"bead 1-2": 1e-4, "bead 1-1": 0.9}
    model = default_model(worded=False)
    task = alignment_task(source, target, model=model)
    lattice = search(task, RELUCTANCE)
    first = trace(task.band, lattice.step, lattice.gap)
    again = search(task._replace(weights=refit_priors(task.weights, first, usual)), RELUCTANCE)
    expected = trace(task.band, again.step, again.gap)
    assert not np.array_equal(expected, first)
    assert np.array_equal(align_sentences(source, target, model=model, usual=usual).beads, expected)
    assert np.array_equal(align_sentences(source, target, model=model).beads, first)
