"""Aligned documents as files: pairs in all pair formats, Vecalign's beads, XCES links, whole documents as JSONL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from mining.alignment_formats import Bead, LinkGroup, write_links, write_xces
from mining.files import atomic_text
from mining.pairs import SCHEMA, rebatch
from pipelines.align.align_job import AlignResult, DocumentPair, Unmatched
from pipelines.align.documents import DocumentText

ALIGNED = "a"  # in the column `directions` of pairs, where mined ones have f and b
_NO_SPACES = frozenset({"zh", "ja", "yue", "wuu", "th", "lo", "km", "my", "bo", "dz"})


def pair_rows(result: AlignResult) -> Iterator[pa.RecordBatch]:
    """Beads of two sides, the surest document pairs first; the sentences of a bead are joined.

    `score` is the confidence of the bead times that of its document pair; `source` is the document.
    """
    return rebatch((row for pair in result.pairs for row in _rows(pair, result)), SCHEMA)


def _rows(pair: DocumentPair, result: AlignResult) -> Iterator[dict[str, object]]:
    alignment = pair.alignment
    for k in np.flatnonzero(alignment.two_sided).tolist():
        a, b, c, d = alignment.beads[k].tolist()
        yield {
            "score": pair.score * float(alignment.confidence[k]),
            "src_text": join_sentences(pair.source.texts[a:b], result.source.lang),
            "tgt_text": join_sentences(pair.target.texts[c:d], result.target.lang),
            "src_source": pair.source.name,
            "src_line": pair.source.lines[a],
            "tgt_source": pair.target.name,
            "tgt_line": pair.target.lines[c],
            "directions": ALIGNED,
        }


def join_sentences(texts: list[str], lang: str) -> str:
    return ("" if lang in _NO_SPACES else " ").join(texts)


def write_documents(url: str, pairs: Iterable[DocumentPair]) -> None:
    """`source document TAB target document TAB score`, best first."""
    with atomic_text(url) as stream:
        for pair in sorted(pairs, key=lambda pair: -pair.score):
            stream.write(f"{pair.source.name}\t{pair.target.name}\t{pair.score:.4f}\n")


def write_unmatched(url: str, rows: Iterable[Unmatched]) -> None:
    """`source or target TAB document TAB reason`."""
    with atomic_text(url) as stream:
        stream.writelines("\t".join(row) + "\n" for row in rows)


def write_beads(url: str, result: AlignResult) -> None:
    """Vecalign's format; a line `# source TAB target` begins each pair where there are several documents."""
    named = len(result.source.documents) > 1 or len(result.target.documents) > 1
    with atomic_text(url) as stream:
        for pair in result.pairs:
            if named:
                stream.write(f"# {pair.source.name}\t{pair.target.name}\n")
            write_links(stream, _beads(pair), pair.alignment.distance)


def _beads(pair: DocumentPair) -> list[Bead]:
    """By the lines of both files, counted from 0; of a page, whose sentences share a line, by their number in it."""
    source, target = map(_numbers, (pair.source, pair.target))
    return [(tuple(source[a:b]), tuple(target[c:d])) for a, b, c, d in pair.alignment.beads.tolist()]


def _numbers(document: DocumentText) -> list[int]:
    lines = document.lines
    return [line - 1 for line in lines] if len(set(lines)) == len(lines) else list(range(len(lines)))


def write_links_xml(url: str, pairs: list[DocumentPair]) -> None:
    groups = [LinkGroup(pair.source.name, pair.target.name, _beads(pair), pair.alignment.confidence) for pair in pairs]
    with atomic_text(url) as stream:
        write_xces(stream, groups)


def write_parallel(url: str, result: AlignResult) -> None:
    """A document pair a line: both texts by paragraphs, and the beads."""
    with atomic_text(url) as stream:
        for pair in result.pairs:
            alignment = pair.alignment
            row = {
                "source": {"document": pair.source.name, "lang": result.source.lang, **_paragraphs(pair.source)},
                "target": {"document": pair.target.name, "lang": result.target.lang, **_paragraphs(pair.target)},
                "score": round(pair.score, 4),
                "beads": alignment.beads.tolist(),
                "confidence": [round(value, 4) for value in alignment.confidence.tolist()],
            }
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def _paragraphs(document: DocumentText) -> dict[str, object]:
    """Where they begin: those of a page, or of a text those before which lines were blank."""
    numbers, same = (document.lines, 1) if document.paragraphs is None else (document.paragraphs, 0)
    first = np.flatnonzero(np.diff(numbers) > same) + 1
    return {"sentences": document.texts, "paragraphs": [0, *first.tolist()]}
