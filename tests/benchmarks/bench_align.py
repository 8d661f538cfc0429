"""Alignment after embedding: a pair of books of 100,000 sentences, and 1,000 document pairs of 100 sentences."""

from __future__ import annotations

import resource
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from mining.alignment import BEADS, Document, align_sentences
from mining.threads import core_count
from pipelines.align.corpora import Corpus, DocumentText
from pipelines.align.job import AlignSettings, DocumentSettings, align_embedded
from pipelines.prepare.readers import ReadSettings

DIM = 256
BOOK = 100_000
DOCUMENTS, SENTENCES = 1000, 100


def book(sentences: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of a text and of its translation: noise of the same length, every tenth sentence of the source merged."""
    rng = np.random.default_rng(seed)
    source = rng.normal(size=(sentences, DIM)).astype(np.float32)
    starts = np.flatnonzero(rng.random(sentences) > 0.1)
    target = np.add.reduceat(source, starts) if len(starts) else source
    return source, target + rng.normal(size=target.shape).astype(np.float32)


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    report = Table(
        "what", "seconds", "peak MB", "texts that encoding each overlap would take", title=f"{DIM} dimensions"
    )
    small = [Document(rows, np.full(len(rows), 80.0)) for rows in book(500, 0)]
    align_sentences(small[0], small[1])  # compiles
    for sentences in (BOOK // 10, BOOK):
        sides = [Document(rows, np.full(len(rows), 80.0)) for rows in book(sentences, 1)]
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
    sides = [book(SENTENCES, seed) for seed in range(DOCUMENTS)]
    corpora = [
        Corpus(lang, [_document(f"{lang}{k}", len(pair[side])) for k, pair in enumerate(sides)], [], {})  # type: ignore[arg-type]
        for side, lang in enumerate(("en", "de"))
    ]
    vectors = [np.concatenate([pair[side] for pair in sides]) for side in range(2)]
    settings = [DocumentSettings(inputs=["-"], read=ReadSettings(lang=lang)) for lang in ("en", "de")]
    began, work = time.perf_counter(), time.process_time()
    result = align_embedded(
        corpora[0], corpora[1], vectors[0], vectors[1], AlignSettings(source=settings[0], target=settings[1])
    )
    assert len(result.pairs) == DOCUMENTS
    report.add_row(
        f"{DOCUMENTS:,} document pairs of {SENTENCES} sentences, paired and aligned, {core_count()} threads",
        f"{time.perf_counter() - began:.1f}",
        f"{time.process_time() - work:.1f}",
        f"{megabytes():,.0f}",
        f"{sum(corpus.sentences for corpus in corpora) * (BEADS - 1):,}",
    )
    Console().print(report)


def _document(name: str, sentences: int) -> DocumentText:
    return DocumentText(name, ["x" * 80] * sentences, list(range(sentences)))


if __name__ == "__main__":
    main()
