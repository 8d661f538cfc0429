"""The vectors of a table of sentences: a bad sentence costs itself, a bad device is an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch

from encoder.inference import Encoder
from encoder.tokens import Tokens
from mining.errors import InputError
from pipelines.datasets.manifest import Shard
from pipelines.datasets.sentences import tokens_of

NO_TOKENS, NOT_FINITE = "no_tokens", "not_finite"
MOST_DEAD = 0.01  # of a shard; a single dead sentence is always let pass
_FINITE_ROWS = 4096


class EmbeddedRows(NamedTuple):
    """The vectors of `rows` of a table, and for each other row the reason why it has none."""

    rows: np.ndarray
    vectors: np.ndarray  # (rows, dim) float32
    reasons: dict[int, str]
    lengths: np.ndarray  # tokens of every row, zero where unknown


def embed_table(encoder: Encoder, table: pa.Table) -> EmbeddedRows:
    """Vectors of the sentences of a shard; one bad sentence costs itself and no other."""
    tokens = _tokens(encoder, table)
    reasons: dict[int, str] = dict.fromkeys(np.flatnonzero(tokens.lengths == 0).tolist(), NO_TOKENS)

    def encode(rows: np.ndarray) -> np.ndarray:
        return encode_within_memory(encoder, tokens if len(rows) == len(table) else tokens.take(rows))

    rows, vectors = survive(encode, np.flatnonzero(tokens.lengths > 0), encoder, reasons)
    good = finite(vectors)
    if not good.all():
        reasons |= dict.fromkeys(rows[~good].tolist(), NOT_FINITE)
        rows, vectors = rows[good], vectors[good]
    return EmbeddedRows(rows, vectors, reasons, tokens.lengths)


def encode_within_memory(encoder: Encoder, tokens: Tokens) -> np.ndarray:
    """Vectors of all sentences; a device that runs out of memory gets half the tokens at once from now on."""
    while True:
        try:
            return encoder.encode_tokens(tokens)
        except torch.OutOfMemoryError:
            if encoder.batch_tokens <= tokens.lengths.max():  # a batch is one sentence already
                raise
            encoder.batch_tokens //= 2
            torch.cuda.empty_cache()


def survive(
    encode: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, encoder: Encoder, reasons: dict[int, str]
) -> tuple[np.ndarray, np.ndarray]:
    """The rows that can be encoded and their vectors; what fails is halved until each row that fails alone is known.

    An error of the device is no fault of a row: it is raised, so that the engine tries again elsewhere.
    """
    nothing = np.empty((0, encoder.dim), np.float32)
    if not len(rows):
        return rows, nothing
    try:
        return rows, encode(rows)
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        if _is_of_device(error, encoder):
            raise
        if len(rows) == 1:
            reasons[int(rows[0])] = type(error).__name__
            return rows[:0], nothing
        halves = [survive(encode, half, encoder, reasons) for half in np.array_split(rows, 2)]
        kept, vectors = zip(*halves, strict=True)
        return np.concatenate(kept), np.concatenate(vectors)


def _is_of_device(error: Exception, encoder: Encoder) -> bool:
    if isinstance(error, torch.OutOfMemoryError | torch.AcceleratorError):
        return True
    return isinstance(error, RuntimeError) and encoder.device.type != "cpu"  # libraries on a GPU raise nothing finer


def require_few_dead(sentences: Shard, embedded: EmbeddedRows) -> None:
    """Refuse a shard of which more than a hundredth failed: that is no bad sentence, but a bad encoder or machine."""
    failed = Counter(reason for reason in embedded.reasons.values() if reason != NO_TOKENS)
    rows = len(embedded.lengths)
    if failed.total() > max(1, rows * MOST_DEAD):
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in failed.most_common())
        raise InputError(
            f"{failed.total():,} of {rows:,} sentences of {sentences.name} cannot be embedded ({reasons}); "
            "check the encoder and the device, then run the same command again"
        )


def finite(vectors: np.ndarray) -> np.ndarray:
    """The rows that hold neither NaN nor infinity, found without a temporary array as large as the vectors."""
    good = np.empty(len(vectors), bool)
    for first in range(0, len(vectors), _FINITE_ROWS):
        block = slice(first, first + _FINITE_ROWS)
        good[block] = np.isfinite(vectors[block]).all(1)
    return good


def _tokens(encoder: Encoder, table: pa.Table) -> Tokens:
    """The pieces that `prepare` cut with this encoder, or those that the encoder cuts now."""
    if "pieces" in table.column_names:
        tokens = tokens_of(table)
        return tokens.truncate(encoder.model.max_tokens) if encoder.model.max_tokens else tokens
    languages = table["lang"].unique().to_pylist()
    return encoder.tokenize(table["text"].to_pylist(), languages[0] if len(languages) == 1 else None)
