"""Parts: cleaned sentences of one block on their way to shards, with the hashes that find duplicates.

A block becomes parts 0, 1, ... of bounded size, each of up to three scratch files: the rows, the hashes in order, and a
note written last that says the part is whole. A block half read before a crash continues behind its last whole part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice, takewhile
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from pydantic import BaseModel, ConfigDict

from encoder.normalize import NormalizeSettings, normalize
from mining.files import atomic_writer
from mining.language_id import language_probabilities
from mining.paths import open_url
from pipelines.datasets.manifest import Counters, read_model, write_model
from pipelines.datasets.work import Work
from pipelines.prepare.readers.blocks import EMPTY, RowBatch

LANGUAGE = "language"
# Case is for the encoder to fold; the stored text keeps it.
CLEANING = NormalizeSettings(lowercase=False)

PartKey = tuple[int, int]  # its block and number, which put parts in order
RUN = "run"  # a column of documents: rows of the same ref right before, in the part
_ROWS = pa.schema([("line", pa.int64()), ("ref", pa.string()), ("text", pa.string())])
_BATCH_ROWS = 4096  # of every record batch but the last: which of them hold some rows is known without reading
_HASHES = pa.schema([("hash", pa.uint64()), ("row", pa.uint32())])


class LanguageTest(NamedTuple):
    """Keeps a sentence when it is in its corpus's language with at least `probability`."""

    lang: str
    probability: float


