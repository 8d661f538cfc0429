"""Vectors of a table: which failures are of a sentence, and which of the device."""

from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from encoder import Encoder
from encoder.tokens import Tokens
from mining.errors import InputError
from pipelines.datasets.manifest import Shard
from pipelines.datasets.sentences import tokens_of
from pipelines.embed.sentence_vectors import EmbeddedRows, embed_table, require_few_dead, survive
from tests.pipelines.corpora import write_encoder


class Stub:
    """As much of an encoder as is needed to fail like one."""

    def __init__(self, device: str = "cpu", memory: int = 10**6, error: Exception | None = None) -> None:
        self.dim, self.device, self.batch_tokens = 2, torch.device(device), 1024
        self.memory, self.error, self.budgets = memory, error, list[int]()

    def encode_tokens(self, tokens: Tokens) -> np.ndarray:
        self.budgets.append(self.batch_tokens)
        if self.error is not None:
            raise self.error
        if self.batch_tokens > self.memory:
            raise torch.OutOfMemoryError("out of memory")
        return np.ones((len(tokens.lengths), 2), np.float32)


def table_of(rows: int) -> pa.Table:
    return pa.table({"lang": ["en"] * rows, "pieces": pa.array([[1, 2, 3]] * rows, pa.list_(pa.int32()))})


def with_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.embed.sentence_vectors._tokens", lambda encoder, table: tokens_of(table))


def test_out_of_memory_halves_the_budget_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with_pieces(monkeypatch)
    encoder = Stub("cuda", memory=300)
    found = embed_table(encoder, table_of(100))
    assert encoder.budgets == [1024, 512, 256]
    assert (len(found.rows), found.reasons) == (100, {})
    assert embed_table(encoder, table_of(5)).reasons == {}
    assert encoder.budgets[3:] == [256]  # the next shard begins where this one ended


@pytest.mark.parametrize(
    ("device", "memory", "error"),
    [
        ("cuda", 10**6, torch.AcceleratorError("device-side assert")),
        ("cuda", 10**6, RuntimeError("CUBLAS_STATUS_EXECUTION_FAILED")),
        ("cpu", 10**6, torch.AcceleratorError("unspecified launch failure")),
        ("cuda", 1, None),
    ],
)
def test_an_error_of_the_device_is_raised(
    monkeypatch: pytest.MonkeyPatch, device: str, memory: int, error: Exception | None
) -> None:
    with_pieces(monkeypatch)
    with pytest.raises(type(error) if error else torch.OutOfMemoryError):
        embed_table(Stub(device, memory, error), table_of(100))


@pytest.mark.parametrize(("failed", "empty", "refused"), [(1, 90, False), (2, 0, False), (3, 0, True)])
def test_a_shard_of_which_more_than_a_hundredth_failed_is_refused(failed: int, empty: int, refused: bool) -> None:
    reasons = dict.fromkeys(range(failed), "RuntimeError") | dict.fromkeys(range(failed, failed + empty), "no_tokens")
    found = EmbeddedRows(np.empty(0, np.int64), np.empty((0, 2)), reasons, np.ones(200, np.int64))
    shard = Shard(index=0, name="00000.parquet", rows=200, digest="")
    message = r"3 of 200 sentences of 00000\.parquet cannot be embedded \(RuntimeError 3\)"
    with pytest.raises(InputError, match=message) if refused else nullcontext():
        require_few_dead(shard, found)


def test_rows_that_fail_alone_are_found_and_the_others_encoded() -> None:
    def encode(rows: np.ndarray) -> np.ndarray:
        if {3, 17} & set(rows.tolist()):
            raise IndexError("poison")
        return rows[:, None] * np.ones(2, np.float32)

    reasons: dict[int, str] = {}
    rows, vectors = survive(encode, np.arange(40), Stub(), reasons)
    assert reasons == {3: "IndexError", 17: "IndexError"}
    assert rows.tolist() == [row for row in range(40) if row not in reasons]
    assert vectors.tolist() == [[row, row] for row in rows]


def test_no_row_at_all_is_an_empty_result() -> None:
    rows, vectors = survive(lambda rows: np.ones((len(rows), 2)), np.arange(0), Stub(), {})
    assert len(rows) == 0
    assert vectors.shape == (0, 2)


def test_poison_goes_to_dead_letters_with_a_reason(tmp_path: Path) -> None:
    encoder = Encoder.load(write_encoder(tmp_path / "encoder"))
    pieces = pa.array([[1, 2], [], [10**6], [3]], pa.list_(pa.int32()))
    table = pa.table({"id": pa.array(range(4), pa.uint64()), "lang": ["en"] * 4, "pieces": pieces})
    found = embed_table(encoder, table)
    assert found.rows.tolist() == [0, 3]
    assert found.reasons[1] == "no_tokens"
    assert found.reasons.keys() == {1, 2}
    assert found.vectors.shape == (2, encoder.dim)
    encoder.model.tokens.weight.data[3] = np.nan
    assert embed_table(encoder, table).reasons[3] == "not_finite"
