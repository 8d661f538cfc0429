"""Feature kernels against brute force."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mining.knn import knn_graph
from mining.retrieval import candidates
from mining.scoring import features, graph_features, lexicon, maxsim, surface
from mining.scoring.rivals import Rivals, contrasts
from mining.scoring.words import split_words
from mining.threads import thread_pool
from mining.vectors import from_array


def _unit(rows: int, dim: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_graph_features_of_edges_and_of_other_pairs() -> None:
    x, y = _unit(12, 6, 0), _unit(15, 6, 1)
    cosines = x @ y.T
    graph = knn_graph(from_array(x), from_array(y), 3)
    rows, columns = (part.ravel() for part in np.meshgrid(np.arange(12), np.arange(15), indexing="ij"))
    found = graph_features.graph_features(graph, rows, columns, cosines[rows, columns])
    far = graph_features.graph_features(graph, rows, columns, cosines[rows, columns], least_mean=0.9)
    np.testing.assert_allclose(far[:, features.RATIO], cosines[rows, columns] / 0.9, rtol=1e-5)
    assert (far[:, features.MEANS] == np.float32(0.9)).all()
    names = graph_features.NAMES
    for pair in range(len(rows)):
        i, j = rows[pair], columns[pair]
        best = np.sort(cosines[i])[::-1]
        rank = min(int((cosines[i] > cosines[i, j]).sum()), 3)
        rival = best[1] if rank == 0 else best[0]
        assert found[pair, names.index("forward rank")] == rank
        assert found[pair, names.index("forward gap")] == pytest.approx(cosines[i, j] - rival, abs=1e-5)
        assert found[pair, names.index("source neighbour mean")] == pytest.approx(best[:3].mean(), abs=1e-5)
        hub = sum(j in np.argsort(-cosines[other])[:3] for other in range(12))
        assert found[pair, names.index("target hubness")] == pytest.approx(np.log1p(hub))


def test_contrasts_are_with_the_best_other_candidate() -> None:
    source, target = np.array([0, 0, 1, 2]), np.array([0, 1, 0, 2])
    values = np.array([[0.9], [0.5], [0.7], [0.1]], np.float32)
    np.testing.assert_allclose(contrasts(values, source), [[0.4], [-0.4], [np.nan], [np.nan]], rtol=1e-5)
    np.testing.assert_allclose(contrasts(values, target), [[0.2], [np.nan], [-0.2], [np.nan]], rtol=1e-5)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.2, 0.5, np.nan])), max_size=12), st.integers(0, 12)
)
def test_rivals_in_parts_are_those_of_all(pairs: list[tuple[int, float]], cut: int) -> None:
    ends = np.array([end for end, _ in pairs], np.int64)
    values = np.array([[value] for _, value in pairs], np.float32).reshape(-1, 1)
    rivals = Rivals(4, 1)
    for rows in (slice(cut), slice(cut, None)):
        rivals.add(values[rows], ends[rows])
    expected = []
    for place, (end, value) in enumerate(pairs):
        others = [v for other, (e, v) in enumerate(pairs) if e == end and other != place and not np.isnan(v)]
        expected.append(np.float32(value) - np.float32(max(others)) if others else np.nan)
    np.testing.assert_array_equal(rivals.contrasts(values, ends)[:, 0], np.array(expected, np.float32))
    np.testing.assert_array_equal(contrasts(values, ends)[:, 0], np.array(expected, np.float32))


def test_maxsim_is_the_weighted_mean_of_best_matches() -> None:
    left = split_words(pa.array(["a b c", "d", "", " ".join(f"s{word}" for word in range(17))]))
    right = split_words(pa.array(["x y", "z x z", " ".join(f"t{word}" for word in range(9))]))
    vectors = _unit(len(left.hashes), 5, 2), _unit(len(right.hashes), 5, 3)
    sides = [
        maxsim.WordVectors(words, table, np.linspace(1, 2, len(words.hashes), dtype=np.float32))
        for words, table in zip((left, right), vectors, strict=True)
    ]
    rows, columns = np.array([2, 0, 1, 0, 3, 3]), np.array([0, 0, 1, 1, 1, 2])
    with thread_pool(2) as threads:
        found = maxsim.maxsim_features(*sides, rows, columns, threads)
    assert np.isnan(found[0]).all()  # a text without words
    for pair, (i, j) in enumerate(zip(rows[1:], columns[1:], strict=True), start=1):
        a = left.ids[left.offsets[i] : left.offsets[i + 1]]
        b = right.ids[right.offsets[j] : right.offsets[j + 1]]
        similar = vectors[0][a] @ vectors[1][b].T
        ways = (0, similar.max(1), sides[0].weights[a]), (5, similar.max(0), sides[1].weights[b])
        for start, best, weights in ways:
            assert found[pair, start] == pytest.approx((best * weights).sum() / weights.sum(), abs=1e-4)
            assert found[pair, start + 3] == pytest.approx(weights[best < 0.4].sum() / weights.sum(), abs=1e-4)


def test_model_1_learns_which_word_translates_which() -> None:
    rng = np.random.default_rng(0)
    sentences = rng.integers(0, 20, size=(400, 6))
    left = split_words(pa.array([" ".join(f"s{w}" for w in row) for row in sentences]))
    right = split_words(pa.array([" ".join(f"t{w}" for w in rng.permutation(row)) for row in sentences]))
    table = lexicon.train_lexicon(left, right)
    assert len(table.forward.offsets) == 21
    for word in range(20):
        others = table.forward.others[table.forward.offsets[word] : table.forward.offsets[word + 1]]
        name = left.vocabulary[int(np.flatnonzero(left.hashes == table.source_hashes[word])[0])].as_py()
        best = right.vocabulary[int(np.flatnonzero(right.hashes == table.target_hashes[others[0]])[0])].as_py()
        assert best[1:] == name[1:]
    rows, columns = np.array([0, 0]), np.array([0, 1])
    with thread_pool(1) as threads:
        found = lexicon.lexicon_features(table, left, right, rows, columns, threads)
    names = lexicon.NAMES
    assert found[0, names.index("lexicon target coverage")] == 1
    assert found[0, names.index("lexicon source likelihood")] > found[1, names.index("lexicon source likelihood")] + 0.5


SURFACE_CASES = [
    ("He paid 1,000 euros.", "Er zahlte 1.000 Euro.", {"numbers matched": 1, "same ending": 1}),
    ("In 1999?", "Im Jahre 2001.", {"numbers matched": 0, "numbers source only": 1, "same ending": 0}),
    ("٣ كتب", "3 books", {"numbers matched": 1, "numbers target only": 0}),
    ("See http://a.b/c now", "Siehe http://a.b/c jetzt", {"codes matched": 1, "codes source only": 0}),
    ("Use %s and {name}", "%s verwenden", {"codes matched": 1, "codes source only": 1}),
    ("运行 kubectl 命令", "run the kubectl command", {"source foreign missing": 0}),
    ("运行 docker 命令", "run the kubectl command", {"source foreign missing": 1}),
    ("same words here", "same words here", {"source copied": 1, "target copied": 1}),
    ("(a) b? c!", "a b", {"question marks difference": 1, "exclamation marks difference": 1, "brackets difference": 2}),
    ("007", "7", {"numbers matched": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "expected"), SURFACE_CASES)
def test_surface(source: str, target: str, expected: dict[str, float]) -> None:
    sides = []
    for text in (source, target):
        column = pa.array([text])
        words = split_words(column)
        sides.append(surface.read_surface(column, words, words.idf()))
    one = np.zeros(1, np.int64)
    with thread_pool(1) as threads:
        lengths = surface.LengthModel((0.0, 1.0), (0.0, 1.0))
        found = surface.surface_features(sides[0], sides[1], lengths, one, one, threads)
    for name, value in expected.items():
        assert found[0, surface.NAMES.index(name)] == pytest.approx(value, abs=1e-5), name


def test_all_features_have_their_column_whatever_the_number_of_threads() -> None:
    texts = [f"word{i % 7} other{i % 5} {i}." for i in range(30)]
    x, y = _unit(30, 8, 4), _unit(30, 8, 5)
    graph = knn_graph(from_array(x), from_array(y), 4)
    edges = candidates(graph)
    words = split_words(pa.array(texts))
    side = features.text_side(pa.array(texts), words, _unit(len(words.hashes), 8, 6))
    table = lexicon.train_lexicon(words, words)
    matrices = []
    for count in (1, 2):
        with thread_pool(count) as threads:
            matrices.append(features.pair_features(graph, edges, side, side, threads, lexicon_table=table))
    assert matrices[0].shape == (len(edges), len(features.NAMES)) and len(set(features.NAMES)) == len(features.NAMES)
    np.testing.assert_array_equal(*matrices)
    ratio = features.NAMES.index("ratio margin")
    np.testing.assert_allclose(matrices[0][:, ratio], edges.scores, rtol=1e-5)
