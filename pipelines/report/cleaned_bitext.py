"""The report of a cleaned bitext: one HTML file of reasons, probabilities and examples near the threshold."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mining.files import atomic_text
from pipelines.clean.clean_stage import UNLIKELY, Cleaned
from pipelines.report.page import asset, render

_BARS = 50
_EXAMPLES = 40  # of each kind
_BY_REASON = 5
_LONGEST = 400  # characters of an example


class Bar(NamedTuple):
    """A bin of the histogram."""

    height: float
    title: str
    low: bool


class Example(NamedTuple):
    """A row of the bitext as it is shown."""

    line: int
    probability: str
    cosine: str
    margin: str
    reason: str
    source: str
    target: str


class ExampleRows(NamedTuple):
    """Rows of one kind."""

    title: str
    sentence: str
    rows: list[Example]


def write_clean_report(
    url: str, path: str, cleaned: Cleaned, summary: Sequence[tuple[str, str]], tables: Iterable[pa.Table]
) -> None:
    """`summary` are the figures of the run, `tables` its scored chunks, read once."""
    collected = _Collected()
    for table in tables:
        collected.add(table)
    page = render(
        asset("cleaned.html.j2"),
        path=path,
        tiles=[row for row in summary if not row[0].startswith("rejected")],
        reasons=[
            (reason, f"{count:,}", f"{count / max(cleaned.rows, 1):.1%}", ", ".join(map(str, lines)))
            for reason, (count, lines) in cleaned.reasons.items()
        ],
        bars=_bars(collected.counts, cleaned.point.probability),
        samples=collected.examples(),
    )
    with atomic_text(url) as stream:
        stream.write(page)


class _Collected:
    """What the report shows of all chunks; no more than that is kept."""

    def __init__(self) -> None:
        self.counts = np.zeros(_BARS, np.int64)
        self._doubtful: list[tuple[float, int, Example]] = []  # kept, the least probable
        self._missed: list[tuple[float, int, Example]] = []  # rejected by the classifier, the most probable
        self._others: dict[str, list[Example]] = {}

    def add(self, table: pa.Table) -> None:
        values = np.asarray(table["probability"].drop_null())
        self.counts += np.bincount(np.minimum((values * _BARS).astype(int), _BARS - 1), minlength=_BARS)
        for row in table.to_pylist():
            reason, chance = row["reason"], row["probability"]
            if reason is None:
                _offer(self._doubtful, -chance, row)
            elif reason == UNLIKELY:
                _offer(self._missed, chance, row)
            elif len(few := self._others.setdefault(reason, [])) < _BY_REASON:
                few.append(_example(row))

    def examples(self) -> Iterator[ExampleRows]:
        yield ExampleRows("Kept, but least sure", "The pairs just above the threshold.", _ordered(self._doubtful))
        yield ExampleRows("Rejected, but most likely right", "The pairs just below it.", _ordered(self._missed))
        others = [example for few in self._others.values() for example in few]
        yield ExampleRows("Rejected for other reasons", f"The first {_BY_REASON} of each.", others)


def _offer(heap: list[tuple[float, int, Example]], key: float, row: dict[str, Any]) -> None:
    """Keep the rows of the largest keys."""
    if len(heap) < _EXAMPLES or key > heap[0][0]:
        change = heapq.heappush if len(heap) < _EXAMPLES else heapq.heappushpop
        change(heap, (key, -row["line"], _example(row)))


def _ordered(heap: list[tuple[float, int, Example]]) -> list[Example]:
    return [example for _, _, example in sorted(heap, key=lambda item: item[:2], reverse=True)]


def _example(row: dict[str, Any]) -> Example:
    shown = {name: "" if row[name] is None else f"{row[name]:.3f}" for name in ("probability", "cosine", "margin")}
    texts = {name: (row[name] or "")[:_LONGEST] for name in ("source", "target")}
    reason = "; ".join(filter(None, [row["reason"], row.get("why")]))
    return Example(line=row["line"], reason=reason, **shown, **texts)


def _bars(counts: np.ndarray, threshold: float) -> list[Bar]:
    heights = np.log1p(counts) / max(np.log1p(counts.max()), 1e-9)
    return [
        Bar(
            round(100 * float(height), 1),
            f"{place / _BARS:.2f} to {(place + 1) / _BARS:.2f}: {count:,}",
            place < int(threshold * _BARS),
        )
        for place, (height, count) in enumerate(zip(heights, counts.tolist(), strict=True))
    ]
