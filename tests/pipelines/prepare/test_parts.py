"""Parts of a block: cleaning, cutting by size, and going on behind what is whole."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pipelines.datasets.work import Work
from pipelines.prepare.parts import (
    LANGUAGE,
    LanguageTest,
    Part,
    clean,
    finished_parts,
    hash_texts,
    read_hashes,
    read_rows,
    run_lengths,
    write_parts,
)
from pipelines.prepare.readers.blocks import EMPTY, RowBatch
from tests.pipelines.works import begun_work


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return begun_work(tmp_path, "sentences")


def batches(count: int, read: list[int] | None = None) -> Iterator[RowBatch]:
    """Two sentences of four characters each a batch, and a line between that the reader dropped."""
    for number in range(count):
        if read is not None:
            read.append(number)
        lines = np.array([3 * number, 3 * number + 2])
        yield RowBatch([f"a{number:03}", f"b{number % 2:03}"], lines, None, Counter(too_long=1), 3 * number + 3)


CLEANED = {
    "white space": (["  a \t b ", "c"], ["a b", "c"], {}),
    "empty": (["", " ", "a"], ["a"], {EMPTY: 2}),
    "case is kept": (["ABC"], ["ABC"], {}),
    "full width": (["\uff21\uff22"], ["AB"], {}),
}


@pytest.mark.parametrize(("texts", "expected", "dropped"), CLEANED.values(), ids=CLEANED)
def test_clean(texts: list[str], expected: list[str], dropped: dict[str, int]) -> None:
    lines = np.arange(len(texts))
    found = clean(RowBatch(texts, lines, [f"r{n}" for n in lines], Counter(too_long=1), len(texts)), None)
    kept = [row for row, text in enumerate(texts) if text.strip()]
    assert found.texts == expected
    assert found.lines.tolist() == kept and found.refs == [f"r{n}" for n in kept]
    assert +found.dropped == Counter(dropped) + Counter(too_long=1)


def test_other_languages_are_counted_apart_from_empty_lines() -> None:
    texts = ["This is a sentence in the English language.", "", "Das hier ist ein Satz in deutscher Sprache."]
    found = clean(RowBatch(texts, np.arange(3), None, Counter(), 3), LanguageTest("en", 0.5))
    assert found.texts == texts[:1]
    assert +found.dropped == {EMPTY: 1, LANGUAGE: 1}


@pytest.mark.parametrize(("part_bytes", "sizes"), [(1, [2, 2, 2, 2, 0]), (16, [4, 4, 0]), (17, [6, 2]), (1000, [8])])
def test_parts_hold_whole_batches_of_a_size(work: Work, part_bytes: int, sizes: list[int]) -> None:
    parts = list(write_parts(work, 0, batches(4), None, part_bytes))
    assert [part.rows for part in parts] == sizes
    assert [part.last for part in parts] == [False] * (len(parts) - 1) + [True]
    assert parts[-1].end == 12
    assert sum(part.counters.rows_in for part in parts) == 12
    assert sum(part.counters.dropped.get("too_long", 0) for part in parts) == 4
    texts = [text for part in parts for text in read_rows(work, part)["text"].to_pylist()]
    assert texts == [text for batch in batches(4) for text in batch.texts]


def test_a_crash_loses_nothing_that_is_whole(work: Work) -> None:
    whole = list(write_parts(work, 1, batches(4), None, 8))
    half = write_parts(work, 2, batches(4), None, 8)
    assert [next(half).number, next(half).number] == [0, 1]
    half.close()
    assert len(finished_parts(work, 2)) == 2
    read: list[int] = []
    again = list(write_parts(work, 2, batches(4, read), None, 8))
    assert [part.model_copy(update={"block": 1}) for part in again] == whole
    assert list(write_parts(work, 2, iter(()), None, 8)) == again, "a block that is whole is not read at all"


def test_hashes_are_those_of_the_texts_in_order(work: Work) -> None:
    (part,) = write_parts(work, 0, batches(20), None, 10**6)
    texts = [text for batch in batches(20) for text in batch.texts]
    hashes, rows = read_hashes(work, part)
    pairs = list(zip(hashes.tolist(), rows.tolist(), strict=True))
    assert pairs == sorted(pairs)
    assert hash_texts(iter(texts), len(texts))[rows].tolist() == hashes.tolist()


@pytest.mark.parametrize(("first", "end"), [(0, 10), (0, 0), (3, 4), (2, 6), (4, 8), (7, 10), (0, 1)])
def test_some_rows_of_a_part(work: Work, first: int, end: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.prepare.parts._BATCH_ROWS", 4)
    (part,) = write_parts(work, 0, batches(5), None, 10**6)
    assert read_rows(work, part, first, end) == read_rows(work, part).slice(first, end - first)


RUNS = {"": "", "a": "0", "aab": "010", "abba": "0010", "--a--": "01001", "aaa": "012"}


@pytest.mark.parametrize(("refs", "expected"), RUNS.items())
def test_rows_of_a_document_are_counted(refs: str, expected: str) -> None:
    column = pa.chunked_array([[None if ref == "-" else ref for ref in refs]], pa.string())
    assert run_lengths(column).tolist() == [int(run) for run in expected]


def test_order_is_by_block_and_number() -> None:
    notes = [
        Part(block=b, number=n, rows=0, batches=0, end=0, last=False, counters={}) for b, n in ((1, 0), (0, 11), (0, 2))
    ]
    assert [part.name for part in sorted(notes, key=lambda part: part.order)] == [
        "000000-00002",
        "000000-00011",
        "000001-00000",
    ]
