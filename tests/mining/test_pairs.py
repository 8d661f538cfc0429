"""The pairs table."""

from __future__ import annotations

import pyarrow as pa
import pytest

from mining.errors import InputError
from mining.pairs import REJECTED_SCHEMA, SCHEMA, conform, peek, rebatch


def test_conform_orders_casts_and_fills() -> None:
    loose = pa.table({"tgt_text": ["b"], "src_text": ["a"], "score": [1.1], "src_line": pa.array([3], pa.int32())})
    table = conform(loose)
    assert table.schema == SCHEMA
    assert table["src_line"].to_pylist() == [3]
    assert table["src_id"].null_count == 1
    assert conform(loose.append_column("reason", [["length"]])).schema == REJECTED_SCHEMA


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"src_text": ["a"]}, "'tgt_text'"),
        ({"src_text": ["a"], "tgt_text": pa.array([None], pa.string())}, "'tgt_text'"),
        ({"src_text": ["a"], "tgt_text": ["b"], "colour": [1]}, "no column 'colour'"),
        ({"src_text": ["a"], "tgt_text": ["b"], "src_id": [-1]}, "do not fit"),
    ],
)
def test_conform_refuses(columns: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        conform(pa.table(columns))


def test_rebatch_and_peek() -> None:
    first, rows = peek(iter([{"src_text": str(number)} for number in range(7)]))
    assert first == {"src_text": "0"}
    assert [batch.num_rows for batch in rebatch(rows, SCHEMA, size=3)] == [3, 3, 1]
    first, rows = peek(iter([]))
    assert first is None
    assert list(rebatch(rows, SCHEMA)) == []
