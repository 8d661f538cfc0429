"""Probes: the plan, the rows, and sorting matches by what they tell."""

from __future__ import annotations

import numpy as np
import pytest

from mining.errors import InputError
from mining.probes import ProbeRows, add_probe_vectors, distinct, gather, plan_probes, probe_rows


def test_plan_uses_every_seed_pair_once_and_repeats_itself() -> None:
    plan = plan_probes(101, random_seed=3)
    assert sorted(np.concatenate(plan).tolist()) == list(range(101))
    assert [len(part) for part in plan] == [50, 25, 26]
    for ours, again in zip(plan, plan_probes(101, random_seed=3), strict=True):
        np.testing.assert_array_equal(ours, again)


def test_rows_of_appended_probes() -> None:
    plan = plan_probes(100)
    rows = probe_rows(plan.sources(), plan.targets(), 1000, 2000)
    sources, targets = plan.sources(), plan.targets()
    for source, target in rows.full:
        assert sources[source - 1000] == targets[target - 2000]
    np.testing.assert_array_equal(sources[rows.source_only - 1000], plan.source_only)
    np.testing.assert_array_equal(targets[rows.target_only - 2000], plan.target_only)


def test_too_few() -> None:
    with pytest.raises(InputError, match="79 distinct seed pairs are too few"):
        plan_probes(79)
    few = ProbeRows(np.zeros((1, 2), np.int64), np.array([1]), np.array([1]))
    with pytest.raises(InputError, match="needs 20 pairs"):
        gather(np.array([0]), np.array([0]), np.array([1.0]), 2, 2, few)


def test_every_match_goes_where_it_belongs() -> None:
    plan = plan_probes(80)  # 40 whole, 20 sources, 20 targets
    rows = probe_rows(plan.sources(), plan.targets(), 10, 10)
    matches = {
        (0, 0): 0.1,  # corpus with corpus
        (10, 10): 0.2,  # a full pair found
        (11, 12): 0.3,  # two full pairs mismatched with each other: says nothing
        (12, 1): 0.4,  # a probe's source mismatched with the corpus
        (50, 2): 0.5,  # a one-sided source with the corpus
        (3, 50): 0.6,  # a one-sided target with the corpus
        (51, 51): 0.7,  # two one-sided probes: says nothing
        (52, 13): 0.8,  # a one-sided source with a full pair's target: says nothing
    }
    src, tgt = np.array(list(matches)).T
    evidence = gather(src, tgt, np.array(list(matches.values())), 70, 70, rows)
    assert evidence.corpus.values.tolist() == [0.1]
    assert evidence.full.tolist() == [0.2]
    assert evidence.mismatched.tolist() == [0.4]
    assert evidence.one_sided.tolist() == [0.5, 0.6]
    assert evidence.among_probes == 3
    assert evidence.sizes == (10, 10, 40, 20, 20)


def test_rows_outside() -> None:
    with pytest.raises(ValueError, match="outside"):
        plan = plan_probes(80)
        rows = probe_rows(plan.sources(), plan.targets(), 10, 10)
        gather(np.array([0]), np.array([0]), np.array([1.0]), 20, 20, rows)


def test_repeated_sentences_count_once() -> None:
    assert distinct(["a", "a", "b", "c", "c"], ["x", "y", "x", "z", "z"]).tolist() == [0, 3]


def test_a_plan_is_read_back_from_its_pair_numbers() -> None:
    rows = probe_rows(np.array([2, 7, 4, 9]), np.array([2, 7, 5]), 10, 20)
    assert rows.full.tolist() == [[10, 20], [11, 21]]
    assert (rows.source_only.tolist(), rows.target_only.tolist()) == ([12, 13], [22])


def test_vectors_without_text_become_probes() -> None:
    rng = np.random.default_rng(0)
    source, target, left, right = (rng.standard_normal((n, 4)).astype(np.float32) for n in (7, 9, 100, 100))
    left[50:60], right[50:60] = left[0], right[0]  # ten copies
    probed = add_probe_vectors(source, target, left, right)
    assert (len(probed.source), len(probed.target)) == (7 + 45 + 22, 9 + 45 + 23)
    for row in probed.rows.full:
        number = np.flatnonzero((left == probed.source[row[0]]).all(axis=1))[0]
        np.testing.assert_array_equal(probed.target[row[1]], right[number])
    with pytest.raises(InputError, match="1 distinct seed pairs are too few"):
        add_probe_vectors(source, target, np.tile(left[:1], (100, 1)), np.tile(right[:1], (100, 1)))
    with pytest.raises(InputError, match="no pairs"):
        add_probe_vectors(source, target, left, right[:99])
