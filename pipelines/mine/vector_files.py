"""Files of vectors and their texts as datasets: what is mined of them, and the known pairs that are added as probes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from mining.corpus import Lines, Repeats, find_repeats, hash_texts, read_columns, read_id_pairs, scan, texts_at
from mining.errors import InputError
from mining.files import iterate_lines
from mining.probes import distinct, plan_probes
from mining.vectors import Vectors, open_vectors, zero_rows
from pipelines.datasets.manifest import TEXT, VECTORS, Counters, Dataset, Input, Request, Shard, file_input
from pipelines.datasets.sentences import ALSO, SCHEMA, UNKNOWN_LANGUAGE, constant, write_shard
from pipelines.datasets.work import Work, begin, new_name, place_for
from pipelines.embed.given_vectors import GivenVectors
from pipelines.mine.mine_settings import VectorFileSettings, VectorJobSettings

VERSION = "1"  # to be raised with every change of the code that changes which lines are mined


@dataclass(frozen=True)
class VectorFile:
    """One side: a line of the text for each row of the vectors."""

    text: str
    lang: str | None
    lines: Lines
    repeats: Repeats
    vectors: Vectors

    @cached_property
    def left_out(self) -> dict[str, np.ndarray]:
        """Masks of lines that are not mined, by reason."""
        zero = np.zeros(self.lines.count, bool)
        zero[zero_rows(self.vectors)] = True
        return {"blank": self.lines.blank, "repeated": self.repeats.again, "zero_vector": zero}

    @property
    def minable(self) -> np.ndarray:
        return ~np.logical_or.reduce(list(self.left_out.values()))


@dataclass(frozen=True)
class ProbeLines:
    """The sentences of known pairs that are probes on one side: of which pairs, and where their vectors are."""

    pairs: np.ndarray
    texts: list[str]  # of all pairs
    vectors: GivenVectors
    hashes: np.ndarray  # of sentences that the corpus itself must not have


def open_vector_file(given: VectorFileSettings, dim: int | None, dtype: str | None) -> VectorFile:
    """Open and check one side."""
    lines = scan(given.text)
    vectors = open_vectors(given.vectors, dim=dim, dtype=dtype, rows=lines.count)
    return VectorFile(given.text, given.lang, lines, find_repeats(lines.hashes), vectors)


class _Seed(NamedTuple):
    """Known pairs: their texts, the rows of their vectors, and which can be probes."""

    texts: list[list[str]]  # of each side
    stores: list[Vectors]
    rows: np.ndarray  # (pairs, 2)
    usable: np.ndarray


def plan_seed(settings: VectorJobSettings, sides: Sequence[VectorFile]) -> tuple[ProbeLines, ProbeLines]:
    """Draw which sentences of the seed pairs become probes; their vectors are given, or among the lines."""
    assert settings.seed is not None
    files = settings.source.seed_vectors, settings.target.seed_vectors
    seed = _own_vectors(settings.seed, [*filter(None, files)], sides, settings.dtype) if all(files) else None
    seed = seed or _among_lines(settings.seed, sides)
    numbers = np.flatnonzero(seed.usable)
    chosen = numbers[distinct(*([side[number] for number in numbers.tolist()] for side in seed.texts))]
    plan = plan_probes(len(chosen))
    probes = []
    for side, pairs in enumerate((chosen[plan.sources()], chosen[plan.targets()])):
        file = [file_input(url, VECTORS) for url in filter(None, [files[side]])]
        vectors = GivenVectors(seed.stores[side].stored, seed.rows[pairs, side], file)
        hashes = hash_texts([seed.texts[side][number] for number in chosen.tolist()])
        probes.append(ProbeLines(pairs, seed.texts[side], vectors, hashes))
    return probes[0], probes[1]


def _among_lines(url: str, sides: Sequence[VectorFile]) -> _Seed:
    rows = read_id_pairs(url, sides[0].lines, sides[1].lines)
    rows = np.stack([side.repeats.first[column] for side, column in zip(sides, rows.T, strict=True)], axis=1)
    usable = sides[0].minable[rows[:, 0]] & sides[1].minable[rows[:, 1]]
    texts = [texts_at(side.text, column).to_pylist() for side, column in zip(sides, rows.T, strict=True)]
    return _Seed(texts, [side.vectors for side in sides], rows, usable)


def _own_vectors(url: str, files: Sequence[str], sides: Sequence[VectorFile], dtype: str | None) -> _Seed:
    texts = list(read_columns(url))
    count = len(texts[0])
    stores = [
        open_vectors(file, dim=side.vectors.dim, dtype=dtype, rows=count)
        for file, side in zip(files, sides, strict=True)
    ]
    usable = np.array([bool(left.strip() and right.strip()) for left, right in zip(*texts, strict=True)])
    for store in stores:
        usable[zero_rows(store)] = False
    return _Seed(texts, stores, np.stack([np.arange(count)] * 2, axis=1), usable)


def store_sentences(
    side: VectorFile,
    file: Input,
    out: str,
    rows_per_shard: int,
    probes: ProbeLines | None,
    seed: Input | None,
) -> tuple[Dataset, np.ndarray]:
    """The lines that are mined as a sentences dataset, and which rows of the file they are.

    Lines that are probes are left out, so that a sentence that is withheld is nowhere else.
    """
    reasons = dict(side.left_out)
    if probes is not None:
        reasons["seed_pairs"] = np.isin(side.lines.hashes, probes.hashes)
    counters = _counters(reasons, side.lines.count)
    if not counters.kept:
        why = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in counters.dropped.items())
        raise InputError(f"{side.text}: nothing left to mine ({why})")
    rows = np.flatnonzero(~np.logical_or.reduce(list(reasons.values())))
    inputs = [file_input(side.text, TEXT), file, *([seed] if seed else [])]
    configuration = {"read": {"lang": side.lang}, "rows_per_shard": rows_per_shard}
    request = Request(kind="sentences", configuration=configuration, inputs=inputs, versions={"lines": VERSION})
    work = begin(place_for(out, request), request)
    if isinstance(work, Dataset):
        return work, rows
    parts = [rows[first : first + rows_per_shard] for first in range(0, len(rows), rows_per_shard)]
    shards = [
        work.finished(index) or work.note(_write(work, side, index, index * rows_per_shard, part, texts))
        for index, part, texts in _texts(side.text, parts)
    ]
    return work.complete(shards, counters), rows


def _counters(reasons: dict[str, np.ndarray], count: int) -> Counters:
    """Each line for the first reason that takes it."""
    taken, dropped = np.zeros(count, bool), {}
    for reason, mask in reasons.items():
        dropped[reason] = int((mask & ~taken).sum())
        taken |= mask
    return Counters(
        rows_in=count, kept=int((~taken).sum()), dropped={why: rows for why, rows in sorted(dropped.items()) if rows}
    )


def _texts(url: str, parts: list[np.ndarray]) -> Iterator[tuple[int, np.ndarray, list[str]]]:
    """The lines of each part, in one pass over the file."""
    lines = enumerate(iterate_lines(url))
    for index, part in enumerate(parts):
        wanted = set(part.tolist())
        texts: list[str] = []
        while len(texts) < len(part):
            number, line = next(lines)
            if number in wanted:
                texts.append(line)
        yield index, part, texts


def _write(work: Work, side: VectorFile, index: int, first: int, rows: np.ndarray, texts: list[str]) -> Shard:
    """A shard whose ids count from `first`."""
    columns = [
        pa.array(np.arange(first, first + len(rows), dtype=np.uint64)),
        constant(side.text, len(rows)),
        pa.array(rows + 1),
        pa.nulls(len(rows), pa.string()),
        constant(side.lang or UNKNOWN_LANGUAGE, len(rows)),
        pa.array(texts, pa.string()),
        pa.array(side.repeats.positions(rows), ALSO.type),
    ]
    name = new_name(index, "parquet")
    digest = write_shard(work.place(name), pa.table(columns, schema=SCHEMA.append(ALSO)))
    return Shard(index=index, name=name, rows=len(rows), digest=digest)
