"""Where the words of sentences lie: against a softmax written out, and what it does for an alignment."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mining.alignment import Document, align_sentences
from mining.alignment_band import band_around, product_rows
from mining.alignment_formats import beads_of
from mining.alignment_words import (
    CorpusWords,
    WordProjection,
    located,
    of_document,
    project_words,
    with_words,
    word_weights,
)
from mining.scoring.maxsim import WordVectors
from mining.scoring.words import split_words

SOURCE = ["a b", "c d e", "", "f g", "h a"]
TARGET = ["b a", "e", "c d", "g f x", "h"]


def corpus_of(lines: list[str], dim: int = 8) -> CorpusWords:
    """A word has the same vector in both languages."""
    words = split_words(pa.array(lines))
    rows = [np.random.default_rng([1, *word.encode()]).normal(size=dim) for word in words.vocabulary.to_pylist()]
    return CorpusWords(words, WordProjection(np.eye(dim, dtype=np.float32)).of(np.array(rows, np.float32)))


def words_of(lines: list[str], dim: int = 8) -> WordVectors:
    return of_document(corpus_of(lines, dim), 0, len(lines))


@pytest.mark.parametrize("half_width", [1, 9])
def test_words_are_spread_over_the_window_by_their_best_matches(half_width: int) -> None:
    source, target = words_of(SOURCE), words_of(TARGET)
    diagonal = np.repeat(np.arange(6)[:, None], 2, 1)
    window = band_around(diagonal, 5, 5, half_width)
    products = with_words(product_rows(band_around(diagonal, 5, 5, 9), 5, 8), window, source, target)
    for values, side, other, flip in (
        (products.source_words, source, target, False),
        (products.target_words, target, source, True),
    ):
        expected = np.zeros((5, 5))
        for i in range(5):
            near = [j for j in range(5) if inside(window, j if flip else i, i if flip else j)]
            for word in side.words.ids[side.words.offsets[i] : side.words.offsets[i + 1]]:
                likely = np.array([np.exp(20 * best_match(side.vectors[word], other, j)) for j in near])
                expected[i, near] += side.weights[word] * likely / (likely.sum() + np.exp(20 * 0.55))
        assert np.allclose(values.reshape(5, 5), expected.T if flip else expected, atol=1e-5)
        inside_both = located(products, 5, 5)
        assert np.allclose(inside_both.target if flip else inside_both.source, expected.sum(1), atol=1e-5)


def inside(window: object, i: int, j: int) -> bool:
    return bool(window.lo[i] <= j < min(window.hi[i], 5))  # type: ignore[attr-defined]


def best_match(vector: np.ndarray, other: WordVectors, text: int) -> float:
    ids = other.words.ids[other.words.offsets[text] : other.words.offsets[text + 1]]
    return max((float(vector @ other.vectors[word]) for word in ids), default=-1.0)


def test_words_tell_where_a_sentence_was_split() -> None:
    """The vectors are mostly noise and the lengths even: words say what the third sentence belongs to."""
    rng = np.random.default_rng(0)
    source = [" ".join(f"w{sentence}x{word}" for word in range(10)) for sentence in range(5)]
    target = [source[0], f"{source[1]} {source[2]}", source[3], source[4]]
    meaning = rng.normal(size=(5, 64))
    noise = rng.normal(size=(4, 64))
    vectors = meaning, np.array([meaning[0], meaning[1] + meaning[2], meaning[3], meaning[4]]) + 4.0 * noise
    sides = [
        Document(rows.astype(np.float32), np.full(len(lines), 200.0 / len(lines)), words_of(lines, 64))
        for rows, lines in zip(vectors, (source, target), strict=True)
    ]
    with_them = align_sentences(sides[0], sides[1])
    without = align_sentences(*(side._replace(words=None) for side in sides))
    assert beads_of(with_them.beads) == [((0,), (0,)), ((1, 2), (1,)), ((3,), (2,)), ((4,), (3,))]
    assert beads_of(without.beads) != beads_of(with_them.beads)


def test_words_of_one_document_do_not_depend_on_others() -> None:
    alone, part = words_of(TARGET), of_document(corpus_of(SOURCE + TARGET), 5, 10)
    assert len(part.words) == 5
    assert np.allclose(word_weights(part), word_weights(alone))
    assert np.array_equal(part.vectors[part.words.ids], alone.vectors[alone.words.ids])
    assert part.words.vocabulary.take(part.words.ids).to_pylist() == " ".join(TARGET).split()
    assert word_weights(words_of(["one"])) == pytest.approx(1.0)


def test_projection_keeps_cosines_of_words_that_are_alike() -> None:
    sides = corpus_of(SOURCE, 200), corpus_of(TARGET, 200)
    small = project_words(sides)
    assert small[0].vectors.shape[1] == 64
    for full, less in ((sides[0].vectors @ sides[1].vectors.T, small[0].vectors @ small[1].vectors.T),):
        assert np.allclose(full, less, atol=1e-3)
    assert np.allclose(project_words(small)[0].vectors, small[0].vectors, atol=1e-6)
