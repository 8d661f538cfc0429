"""The kernel that finds repeated sentences, against a set of what was seen."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pipelines.prepare.duplicates import repeated_rows
from pipelines.prepare.parts import partition_edges


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
