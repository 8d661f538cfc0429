"""From two collections of documents to aligned sentences: read, embed, pair documents, align inside each pair."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from encoder.inference import Encoder
from mining.alignment import Alignment, Document, document_of
from mining.alignment_windows import LongDocument, align_long
from mining.alignment_words import CorpusWords, of_document, project_words
from mining.document_judgement import DocumentJudgement, judge_pair
from mining.document_order import order_agreement
from mining.document_pairs import Collection, Trials, find_trials, take_best
from mining.threads import core_count
from pipelines.align.align_settings import AlignSettings
from pipelines.align.documents import Corpus, DocumentText, document_keys, read_corpus
from pipelines.mine.word_texts import find_words

_ENCODED = 1 << 16  # texts at a time


class EmbeddedCorpus(NamedTuple):
    """A corpus, the vectors of its sentences (sentences, dim) one behind another, and of its words where known."""

    corpus: Corpus
    vectors: np.ndarray
    words: CorpusWords | None = None


class DocumentPair(NamedTuple):
    """Two documents that belong together, and the beads of their sentences."""

    source: DocumentText
    target: DocumentText
    score: float  # calibrated: how likely they are translations
    alignment: Alignment


class Unmatched(NamedTuple):
    side: Literal["source", "target"]
    document: str
    reason: str


class AlignResult(NamedTuple):
    source: Corpus
    target: Corpus
    pairs: list[DocumentPair]
    unmatched: list[Unmatched]


class JudgedPairs(NamedTuple):
    """All pairs of documents that were aligned, likely or not; a document may be in several."""

    source: Corpus
    target: Corpus
    trials: Trials
    judged: list[tuple[Alignment, DocumentJudgement]]  # of each trial

    def result(self, least: float) -> AlignResult:
        """The best of the pairs that are likely enough, one to one, and why other documents are in none."""
        chosen = self._chosen(least)
        pairs = [
            DocumentPair(self.source.documents[a], self.target.documents[b], score, self.judged[k][0])
            for k, a, b, score in self._rows(chosen)
        ]
        unmatched = [*self._unmatched(0, chosen, least), *self._unmatched(1, chosen, least)]
        return AlignResult(self.source, self.target, pairs, unmatched)

    def _chosen(self, least: float) -> np.ndarray:
        """Places of the pairs that are made, best first."""
        confidence, agreement = np.array([judgement for _, judgement in self.judged]).reshape(-1, 2).T
        likely = np.flatnonzero(confidence >= least)
        likely = likely[np.argsort(-(agreement * self.trials.score)[likely], kind="stable")]
        return likely[take_best(self.trials.source[likely], self.trials.target[likely])]

    def _rows(self, places: np.ndarray) -> Iterator[tuple[int, int, int, float]]:
        """Place, source document, target document, confidence."""
        for k in places.tolist():
            yield k, int(self.trials.source[k]), int(self.trials.target[k]), self.judged[k][1].confidence

    def _unmatched(self, number: Literal[0, 1], chosen: np.ndarray, least: float) -> Iterator[Unmatched]:
        """Every document of a side that is in no pair, and why."""
        side: Literal["source", "target"] = "target" if number else "source"
        corpus, other = (self.target, self.source) if number else (self.source, self.target)
        yield from (Unmatched(side, name, reason) for name, reason in corpus.refused)
        paired = [set(column[chosen].tolist()) for column in (self.trials.source, self.trials.target)]
        likeliest = self._likeliest(number)
        for place, document in enumerate(corpus.documents):
            if place in paired[number]:
                continue
            mate, score = likeliest.get(place, (int(self.trials.nearest[number][place]), None))
            taken = mate in paired[1 - number] and (score is None or score >= least)
            name = other.documents[mate].name if mate >= 0 else None
            yield Unmatched(side, document.name, _why_unmatched(name, score, taken=taken))

    def _likeliest(self, number: Literal[0, 1]) -> dict[int, tuple[int, float]]:
        """For the documents of a side that were aligned the likeliest other one, and its confidence."""
        found: dict[int, tuple[int, float]] = {}
        for _, *couple, score in self._rows(np.arange(len(self.judged))):
            if score > found.get(couple[number], (-1, -1.0))[1]:
                found[couple[number]] = couple[1 - number], score
        return found


def _why_unmatched(mate: str | None, score: float | None, *, taken: bool) -> str:
    """`mate` is the likeliest document, with its `score`, or, of one that was aligned with none, the nearest."""
    if mate is None:
        return "no candidate"
    if taken:
        return f"a closer document has the nearest: {mate}"
    if score is None:
        return f"no translation: {mate} is the nearest, and not near enough to be aligned"
    return f"no translation: {mate} is the likeliest, confidence {score:.3f}"


def align_documents(settings: AlignSettings, report: Callable[[str], None] = lambda stage: None) -> AlignResult:
    """Pair the documents of two collections and align each pair; `report` is told the name of each step."""
    report("read")
    sides = [read_corpus(side.inputs, side.read, side.lang_filter) for side in (settings.source, settings.target)]
    encoder = Encoder.load(settings.encoder, device=settings.device, threads=settings.threads or core_count())
    report("embed")
    source, target = (_embed(encoder, side) for side in sides)
    report("align")
    return align_embedded(source, target, settings)


def _embed(encoder: Encoder, corpus: Corpus) -> EmbeddedCorpus:
    """The words of all sentences are encoded once."""
    words = find_words(corpus.texts, corpus.lang)
    of_words = _encoded(encoder, words.vocabulary.to_pylist(), corpus.lang)
    return EmbeddedCorpus(corpus, _encoded(encoder, corpus.texts, corpus.lang), CorpusWords(words, of_words))


def _encoded(encoder: Encoder, texts: Sequence[str], lang: str) -> np.ndarray:
    """(texts, dim), mapped from a file that has no name and goes with the process; few are in memory at a time."""
    if not texts:
        return np.empty((0, encoder.dim), np.float32)
    with tempfile.TemporaryFile() as stream:
        for first in range(0, len(texts), _ENCODED):
            stream.write(encoder.encode(texts[first : first + _ENCODED], lang).tobytes())
        stream.flush()
        # A plain view: slices of np.memmap itself are memmaps again, each at a cost.
        return np.memmap(stream, np.float32, "r", shape=(len(texts), encoder.dim)).view(np.ndarray)


def align_embedded(first: EmbeddedCorpus, second: EmbeddedCorpus, settings: AlignSettings) -> AlignResult:
    """The same for corpora whose vectors are there already."""
    words: tuple[CorpusWords, CorpusWords] | None = None
    if first.words is not None and second.words is not None:
        words = project_words((first.words, second.words))
    sides = _Side.of(first, words and words[0]), _Side.of(second, words and words[1])
    source, target = first.corpus, second.corpus
    threads = settings.threads or core_count()
    if len(source.documents) == len(target.documents) == 1:
        trials = two_books()
    else:
        keys = document_keys(source, target)
        collections = sides[0].collection, sides[1].collection
        trials = find_trials(*collections, keys, candidates=settings.candidates, threads=threads)
    couples = list(zip(trials.source.tolist(), trials.target.tolist(), strict=True))

    def align(couple: tuple[int, int]) -> tuple[Alignment, DocumentJudgement]:
        documents = [side.document(place) for side, place in zip(sides, couple, strict=True)]
        alignment = align_long(*documents, beads=settings.beads, threads=threads if len(couples) == 1 else 1)
        lengths = [side.lengths(place) for side, place in zip(sides, couple, strict=True)]
        order = order_agreement(documents[0].vectors, documents[1].vectors)
        return alignment, judge_pair(alignment, lengths[0], lengths[1], order)

    # The kernels release the interpreter, and products are small: the matrix library's own threads only get in the way.
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        judged = list(pool.map(align, couples))
    return JudgedPairs(source, target, trials, judged).result(settings.confidence)


def two_books() -> Trials:
    """Of one document a side: the user says that they belong together, the confidence whether they do."""
    only = np.zeros(1, np.int64)
    return Trials(only, only, np.ones(1), (only, only))


class _Side(NamedTuple):
    """The documents of one side, and where their sentences and words are."""

    documents: list[DocumentText]
    collection: Collection
    words: CorpusWords | None

    @classmethod
    def of(cls, embedded: EmbeddedCorpus, words: CorpusWords | None) -> _Side:
        corpus = embedded.corpus
        lengths = np.array([len(text.encode()) for text in corpus.texts], np.float64)
        return cls(corpus.documents, Collection(embedded.vectors, lengths, corpus.starts), words)

    def lengths(self, place: int) -> np.ndarray:
        return self.collection.lengths[self.collection.rows(place)]

    def document(self, place: int) -> LongDocument:
        rows = self.collection.rows(place)
        vectors, texts = self.collection.vectors[rows], self.documents[place].texts

        def part(start: int, stop: int) -> Document:
            own = None if self.words is None else of_document(self.words, rows.start + start, rows.start + stop)
            return document_of(vectors[start:stop], texts[start:stop], own)

        return LongDocument(vectors, part)
