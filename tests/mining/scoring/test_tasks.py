from __future__ import annotations

import numpy as np
import pytest

from mining.knn import knn_graph
from mining.neighbours import KnnGraph
from mining.scoring.noise import Noise, NoiseMaker, drop_words, split_text
from mining.scoring.tasks import NEAR, Bitext, cleaning_task, label_candidates, mining_task
from mining.vectors import from_array

TEXTS = [f"The cat number {i} of Berlin{i % 7} sees {i + 100} birds near Paris{i % 9} today" for i in range(60)]
BITEXT = Bitext("xx", "en", [f"quelle {i} {i + 100} de la ville" for i in range(60)], TEXTS)


def _graph(seed: int = 0) -> KnnGraph:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 8)).astype(np.float32)
    y = x + 0.8 * rng.normal(size=(60, 8)).astype(np.float32)
    return knn_graph(from_array(x), from_array(y), 4)


@pytest.mark.parametrize("kind", list(Noise))
def test_noise_changes_a_text_and_keeps_most_of_it(kind: Noise) -> None:
    maker = NoiseMaker(TEXTS)
    for text in TEXTS:
        changed = maker.make(text, kind)
        assert changed is not None and changed != text
        assert set(changed.split()) & set(text.split())
        if kind in (Noise.truncated, Noise.omission):
            assert len(changed.split()) < len(text.split())
        if kind == Noise.number:
            assert [w for w in changed.split() if w.isalpha()] == [w for w in text.split() if w.isalpha()]


def test_noise_that_finds_nothing_to_change_says_so() -> None:
    maker = NoiseMaker(TEXTS)
    assert maker.make("no digits here at all", Noise.number) is None
    assert maker.make("no names", Noise.name) is None
    assert maker.make("short", Noise.truncated) is None


def test_words_are_dropped_but_never_all() -> None:
    rng = np.random.default_rng(0)
    thinned = drop_words([*TEXTS, "word", "没有空格的文字"], 0.5, rng)
    kept = sum(len(text.split()) for text in thinned[:60]) / sum(len(text.split()) for text in TEXTS)
    assert 0.4 < kept < 0.6 and all(thinned) and " " not in thinned[-1]
    assert split_text("没有空格的文字") == ["没有", "空格", "的文", "字"]


def test_a_mining_task_keeps_both_sides_of_a_share() -> None:
    task = mining_task(BITEXT, 0.5, np.random.default_rng(0))
    both = set(task.source_groups.tolist()) & set(task.target_groups.tolist())
    assert 15 < len(both) < 45 and len(task.source) < 60 and len(task.target) < 60
    for text, group in zip(task.target, task.target_groups.tolist(), strict=True):
        assert BITEXT.target[group] == text


def test_pairs_with_an_equal_side_translate_each_other() -> None:
    twice = Bitext("xx", "en", ["a", "b", "c"], ["Same", "same", "other"])
    task = mining_task(twice, 1.0, np.random.default_rng(0))
    groups = dict(zip(task.source, task.source_groups.tolist(), strict=True))
    assert groups["a"] == groups["b"] != groups["c"]


def test_wrong_edges_as_near_as_the_translation_are_not_trained_on() -> None:
    rows = np.arange(60)
    task = mining_task(BITEXT, 1.0, np.random.default_rng(0))._replace(source_groups=rows, target_groups=rows)
    edges, right, usable = label_candidates(task, _graph())
    assert right.sum() > 30 and usable[right].all() and not usable.all()
    own = dict(zip(edges.source[right].tolist(), edges.cosines[right].tolist(), strict=True))
    for edge in np.flatnonzero(usable & ~right).tolist():
        assert edges.cosines[edge] <= NEAR * own.get(int(edges.source[edge]), np.inf)


def test_a_cleaning_task_says_which_pairs_are_wrong_and_why() -> None:
    task = cleaning_task(BITEXT, 0.5, _graph(), np.random.default_rng(0))
    assert 10 < (~task.right).sum() < 40
    for row in range(60):
        same = task.source[row] == BITEXT.source[row] and task.target[row] == BITEXT.target[row]
        assert same == task.right[row] == (task.kinds[row] == "right")
