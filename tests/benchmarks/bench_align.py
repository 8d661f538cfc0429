"""Alignment after embedding: a pair of books of 100,000 sentences, and 1,000 document pairs of 100 sentences."""

from __future__ import annotations

import resource
import time
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from mining.alignment import BEADS, Document, align_sentences, document_of
from mining.alignment_words import CorpusWords, of_document
from mining.threads import core_count
from pipelines.align.align_job import EmbeddedCorpus, align_embedded
from pipelines.align.align_settings import AlignSettings, DocumentReadSettings, DocumentSideSettings
from pipelines.align.documents import Corpus, DocumentText
from pipelines.mine.word_texts import find_words

DIM, WORD_DIM, VOCABULARY = 256, 64, 20_000
BOOK = 100_000
DOCUMENTS, SENTENCES = 1000, 100


class BookSide(NamedTuple):
    vectors: np.ndarray
    lines: list[str]


def book(sentences: int, seed: int) -> tuple[BookSide, BookSide]:
    """A text of sentences of fifteen words and its translation: noise of the same length, every tenth sentence merged.

    The words of both are the same, of a vocabulary like a book's.
    """
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(sentences, DIM)).astype(np.float32)
    starts = np.flatnonzero(rng.random(sentences) > 0.1)
    starts[0] = 0
    target = np.add.reduceat(source, starts)
    lines = [" ".join(f"w{word}" for word in row) for row in rng.zipf(1.3, (sentences, 15)) % VOCABULARY]
    merged = [" ".join(lines[a:b]) for a, b in pairwise([*starts.tolist(), sentences])]
    noise = rng.normal(size=target.shape).astype(np.float32)
    return BookSide(source, lines), BookSide(target + noise, merged)


def words(lines: list[str]) -> CorpusWords:
    found = find_words(lines, "en")
    vectors = np.random.default_rng(0).normal(size=(len(found.vocabulary), WORD_DIM)).astype(np.float32)
    return CorpusWords(found, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def documents(sentences: int, seed: int) -> list[Document]:
    sides = book(sentences, seed)
    return [document_of(rows, lines, of_document(words(lines), 0, len(lines))) for rows, lines in sides]


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    columns = "what", "seconds", "CPU seconds", "peak MB", "texts that encoding each overlap would take"
    report = Table(*columns, title=f"{DIM} dimensions, words of {WORD_DIM}")
    small = documents(500, 0)
    align_sentences(small[0], small[1])  # compiles
    for sentences in (BOOK // 10, BOOK):
        sides = documents(sentences, 1)
        began, work = time.perf_counter(), time.process_time()
        align_sentences(sides[0], sides[1])
        overlaps = sum(side.sentences for side in sides) * (BEADS - 1)
        report.add_row(
            f"a book of {sentences:,} sentences, one thread",
            f"{time.perf_counter() - began:.1f}",
            f"{time.process_time() - work:.1f}",
            f"{megabytes():,.0f}",
            f"{overlaps:,}",
        )
    pairs = [book(SENTENCES, seed) for seed in range(DOCUMENTS)]
    corpora = [
        Corpus(lang, [_document(f"{lang}{k}", pair[side]) for k, pair in enumerate(pairs)], [], {})  # type: ignore[arg-type]
        for side, lang in enumerate(("en", "de"))
    ]
    vectors = [np.concatenate([pair[side].vectors for pair in pairs]) for side in range(2)]
    settings = [DocumentSideSettings(inputs=["-"], read=DocumentReadSettings(lang=lang)) for lang in ("en", "de")]
    embedded = [
        EmbeddedCorpus(corpus, rows, words(corpus.texts)) for corpus, rows in zip(corpora, vectors, strict=True)
    ]
    began, work = time.perf_counter(), time.process_time()
    result = align_embedded(embedded[0], embedded[1], AlignSettings(source=settings[0], target=settings[1]))
    assert len(result.pairs) == DOCUMENTS
    report.add_row(
        f"{DOCUMENTS:,} document pairs of {SENTENCES} sentences, paired and aligned, {core_count()} threads",
        f"{time.perf_counter() - began:.1f}",
        f"{time.process_time() - work:.1f}",
        f"{megabytes():,.0f}",
        f"{sum(corpus.sentences for corpus in corpora) * (BEADS - 1):,}",
    )
    Console().print(report)


def _document(name: str, side: BookSide) -> DocumentText:
    return DocumentText(name, side.lines, list(range(len(side.lines))))


if __name__ == "__main__":
    main()
