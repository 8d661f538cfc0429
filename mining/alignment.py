"""Sentences of two documents aligned in order, many to many: vectors in, beads out.

The distance of two spans and the search from coarse to fine are Vecalign's (Thompson and Koehn 2019): neighbouring
sentences are added up until the whole matrix is small, its best path bounds the search among twice as many, and so on,
in time and memory that grow linearly. What a bead is worth is log-linear in that distance, in the lengths (Gale and
Church 1993), in where the words of its sentences lie, in how many sentences it joins and whether they look like parts
of one; the sum over all paths then tells how sure each bead is. `mining.alignment_fit` finds the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mining.alignment_band import band_around, sentence_products
from mining.alignment_lattice import judge, remaining, search, trace
from mining.alignment_marks import find_marks
from mining.alignment_path import SAMPLE, coarse_path, unit_rows
from mining.alignment_priors import Shares, refit_priors
from mining.alignment_scores import AlignmentTask, DocumentSpans
from mining.alignment_weights import JOINS, BeadModel, default_model, lattice_weights, usual_shares
from mining.alignment_words import Located, located, with_words, word_weights
from mining.errors import InputError
from mining.even_rows import evenly_spread
from mining.scoring.maxsim import WordVectors

BEADS = 8  # n + m of a bead is at most this
LARGEST_BEADS = 16  # a step is stored in a byte
_LENGTH_POWER = 0.2  # of 0 to 0.7 the surest gain on development article and made documents
_STRANGERS = 4
_WORD_WINDOW = 6  # sentences around the path among which words are looked for
_STRANGE, _STRANGENESS = 0.9, 30.0  # of right beads of the development article 1% lie beyond, of strangers 15% nearer
# What the best path pays for a gap beside its weight, which was fitted to be likely: every sentence left out is a bead
# more that may be wrong. By development documents, aligned by the weights of others.
RELUCTANCE = 1.0
_USUAL_LETTERS = 4.0  # log of a short sentence's length
_USUAL_FREEDOM, _FREEDOM_SPREAD = 0.6, 0.15  # of the mean distances of development documents
_FREEST = 0.7  # what is farther may be no translation at all: of strangers nine in ten are


class Document(NamedTuple):
    """A document for `align_sentences`: vectors of its sentences or spans, and how long each sentence is.

    `vectors` (sentences, dim) are such that their sums are the vectors of longer spans (see `document_of`). `vectors`
    (sizes, sentences, dim) hold for each n the vector of the n sentences that end there, encoded as one text.
    `words` are of the same sentences; they are compared where both documents have them. `marks` (sentences, `MARKS`)
    are those of `find_marks`, none where there are no texts.
    """

    vectors: np.ndarray
    lengths: np.ndarray
    words: WordVectors | None = None
    marks: np.ndarray | None = None

    @property
    def sentences(self) -> int:
        return len(self.lengths)


def document_of(vectors: np.ndarray, texts: Sequence[str], words: WordVectors | None = None) -> Document:
    """A document by the vectors of its sentences: a span is the sum of theirs, long ones weighing a little more.

    A short sentence more or less then tells more than in a vector of the span itself, which long ones rule.
    """
    lengths = np.fromiter((len(text.encode()) for text in texts), np.float64, len(texts))
    weighted = unit_rows(np.asarray(vectors, np.float32)) * (lengths**_LENGTH_POWER)[:, None]
    return Document(weighted, lengths, words, find_marks(texts))


class Alignment(NamedTuple):
    """Beads in order: `beads[k]` holds first and last + 1 sentence of the source, then of the target.

    `distance` is Vecalign's, normalised so that strangers have about 1; NaN where one side of the bead is empty.
    `confidence` is the bead's share of all alignments, weighed by their likelihood, times how likely spans at such a
    distance are translations at all: of strangers, too, one alignment is the best.
    """

    beads: np.ndarray  # (beads, 4) int64
    distance: np.ndarray  # (beads,) float64
    confidence: np.ndarray  # (beads,) float64

    @property
    def two_sided(self) -> np.ndarray:
        return (self.beads[:, 1] > self.beads[:, 0]) & (self.beads[:, 3] > self.beads[:, 2])


def align_sentences(
    source: Document,
    target: Document,
    *,
    beads: int = BEADS,
    model: BeadModel | None = None,
    usual: Shares | None = None,
) -> Alignment:
    """The most likely monotone alignment with beads of at most `beads` sentences, both sides together.

    How often beads of each kind are is judged by the documents themselves where that of the model, `usual`, is known:
    by default for the package's own model.
    """
    if not 2 <= beads < LARGEST_BEADS:
        raise InputError(f"a bead may have 2 to {LARGEST_BEADS - 1} sentences, not {beads}")
    if not source.sentences or not target.sentences:
        return deletions(source.sentences, target.sentences)
    if not all(np.isfinite(side.vectors).all() for side in (source, target)):
        raise InputError("there are vectors of sentences that are not finite numbers")
    task = alignment_task(source, target, beads=beads, model=model)
    lattice = search(task, RELUCTANCE)
    found = trace(task.band, lattice.step, lattice.gap)
    if usual := usual or (usual_shares() if model is None else None):
        task = task._replace(weights=refit_priors(task.weights, found, usual))
        lattice = search(task, RELUCTANCE)
        found = trace(task.band, lattice.step, lattice.gap)
    rest = remaining(task, lattice.matched, lattice.deleted)
    distance, share = judge(found, task, lattice.matched, lattice.deleted, rest)
    translated = 1 / (1 + np.exp(_STRANGENESS * (np.nan_to_num(distance) - _STRANGE)))
    return Alignment(found, distance, np.where(np.isnan(distance), share, share * translated))


def alignment_task(
    source: Document, target: Document, *, beads: int = BEADS, model: BeadModel | None = None
) -> AlignmentTask:
    """All that decides an alignment of two documents that are not empty; `model` is the one that fits them."""
    path = coarse_path(_single(source), _single(target))
    src, tgt = _sides(source, target, beads - 1, _length_ratio(source, target, path))
    band = band_around(path, source.sentences, target.sentences, -(-beads // 2) + 5)
    products = sentence_products(band, src.spans, tgt.spans, beads)
    if source.words is not None and target.words is not None:
        window = band_around(path, source.sentences, target.sentences, _WORD_WINDOW)
        products = with_words(products, window, source.words, target.words)
    model = model or default_model(worded=len(products.source_words) > 0)
    found = located(products, source.sentences, target.sentences)
    freedom = _mean_distance(src, tgt, path)
    terms = deletion_terms(source, target, found, freedom)
    src, tgt = (
        side._replace(
            found=_window_sums(inside[None], beads - 1),
            joined=_joined(document, model, beads - 1),
            alone=_alone(own, model),
        )
        for side, document, inside, own in zip((src, tgt), (source, target), found, terms, strict=True)
    )
    return AlignmentTask(band, products, src, tgt, lattice_weights(model, beads), freedom)


def deletion_terms(source: Document, target: Document, found: Located, freedom: float) -> list[dict[str, np.ndarray]]:
    """For both documents, by the name of its weight, what decides how readily each sentence is left out.

    Of a free translation distant sentences, too, belong together: `freedom` is how distant those that match are.
    """
    rows = []
    free = -(min(freedom, _FREEST) - _USUAL_FREEDOM) / _FREEDOM_SPREAD
    for document, inside in zip((source, target), found, strict=True):
        terms = {
            "deletion length": -(np.log(document.lengths + 5) - _USUAL_LETTERS),
            "deletion freedom": np.full(document.sentences, free),
        }
        if document.words is not None:
            elsewhere = np.maximum(word_weights(document.words) - inside, 0)
            terms |= {"deletion located": -np.sqrt(inside), "deletion elsewhere": -np.sqrt(elsewhere)}
        rows.append(terms)
    return rows


def _alone(terms: dict[str, np.ndarray], model: BeadModel) -> np.ndarray:
    return np.sum([model[name] * values for name, values in terms.items()], axis=0)


def _joined(document: Document, model: BeadModel, sizes: int) -> np.ndarray:
    """(sizes, sentences): for the span of n sentences that ends there, the sum over the gaps inside it."""
    gaps = np.zeros(document.sentences)
    if document.marks is not None:
        gaps = document.marks @ np.array([model[name] for name in JOINS])
    return gap_sums(gaps, sizes)


def gap_sums(gaps: np.ndarray, sizes: int) -> np.ndarray:
    """(sizes, sentences): sums of the values behind all sentences of a span but its last."""
    edges = np.concatenate([[0.0], np.cumsum(gaps)])
    ends = np.arange(len(gaps))
    return np.stack([edges[ends] - edges[np.maximum(ends - n, 0)] for n in range(sizes)])


def deletions(source: int, target: int) -> Alignment:
    rows = [(i, i + 1, 0, 0) for i in range(source)] + [(source, source, j, j + 1) for j in range(target)]
    count = len(rows)
    return Alignment(np.array(rows, np.int64).reshape(-1, 4), np.full(count, np.nan), np.ones(count))


def _matched(path: np.ndarray) -> np.ndarray:
    """(pairs, 2) of the sentences that a path matches."""
    return path[1:][(np.diff(path, axis=0) == 1).all(1)] - 1


def _mean_distance(src: DocumentSpans, tgt: DocumentSpans, path: np.ndarray) -> float:
    """Of sentences that the path matches; a usual one where it matches none."""
    matched = _matched(path)
    i, j = matched[evenly_spread(len(matched), SAMPLE)].T
    if not len(i):
        return _USUAL_FREEDOM
    cosines = np.einsum("nd,nd->n", src.spans[0, i], tgt.spans[0, j])
    cosines /= np.maximum(src.norms[0, i] * tgt.norms[0, j], 1e-12)
    return float((2 * (1 - cosines) / (1e-6 + src.unlike[0, i] + tgt.unlike[0, j])).mean())


def _length_ratio(source: Document, target: Document, path: np.ndarray) -> float:
    """Letters of the source for one of the target, where the path matches sentences: one side may be a part only."""
    matched = _matched(path)
    lengths = [float(side.lengths[matched[:, number]].sum()) for number, side in enumerate((source, target))]
    if not all(lengths):
        lengths = [float(source.lengths.sum()), float(target.lengths.sum())]
    return lengths[0] / max(lengths[1], 1.0)


def _sides(source: Document, target: Document, sizes: int, ratio: float = 1.0) -> tuple[DocumentSpans, DocumentSpans]:
    """Both documents with the norms of their spans; lengths of the target in letters of the source, by `ratio`."""
    spans = [_spans(document, sizes) for document in (source, target)]
    norms = [_norms(x, sizes) for x in spans]
    means = [_mean_direction(x, norm) for x, norm in zip(spans, norms, strict=True)]
    scales = 1.0, ratio
    sides = []
    for document, x, norm, mean, scale in zip((source, target), spans, norms, means[::-1], scales, strict=True):
        unlike = 1 - _window_sums(x @ mean, sizes) / np.maximum(norm, 1e-12)
        letters = _window_sums((document.lengths * scale)[None], sizes)
        nothing = np.zeros((sizes, document.sentences))
        logs = np.log(letters + 5)
        sides.append(DocumentSpans(x, norm, unlike.astype(np.float32), letters, logs, nothing, nothing, nothing[0]))
    return sides[0], sides[1]


def _spans(document: Document, sizes: int) -> np.ndarray:
    vectors = np.ascontiguousarray(document.vectors, np.float32)
    if vectors.ndim == 2:
        # The scale is of no consequence; that of ordinary numbers keeps small float types from overflowing.
        return vectors[None] / max(float(np.abs(vectors).max(initial=0)), 1e-12)
    if len(vectors) < sizes:
        raise InputError(f"vectors of spans up to {sizes} sentences are needed; there are {len(vectors)} sizes")
    return vectors[:sizes] / np.maximum(np.linalg.norm(vectors[:sizes], axis=-1, keepdims=True), 1e-12)


def _window_sums(values: np.ndarray, sizes: int) -> np.ndarray:
    """(sizes, sentences): of spans with their own vectors the values themselves, else sums of n values up to each."""
    if len(values) > 1:
        return values
    edges = np.concatenate([[0.0], np.cumsum(values[0], dtype=np.float64)])
    ends = np.arange(1, len(edges))
    return np.stack([edges[ends] - edges[np.maximum(ends - n, 0)] for n in range(1, sizes + 1)])


def _norms(spans: np.ndarray, sizes: int) -> np.ndarray:
    """(sizes, sentences) lengths of the span vectors; |x + y|^2 = |x|^2 + 2 xy + |y|^2 spares the vectors of sums."""
    if len(spans) > 1:
        return np.ones(spans.shape[:2], np.float32)
    x = spans[0]
    own = np.einsum("nd,nd->n", x, x).astype(np.float64)
    squares = np.empty((sizes, len(x)))
    squares[0] = own
    cross = np.zeros(len(x))
    for n in range(1, sizes):
        cross[n:] += np.einsum("nd,nd->n", x[n:], x[:-n]) if n < len(x) else 0
        squares[n] = own + 2 * cross
        squares[n, 1:] += squares[n - 1, :-1]
    return np.sqrt(np.maximum(squares, 0)).astype(np.float32)


def _mean_direction(spans: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """The mean of unit spans of all sizes, from evenly spread places: its product is a mean of cosines.

    A few strangers, of cosine 0, are counted in: of one sentence the mean would be its translation itself.
    """
    count = spans.shape[1]
    ends = evenly_spread(count, SAMPLE)
    total = np.zeros(spans.shape[2])
    window = np.zeros((len(ends), spans.shape[2]), np.float32)
    for n in range(len(norms)):
        if len(spans) > 1:
            window = spans[n, ends]
        else:
            window = window + np.where((ends >= n)[:, None], spans[0, np.maximum(ends - n, 0)], 0)
        total += (window / np.maximum(norms[n, ends], 1e-12)[:, None]).sum(0)
    return (total / (len(ends) * len(norms)) * (count / (count + _STRANGERS))).astype(np.float32)


def _single(document: Document) -> np.ndarray:
    """Unit vectors (sentences, dim)."""
    vectors = document.vectors if document.vectors.ndim == 2 else document.vectors[0]
    return unit_rows(np.asarray(vectors, np.float32))
