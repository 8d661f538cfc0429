"""Alignment after embedding: a pair of books of 100,000 sentences, and 1,000 document pairs of 100 sentences."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from mining.alignment import BEADS
from mining.alignment_words import CorpusWords
from mining.threads import core_count
from pipelines.align.align_job import EmbeddedCorpus, align_embedded
from pipelines.align.align_settings import AlignSettings, DocumentReadSettings, DocumentSideSettings
from pipelines.align.documents import Corpus, DocumentText
from pipelines.mine.word_texts import find_words
from tests.benchmarks.process_memory import most_megabytes

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


def embedded(pairs: list[tuple[BookSide, BookSide]]) -> list[EmbeddedCorpus]:
    """Both sides as collections of documents, with vectors of sentences and words."""
    sides = []
    for side, lang in enumerate(("en", "de")):
        documents = [_document(f"{lang}{number}", pair[side]) for number, pair in enumerate(pairs)]
        corpus = Corpus(lang, documents, [], {})  # type: ignore[arg-type]
        vectors = np.concatenate([pair[side].vectors for pair in pairs])
        sides.append(EmbeddedCorpus(corpus, vectors, words(corpus.texts)))
    return sides


def _document(name: str, side: BookSide) -> DocumentText:
    return DocumentText(name, side.lines, list(range(len(side.lines))))


def row(name: str, pairs: list[tuple[BookSide, BookSide]]) -> list[str]:
    """What aligning them takes."""
    languages = [DocumentSideSettings(inputs=["-"], read=DocumentReadSettings(lang=lang)) for lang in ("en", "de")]
    sides = embedded(pairs)
    began, work = time.perf_counter(), time.process_time()
    result = align_embedded(sides[0], sides[1], AlignSettings(source=languages[0], target=languages[1]))
    seconds, cpu = time.perf_counter() - began, time.process_time() - work
    assert len(result.pairs) == len(pairs)
    overlaps = sum(side.corpus.sentences for side in sides) * (BEADS - 1)
    return [name, f"{seconds:.1f}", f"{cpu:.1f}", f"{most_megabytes():,}", f"{overlaps:,}"]


def main() -> None:
    columns = "what", "seconds", "CPU seconds", "peak MB", "texts that encoding each overlap would take"
    report = Table(*columns, title=f"{DIM} dimensions, words of {WORD_DIM}, {core_count()} threads")
    row("compilation", [book(500, 0)])
    for sentences in (BOOK // 10, BOOK):
        report.add_row(*row(f"a book of {sentences:,} sentences", [book(sentences, 1)]))
    name = f"{DOCUMENTS:,} document pairs of {SENTENCES} sentences, paired and aligned"
    report.add_row(*row(name, [book(SENTENCES, seed) for seed in range(DOCUMENTS)]))
    Console().print(report)


if __name__ == "__main__":
    main()