class Part(BaseModel):
    """The note of a whole part."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    block: int
    number: int
    rows: int
    batches: int  # of the reader, in this part
    end: int  # lines of the block read up to the end of this part
    last: bool  # of its block
    counters: Counters
    first_ref: str | None = None  # of the first row and of the last one, which may go on in the parts beside
    last_ref: str | None = None
    last_run: int = 0  # rows at the end that have the last ref

    @property
    def order(self) -> PartKey:
        return self.block, self.number

    @property
    def name(self) -> str:
        return part_name(self.block, self.number)


def part_name(block: int, number: int) -> str:
    return f"{block:06d}-{number:05d}"


def clean(batch: RowBatch, language: LanguageTest | None) -> RowBatch:
    """The batch in light normal form without sentences of other languages; what goes is counted."""
    texts = normalize(batch.texts, CLEANING)
    present = np.fromiter(map(bool, texts), bool, len(texts))
    kept = present.copy()
    if language is not None:
        kept &= language_probabilities(texts, language.lang) >= language.probability
    dropped = Counter({EMPTY: int((~present).sum()), LANGUAGE: int((present & ~kept).sum())})
    rows = np.flatnonzero(kept).tolist()
    return batch._replace(
        texts=[texts[i] for i in rows],
        lines=batch.lines[rows],
        refs=None if batch.refs is None else [batch.refs[i] for i in rows],
        paragraphs=None if batch.paragraphs is None else batch.paragraphs[rows],
        dropped=batch.dropped + dropped,
    )


def finished_parts(work: Work, block: int) -> list[Part]:
    """The whole parts of a block, from the first on without a gap."""
    notes = (read_model(_note_url(work, part_name(block, number)), Part) for number in range(10**6))
    found: list[Part] = []
    for note in takewhile(lambda note: note is not None, notes):
        assert note is not None
        found.append(note)
        if note.last:
            break
    return found


def write_parts(
    work: Work,
    block: int,
    batches: Iterator[RowBatch],
    language: LanguageTest | None,
    part_bytes: int,
    *,
    documents: bool = False,
) -> Iterator[Part]:
    """All parts of a block: those found whole, and the rest made from the reader's remaining `batches`.

    Of `documents` no duplicates are searched, so no hashes are kept, but which rows belong together is.
    """
    done = finished_parts(work, block)
    yield from done
    if done and done[-1].last:
        return
    remaining = islice(batches, sum(part.batches for part in done), None)
    end = done[-1].end if done else 0
    number = len(done)
    last = False
    while not last:
        taken, last = _take(remaining, part_bytes)
        cleaned = [clean(batch, language) for batch in taken]
        end = taken[-1].end if taken else end
        counters = Counters(
            rows_in=sum(batch.rows_in for batch in taken),
            kept=sum(len(batch.texts) for batch in cleaned),
            dropped=dict(sum((batch.dropped for batch in cleaned), Counter())),
        )
        rows = _table(cleaned)
        runs = run_lengths(rows["ref"])
        part = Part(
            block=block, number=number, rows=counters.kept, batches=len(taken), end=end, last=last, counters=counters,
            **_ends(rows["ref"], runs),
        )  # fmt: skip
        _write_rows(work, part, rows.append_column(RUN, pa.array(runs)) if documents else rows)
        if not documents:
            _write_hashes(work, part, chain.from_iterable(batch.texts for batch in cleaned))
        write_model(_note_url(work, part.name), part)
        yield part
        number += 1


def _table(batches: list[RowBatch]) -> pa.Table:
    def columns(batch: RowBatch) -> list[pa.Array]:
        refs = pa.nulls(len(batch.texts), pa.string()) if batch.refs is None else pa.array(batch.refs, pa.string())
        return [pa.array(batch.lines, pa.int64()), refs, pa.array(batch.texts, pa.string())]

    return pa.Table.from_batches([pa.record_batch(columns(batch), schema=_ROWS) for batch in batches], _ROWS)


def run_lengths(refs: pa.ChunkedArray) -> np.ndarray:
    """For each row how many right before it have the same ref."""
    codes = pc.fill_null(refs.combine_chunks().dictionary_encode().indices, -1).to_numpy()
    begins = np.flatnonzero(np.diff(codes, prepend=codes[:1] + 1))
    return np.arange(len(codes)) - np.repeat(begins, np.diff(begins, append=len(codes)))


def _ends(refs: pa.ChunkedArray, runs: np.ndarray) -> dict[str, Any]:
    """What a part says of the refs at its ends."""
    if not len(refs):
        return {}
    return {"first_ref": refs[0].as_py(), "last_ref": refs[-1].as_py(), "last_run": int(runs[-1]) + 1}


def _take(batches: Iterator[RowBatch], part_bytes: int) -> tuple[list[RowBatch], bool]:
    """Batches of at least `part_bytes` characters together, and whether they are the last."""
    taken: list[RowBatch] = []
    size = 0
    for batch in batches:
        taken.append(batch)
        size += sum(map(len, batch.texts))
        if size >= part_bytes:
            return taken, False
    return taken, True


def _note_url(work: Work, name: str) -> str:
    return work.scratch("parts", f"{name}.json")


def _rows_url(work: Work, name: str) -> str:
    return work.scratch("parts", f"{name}.rows.arrow")


def _hashes_url(work: Work, name: str) -> str:
    return work.scratch("parts", f"{name}.hashes.arrow")


def _write_rows(work: Work, part: Part, rows: pa.Table) -> None:
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    url = _rows_url(work, part.name)
    with atomic_writer(url) as stream, pa.ipc.new_file(stream, rows.schema, options=options) as writer:
        for first in range(0, len(rows), _BATCH_ROWS):
            writer.write_table(rows.slice(first, _BATCH_ROWS).combine_chunks())


def _write_hashes(work: Work, part: Part, texts: Iterator[str]) -> None:
    hashes = hash_texts(texts, part.rows)
    order = np.argsort(hashes, kind="stable")
    with atomic_writer(_hashes_url(work, part.name)) as stream, pa.ipc.new_file(stream, _HASHES) as writer:
        writer.write(pa.record_batch([pa.array(hashes[order]), pa.array(order.astype(np.uint32))], schema=_HASHES))


def hash_texts(texts: Iterator[str], count: int) -> np.ndarray:
    digest = xxhash.xxh3_64_intdigest
    return np.fromiter((digest(text.encode()) for text in texts), np.uint64, count)


def read_rows(work: Work, part: Part, first: int = 0, end: int | None = None) -> pa.Table:
    """Rows `first` to before `end` of a part, and of its file no more than the batches that hold them."""
    end = part.rows if end is None else end
    with open_url(_rows_url(work, part.name)) as stream:
        file = pa.ipc.open_file(stream)
        numbers = range(first // _BATCH_ROWS, -(-end // _BATCH_ROWS))
        table = pa.Table.from_batches([file.get_batch(number) for number in numbers], file.schema)
    return table.slice(first % _BATCH_ROWS, end - first)


def read_hashes(work: Work, part: Part) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of a part, ascending, and their rows; equal hashes have ascending rows."""
    with open_url(_hashes_url(work, part.name)) as stream:
        table = pa.ipc.open_file(stream).read_all()
        return table["hash"].to_numpy(), table["row"].to_numpy()
