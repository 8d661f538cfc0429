"""From two collections of documents to aligned sentences: read, embed, pair documents, align inside each pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, NamedTuple

import numpy as np

from encoder.inference import Encoder
from mining.alignment import Alignment, align_sentences, document_of
from mining.alignment_words import CorpusWords, of_document, project_words
from mining.document_pairs import collect, match_documents, pair_confidence
from mining.threads import core_count
from pipelines.align.align_settings import AlignSettings
from pipelines.align.documents import Corpus, DocumentText, document_keys, read_corpus
from pipelines.mine.word_texts import find_words


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
    """All pairs of documents that were aligned, likely or not."""

    source: Corpus
    target: Corpus
    places: list[tuple[int, int]]  # of each pair's documents in their corpora
    pairs: list[DocumentPair]
    nearest: tuple[np.ndarray, np.ndarray]  # for each document of a side the best of the other, -1 for none

    def result(self, least: float) -> AlignResult:
        """The pairs that are likely enough, and why other documents are in none."""
        kept = [pair for pair in self.pairs if pair.score >= least]
        return AlignResult(self.source, self.target, kept, [*self._unmatched(0, least), *self._unmatched(1, least)])

    def _unmatched(self, number: Literal[0, 1], least: float) -> Iterator[Unmatched]:
        """Every document of a side that is in no pair, and why."""
        side: Literal["source", "target"] = "target" if number else "source"
        corpus, other = (self.target, self.source) if number else (self.source, self.target)
        yield from (Unmatched(side, name, reason) for name, reason in corpus.refused)
        partner = {
            couple[number]: (couple[1 - number], pair.score)
            for couple, pair in zip(self.places, self.pairs, strict=True)
        }
        for place, document in enumerate(corpus.documents):
            mate, score = partner.get(place, (-1, 0.0))
            nearest = self.nearest[number][place]
            if mate >= 0 and score >= least:
                continue
            if mate >= 0:
                reason = f"no translation: {other.documents[mate].name} is nearest, with confidence {score:.3f}"
            elif nearest >= 0:
                reason = f"a closer document has the nearest: {other.documents[nearest].name}"
            else:
                reason = "no candidate"
            yield Unmatched(side, document.name, reason)


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
    """Equal sentences are encoded once, and so are the words of all sentences."""
    words = find_words(corpus.texts, corpus.lang)
    of_words = encoder.encode(words.vocabulary.to_pylist(), corpus.lang)
    return EmbeddedCorpus(corpus, encoder.encode(corpus.texts, corpus.lang), CorpusWords(words, of_words))


def align_embedded(first: EmbeddedCorpus, second: EmbeddedCorpus, settings: AlignSettings) -> AlignResult:
    """The same for corpora whose vectors are there already."""
    source, target = first.corpus, second.corpus
    vectors = first.vectors, second.vectors
    words: tuple[CorpusWords, CorpusWords] | None = None
    if first.words is not None and second.words is not None:
        words = project_words((first.words, second.words))
    collections = []
    for corpus, rows in zip((source, target), vectors, strict=True):
        lengths = np.array([len(text.encode()) for text in corpus.texts], np.float64)
        collections.append(collect(rows, lengths, corpus.starts))
    if len(source.documents) == len(target.documents) == 1:
        couples = [(0, 0)]  # two books: the user says that they belong together, the score whether they do
        best = np.zeros(1, np.int64), np.zeros(1, np.int64)
    else:
        keys = document_keys(source, target)
        found = match_documents(collections[0], collections[1], keys, candidates=settings.candidates)
        couples = list(zip(found.source.tolist(), found.target.tolist(), strict=True))
        best = found.best_of_source, found.best_of_target

    def align(couple: tuple[int, int]) -> DocumentPair:
        texts = source.documents[couple[0]], target.documents[couple[1]]
        sides = []
        for number, (place, document) in enumerate(zip(couple, texts, strict=True)):
            rows = collections[number].rows(place)
            own = None if words is None else of_document(words[number], rows.start, rows.stop)
            sides.append(document_of(vectors[number][rows], document.texts, own))
        alignment = align_sentences(sides[0], sides[1], beads=settings.beads)
        return DocumentPair(*texts, pair_confidence(alignment, *sides), alignment)

    with ThreadPoolExecutor(settings.threads or core_count()) as pool:  # the kernels release the interpreter
        pairs = list(pool.map(align, couples))
    return JudgedPairs(source, target, couples, pairs, best).result(settings.confidence)
