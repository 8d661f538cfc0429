"""Monotone alignment: made-up documents whose beads are known, and a brute-force oracle of the search."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from mining.alignment import Alignment, Document, align_sentences, alignment_task, document_of
from mining.alignment_band import band_around
from mining.alignment_formats import Bead, beads_of
from mining.alignment_lattice import judge, remaining, search, trace
from mining.alignment_marks import find_marks
from mining.alignment_scores import AlignmentTask
from mining.alignment_words import WordProjection, word_vectors
from mining.document_judgement import judge_pair
from mining.errors import InputError
from mining.scoring.maxsim import WordVectors
from mining.scoring.words import split_words

DIM = 48


def make_pair(beads: list[tuple[int, int]], seed: int = 0, noise: float = 0.5) -> tuple[Document, Document, list[Bead]]:
    """Two documents whose bead k shares one meaning, cut at random among its sentences."""
    rng = np.random.default_rng(seed)
    sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    gold, at = [], [0, 0]
    for sizes in beads:
        meaning = rng.normal(size=(12, DIM))
        for side, size in zip(sides, sizes, strict=True):
            for part in np.array_split(meaning, size) if size else []:
                side.append(part.sum(0) + noise * rng.normal(size=DIM))
        gold.append(tuple(tuple(range(start, start + size)) for start, size in zip(at, sizes, strict=True)))
        at = [start + size for start, size in zip(at, sizes, strict=True)]
    lengths = [np.array([100 / size for size in row for _ in range(size)]) for row in zip(*beads, strict=True)]
    source, target = (
        Document(np.array(side, np.float32).reshape(-1, DIM), np.asarray(length))
        for side, length in zip(sides, lengths, strict=True)
    )
    return source, target, gold


def spans_of(document: Document, sizes: int) -> Document:
    """The same document with a vector for every span."""
    edges = np.concatenate([np.zeros((1, DIM)), np.cumsum(document.vectors, 0)])
    ends = np.arange(1, len(edges))
    return Document(
        np.stack([edges[ends] - edges[np.maximum(ends - n, 0)] for n in range(1, sizes + 1)]), document.lengths
    )


def found(alignment: Alignment) -> list[Bead]:
    return beads_of(alignment.beads)


def test_many_to_many_beads_are_found() -> None:
    beads = [(1, 1), (2, 1), (1, 1), (1, 3), (1, 0), (1, 1), (1, 1), (0, 1), (1, 1), (1, 2)]
    source, target, gold = make_pair(beads, noise=0.2)
    alignment = align_sentences(source, target)
    assert found(alignment) == gold
    assert alignment.confidence.min() >= 0
    assert alignment.confidence.max() <= 1
    assert np.isnan(alignment.distance[~alignment.two_sided]).all()
    assert alignment.distance[alignment.two_sided].max() < 0.8


def test_vectors_of_spans_give_the_same_as_sums() -> None:
    source, target, _ = make_pair([(1, 1), (2, 1), (1, 1), (1, 3), (1, 1), (2, 2), (1, 1)], seed=3)
    linear = align_sentences(source, target)
    explicit = align_sentences(spans_of(source, 7), spans_of(target, 7))
    assert np.array_equal(linear.beads, explicit.beads)
    assert np.allclose(linear.confidence, explicit.confidence, atol=1e-3)


def words_of(lines: list[str], seed: int) -> WordVectors:
    words = split_words(pa.array(lines))
    vectors = {
        word: np.random.default_rng([seed, *word.encode()]).normal(size=8) for word in words.vocabulary.to_pylist()
    }
    return word_vectors(
        words, WordProjection(np.eye(8, dtype=np.float32)).of(np.array(list(vectors.values()), np.float32))
    )


@pytest.mark.parametrize(("cosine", "likely"), [(0.8, True), (0.2, False)])
def test_documents_of_one_sentence_are_judged_by_their_likeness(cosine: float, likely: bool) -> None:
    """And not against each other alone, by which nothing is nearer than anything."""
    vectors = np.zeros((2, DIM), np.float32)
    vectors[0, 0], vectors[1, :2] = 1, (cosine, (1 - cosine**2) ** 0.5)
    length = np.full(1, 40.0)
    found = align_sentences(*(Document(row[None], length) for row in vectors))
    assert (judge_pair(found, length, length, order=1.0).confidence > 0.5) is likely


def test_vectors_that_are_no_numbers_are_refused() -> None:
    sides = [Document(np.full((rows, DIM), value, np.float32), np.ones(rows)) for rows, value in ((3, np.nan), (9, 0))]
    with pytest.raises(InputError, match="not finite"):
        align_sentences(*sides)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("worded", [False, True])
def test_best_path_and_confidence_against_all_paths(seed: int, worded: bool) -> None:
    rng = np.random.default_rng(seed)
    texts = ["a b:", "c", "d (e f", "12"], ["b c", "d;", "a g."]
    source, target = (
        Document(rng.normal(size=(n, DIM)).astype(np.float32), rng.uniform(20, 90, n), marks=find_marks(lines))
        for n, lines in zip((4, 3), texts, strict=True)
    )
    if worded:
        source, target = (
            side._replace(words=words_of(lines, seed)) for side, lines in zip((source, target), texts, strict=True)
        )
    task = alignment_task(source, target, beads=4)
    lattice = search(task)
    beads = trace(task.band, lattice.step, lattice.gap)
    rest = remaining(task, lattice.matched, lattice.deleted)
    _, shares = judge(beads, task, lattice.matched, lattice.deleted, rest)
    paths = {path: path_score(path, task) for path in all_paths(4, 3, 4)}
    best = tuple(map(tuple, beads.tolist()))
    assert paths[best] == pytest.approx(max(paths.values()))  # deletions may change their order
    everything = np.logaddexp.reduce(list(paths.values()))
    assert lattice.total == pytest.approx(everything, abs=1e-5)  # the vectors are float32
    for bead, share in zip(best, shares, strict=True):
        through = np.logaddexp.reduce([score for path, score in paths.items() if bead in path])
        assert share == pytest.approx(np.exp(through - everything), abs=1e-6)


def path_score(path: tuple[tuple[int, ...], ...], task: AlignmentTask) -> float:
    """Deletions that follow one another cost less than the first."""
    total, in_gap = 0.0, False
    for bead in path:
        one_sided = bead[0] == bead[1] or bead[2] == bead[3]
        if one_sided:
            total += task.weights.further if in_gap else task.weights.deletion
            total += task.src.alone[bead[0]] if bead[1] > bead[0] else task.tgt.alone[bead[2]]
        else:
            total += bead_score(bead, task)
        in_gap = one_sided
    return total


def bead_score(bead: tuple[int, ...], task: AlignmentTask) -> float:
    a, i, b, j = bead
    n, m = i - a, j - b
    src, tgt, weights = task.src, task.tgt, task.weights
    product = float(src.spans[0, a:i].sum(0) @ tgt.spans[0, b:j].sum(0))
    x, y = src.letters[0, a:i].sum(), tgt.letters[0, b:j].sum()
    ratio = abs(np.log((x + 5) / (y + 5)))
    excess = min(abs(x - y) / np.sqrt(x + y + 1) / 3, 20)
    norms = src.norms[n - 1, i - 1] * tgt.norms[m - 1, j - 1]
    unlike = src.unlike[n - 1, i - 1] + tgt.unlike[m - 1, j - 1]
    cost = weights.distance[n, m] * 2 * (1 - product / norms) / (1e-6 + unlike)
    for values, (c, d, e, f) in (
        (task.products.source_words, (a, i, 0, 3)),
        (task.products.target_words, (0, 4, b, j)),
    ):
        if len(values):
            words = values.reshape(4, 3).astype(np.float64)
            inside = words[a:i, b:j].sum()
            cost += weights.astray * np.sqrt(max(words[c:d, e:f].sum() - inside, 0)) - weights.inside * np.sqrt(inside)
    joined = src.joined[n - 1, i - 1] + tgt.joined[m - 1, j - 1]
    return (
        joined
        + weights.prior[n, m]
        - cost
        - weights.ratio * ratio
        - weights.squared * ratio**2
        - weights.excess * excess
    )


def all_paths(n: int, m: int, beads: int, i: int = 0, j: int = 0) -> list[tuple[tuple[int, ...], ...]]:
    if (i, j) == (n, m):
        return [()]
    pairs = itertools.product(range(beads), repeat=2)
    steps = [(a, b) for a, b in pairs if a + b <= beads and ((a and b) or a + b == 1)]
    return [
        ((i, i + a, j, j + b), *rest)
        for a, b in steps
        if i + a <= n and j + b <= m
        for rest in all_paths(n, m, beads, i + a, j + b)
    ]


def test_long_documents_from_coarse_to_fine_with_a_chapter_left_out() -> None:
    rng = np.random.default_rng(1)
    kinds = [(1, 1)] * 8 + [(1, 2), (2, 1)]
    beads = [kinds[k] for k in rng.integers(0, len(kinds), 1500)]
    beads[600:600] = [(0, 1)] * 150  # a chapter that the source lacks
    source, target, gold = make_pair(beads, seed=1)
    alignment = align_sentences(source, target)
    right = len(set(found(alignment)) & set(gold))
    assert right > 0.97 * len(gold)


def test_every_sentence_is_in_exactly_one_bead() -> None:
    rng = np.random.default_rng(0)
    source, target = (Document(rng.normal(size=(n, DIM)).astype(np.float32), np.ones(n)) for n in (700, 450))
    beads = align_sentences(source, target).beads
    assert np.array_equal(np.concatenate([np.arange(a, b) for a, b in beads[:, :2]]), np.arange(700))
    assert np.array_equal(np.concatenate([np.arange(a, b) for a, b in beads[:, 2:]]), np.arange(450))
    assert (np.diff(beads, axis=1)[:, [0, 2]].sum(1) <= 8).all()


@pytest.mark.parametrize(("n", "m"), [(0, 0), (0, 3), (2, 0), (1, 1), (1, 5000)])
def test_odd_sizes(n: int, m: int) -> None:
    rng = np.random.default_rng(0)
    source, target = (Document(rng.normal(size=(k, DIM)).astype(np.float32), np.ones(k)) for k in (n, m))
    beads = align_sentences(source, target).beads
    assert np.diff(beads, axis=1)[:, 0].sum() == n
    assert np.diff(beads, axis=1)[:, 2].sum() == m


def test_sentences_without_tokens_have_zero_vectors() -> None:
    source, target, _ = make_pair([(1, 1)] * 6)
    source.vectors[2] = 0
    target.vectors[:] = 0
    alignment = align_sentences(source, target)
    assert np.isfinite(alignment.confidence).all()
    assert np.nanmin(np.append(alignment.distance, 9)) > 0.9


def test_confidence_is_low_between_strangers() -> None:
    source, target, _ = make_pair([(1, 1)] * 60)
    stranger = make_pair([(1, 1)] * 60, seed=9)[1]
    counterparts, strangers = align_sentences(source, target), align_sentences(source, stranger)
    assert counterparts.confidence.mean() > 0.9
    assert strangers.confidence.mean() < 0.5
    assert judge_pair(strangers, source.lengths, stranger.lengths, order=1.0).confidence < 0.05


def test_band_holds_the_path_and_grows_linearly() -> None:
    path = np.array([(0, 0), (40, 40), (40, 90), (100, 150)])
    band = band_around(path, 100, 150, 5)
    for i, j in path:
        assert band.lo[i] <= j < band.hi[i]
    assert (np.diff(band.lo) >= 0).all()
    assert (np.diff(band.hi) >= 0).all()
    assert band.cells < 100 * (4 * 5 + 1) + 11 * 50


def test_too_large_beads_are_refused() -> None:
    source, target, _ = make_pair([(1, 1)] * 3)
    with pytest.raises(InputError, match="2 to 15"):
        align_sentences(source, target, beads=16)
    with pytest.raises(InputError, match="sizes"):
        align_sentences(spans_of(source, 2), spans_of(target, 2))


def test_a_missing_end_is_deleted_and_not_swallowed_by_the_last_bead() -> None:
    source, target, gold = make_pair([(1, 1)] * 12 + [(1, 0)] * 6)
    assert found(align_sentences(source, target)) == gold


def test_a_reluctant_path_has_fewer_gaps_and_the_same_sums() -> None:
    source, target = (document_of(rows, ["word " * 5] * len(rows)) for rows in unlike_documents())
    task = alignment_task(source, target)
    plain, reluctant = search(task), search(task, 5.0)
    gaps = [
        int(((beads[:, 1] == beads[:, 0]) | (beads[:, 3] == beads[:, 2])).sum())
        for beads in (trace(task.band, lattice.step, lattice.gap) for lattice in (plain, reluctant))
    ]
    assert gaps[1] < gaps[0]
    assert reluctant.total == plain.total


def test_of_a_free_translation_sentences_are_left_out_less_readily() -> None:
    texts = [f"word {k}" for k in range(40)]
    source, target = unlike_documents()[0], unlike_documents()[0]
    farther = target + np.random.default_rng(6).standard_normal(target.shape).astype(np.float32)
    close, free = (alignment_task(document_of(source, texts), document_of(rows, texts)) for rows in (target, farther))
    assert close.freedom == pytest.approx(0, abs=1e-3)
    assert free.freedom > 0.2
    assert (free.src.alone < close.src.alone - 0.3).all()


def unlike_documents() -> tuple[np.ndarray, np.ndarray]:
    """Translations of each other, of which one lacks every fifth sentence."""
    draw = np.random.default_rng(5)
    source = draw.standard_normal((40, 32)).astype(np.float32)
    target = source + 0.5 * draw.standard_normal(source.shape).astype(np.float32)
    return source, target[np.arange(40) % 5 > 0]
