"""One side of a mining run: its text, its vectors, and which rows take part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from mining.corpus import Lines, Repeats, find_repeats, scan, scan_texts
from mining.errors import InputError
from mining.vectors import Vectors, joined, open_vectors, some_rows, zero_rows


@dataclass(frozen=True)
class Side:
    """Rows of a corpus, followed by those of a seed bitext when there is one."""

    text: str
    lines: Lines  # of the corpus and the seed together
    vectors: Vectors  # rows that do not take part are kept out of the graph
    repeats: Repeats
    rows: int  # of the corpus alone
    counts: Counter[str]  # rows left out, by reason
    notes: tuple[str, ...]

    @property
    def mined(self) -> np.ndarray:
        """Mask of the rows that take part."""
        return ~np.isnan(self.vectors.inverse_norms)

    def without(self, rows: np.ndarray) -> Side:
        return replace(self, vectors=self.vectors.excluding(rows))


def open_side(
    vectors_url: str, text_url: str, *, dim: int | None, dtype: str | None, seed: tuple[list[str], str] | None = None
) -> Side:
    """Open and check one side; blank lines, repeated lines and zero vectors are left out and counted.

    `seed` is the sentences of a seed bitext and their vector file: they are put behind the corpus, and corpus lines
    that repeat one of them are left out, so that a withheld sentence is nowhere else.
    """
    lines = scan(text_url)
    vectors = open_vectors(vectors_url, dim=dim, dtype=dtype, rows=lines.count)
    # Whatever ids the file has, its rows are the lines of the text, and the graph counts them.
    vectors = replace(vectors, ids=np.arange(lines.count))
    zeros = zero_rows(vectors)
    rows = lines.count
    in_seed = np.zeros(rows, bool)
    if seed is not None:
        planted = scan_texts(seed[0], "the seed pairs")
        vectors = joined(vectors, open_vectors(seed[1], dim=dim, dtype=dtype, rows=planted.count))
        in_seed = np.isin(lines.hashes, planted.hashes)
        lines = Lines(
            lines.name,
            np.concatenate([lines.hashes, planted.hashes]),
            np.concatenate([lines.blank, planted.blank]),
            lines.size + planted.size,
        )
    repeats = find_repeats(lines.hashes)
    out = {"blank": lines.blank[:rows], "repeated": repeats.again[:rows], "in the seed": in_seed}
    counts: Counter[str] = Counter()
    left_out = np.zeros(len(vectors), bool)
    for reason, mask in out.items():
        counts[reason] = int((mask & ~left_out[:rows]).sum())
        left_out[:rows] |= mask
    counts["zero vector"] = int((~left_out[zeros]).sum())
    notes = [f"{vectors_url}: zero vectors in {some_rows(zeros)} are not mined"] if counts["zero vector"] else []
    side = Side(text_url, lines, vectors.excluding(left_out), repeats, rows, +counts, tuple(notes))
    if not side.mined.any():
        raise InputError(
            f"{text_url}: nothing left to mine ({', '.join(f'{n:,} {why}' for why, n in counts.items() if n)})"
        )
    return side
