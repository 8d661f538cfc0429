"""What a worker does with a group of document pairs: BiMax of candidates, alignment of the plausible ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from encoder.inference import Encoder
from mining.alignment import Alignment, Document, document_of
from mining.alignment_windows import LongDocument, align_long
from mining.alignment_words import WordProjection, word_vectors
from mining.document_judgement import DocumentJudgement, judge_pair
from mining.document_order import order_agreement
from mining.document_pairs import bimax, document_part
from mining.files import atomic_writer
from mining.paths import exists, open_url
from pipelines.align.document_groups import DocumentPiece, WholeDocument, assemble
from pipelines.datasets.manifest import Counters, Dataset, Shard, fingerprint
from pipelines.datasets.work import Work, new_name
from pipelines.mine.word_texts import WordEncoder, find_words

SCHEMA = pa.schema(
    [
        ("source", pa.int64()),
        ("target", pa.int64()),
        ("score", pa.float64()),
        ("agreement", pa.float64()),
        ("beads", pa.list_(pa.int64())),
        ("distance", pa.list_(pa.float64())),
        ("confidence", pa.list_(pa.float64())),
    ]
)


def letters(texts: Sequence[str]) -> np.ndarray:
    return np.fromiter((len(text.encode()) for text in texts), np.float64, len(texts))


def bimax_group(item: tuple[int, Iterable[DocumentPiece]], groups: list[np.ndarray], work: Work) -> None:
    """Store the BiMax of the pairs of a group."""
    number, pieces = item
    if exists(scores_url(work, number)):
        return
    parts = {key: document_part(whole.vectors, letters(whole.texts)) for key, whole in assemble(pieces).items()}
    values = [bimax(parts[0, a], parts[1, b]) for a, b in groups[number].tolist()]
    with atomic_writer(scores_url(work, number)) as stream:
        np.save(stream, np.array(values))


def read_scores(work: Work, groups: list[np.ndarray]) -> np.ndarray:
    found = []
    for number in range(len(groups)):
        with open_url(scores_url(work, number)) as stream:
            found.append(np.load(stream))
    return np.concatenate([np.empty(0), *found])


def scores_url(work: Work, number: int) -> str:
    return work.scratch("bimax", f"{number:06d}.npy")


class PairAligner:
    """Aligns two documents with the vectors of their words."""

    def __init__(self, encoder: Encoder, languages: tuple[str, str], projection: WordProjection, beads: int) -> None:
        self._words = WordEncoder(encoder, projection.of)
        self._languages, self._beads = languages, beads

    def align(self, source: WholeDocument, target: WholeDocument) -> tuple[Alignment, DocumentJudgement]:
        sides = [self._document(whole, lang) for whole, lang in zip((source, target), self._languages, strict=True)]
        alignment = align_long(sides[0], sides[1], beads=self._beads)
        order = order_agreement(source.vectors, target.vectors)
        return alignment, judge_pair(alignment, letters(source.texts), letters(target.texts), order)

    def _document(self, whole: WholeDocument, lang: str) -> LongDocument:
        def part(start: int, stop: int) -> Document:
            texts = whole.texts[start:stop]
            words = find_words(texts, lang)
            return document_of(whole.vectors[start:stop], texts, word_vectors(words, self._words.of(words, lang)))

        return LongDocument(whole.vectors, part)


def align_group(
    item: tuple[int, Iterable[DocumentPiece]], groups: list[np.ndarray], work: Work, aligner: PairAligner
) -> None:
    """Store the alignments of a group as a shard, unless it is there already."""
    number, pieces = item
    if work.finished(number) is not None:
        return
    documents = assemble(pieces)
    rows = []
    for a, b in groups[number].tolist():
        alignment, judgement = aligner.align(documents[0, a], documents[1, b])
        rows.append((a, b, *judgement, alignment.beads.ravel(), alignment.distance, alignment.confidence))
    columns = zip(*rows, strict=True)
    table = pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], SCHEMA)
    name = new_name(number, "parquet")
    with atomic_writer(work.place(name)) as stream:
        pq.write_table(table, stream, compression="zstd")
    digest = fingerprint(*(array.tobytes() for row in rows for array in row[4:]))
    counters = Counters(rows_in=len(rows), kept=len(rows))
    work.note(Shard(index=number, name=name, rows=len(rows), digest=digest, counters=counters))


def read_alignments(dataset: Dataset) -> dict[tuple[int, int], tuple[Alignment, DocumentJudgement]]:
    """Every aligned pair of documents, by their numbers."""
    found = {}
    for shard in dataset.shards:
        with open_url(dataset.shard_url(shard)) as stream:
            for row in pq.read_table(stream).to_pylist():
                beads = np.array(row["beads"], np.int64).reshape(-1, 4)
                alignment = Alignment(beads, np.array(row["distance"], float), np.array(row["confidence"], float))
                judgement = DocumentJudgement(row["score"], row["agreement"])
                found[row["source"], row["target"]] = alignment, judgement
    return found
