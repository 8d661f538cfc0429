"""Finding repeated sentences by hash prefix, against a set of what was seen."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.datasets.manifest import Request
from pipelines.datasets.work import Work
from pipelines.prepare.duplicates import (
    PartHashes,
    find_repeats,
    note_repeats,
    noted_repeats,
    partition_edges,
    read_repeats,
    repeated_rows,
    repeats_by_part,
)
from pipelines.prepare.parts import write_parts
from pipelines.prepare.readers.blocks import RowBatch


@given(st.lists(st.lists(st.integers(0, 6), max_size=12), max_size=5))
def test_repeated_rows(parts: list[list[int]]) -> None:
    seen: set[int] = set()
    expected = []
    for part in parts:
        expected.append([])
        for row, value in enumerate(part):
            if value in seen:
                expected[-1].append(row)
            seen.add(value)
    orders = [np.argsort(np.array(part, np.uint64), kind="stable") for part in parts]
    hashes = [np.array(part, np.uint64)[order] for part, order in zip(parts, orders, strict=True)]
    assert [rows.tolist() for rows in repeated_rows(hashes, orders)] == expected


def test_partition_edges_cut_the_hashes_evenly() -> None:
    assert partition_edges(1).tolist() == [0]
    assert partition_edges(4).tolist() == [0, 2**62, 2**63, 3 * 2**62]


def test_parts_that_come_in_any_order_keep_the_first_of_the_corpus() -> None:
    same = np.array([7, 9], np.uint64)
    parts = [PartHashes(key, same, np.array([4, 5], np.uint32)) for key in ((1, 0), (0, 11), (0, 2))]
    assert {part: rows.tolist() for part, rows in repeats_by_part((0, parts))} == {(0, 11): [4, 5], (1, 0): [4, 5]}


def batch(texts: list[str]) -> RowBatch:
    return RowBatch(texts, np.arange(len(texts)), None, Counter(), len(texts))


@pytest.mark.parametrize("partitions", [1, 2, 16])
def test_repeats_of_parts(tmp_path: Path, partitions: int) -> None:
    texts = [[f"{number % 7}" for number in range(10)], [f"{number}" for number in range(6, 20)], ["20"]]
    work = Work(str(tmp_path), Request(kind="sentences", configuration={}, inputs=[]))
    parts = [
        part
        for block, some in enumerate(texts)
        for part in write_parts(
            work, block, iter([RowBatch(some, np.arange(len(some)), None, Counter(), 20)]), None, 10**6
        )
    ]
    assert noted_repeats(work) is None
    found = find_repeats(reversed(parts), work, partitions)
    assert note_repeats(found, reversed(parts), work) == noted_repeats(work)
    assert noted_repeats(work).rows == [3, 1, 0]
    assert [read_repeats(work, part).tolist() for part in parts[:2]] == [[7, 8, 9], [0]]
