"""Do neighbour means that are corrected by regression on true ones make better pairs of a partitioned graph?

`ROWS=80000 COPIES=6,8 python -m tests.benchmarks mean_correction`; needs ../shared/data/train. Vectors are those of
`bench_partitioned`. Means are fitted to the true ones of 1,000 rows a side, by a line, in five draws. The same lines
are also put on the means of the exact graph, which have nothing to correct: what they gain there is no correction.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mining.margin import Margin
from mining.metrics import best_point, label_curve
from mining.neighbours import KnnGraph
from mining.retrieval import BACKWARD, FORWARD, Edges, greedy_matching, scored_edges, united
from tests.benchmarks.bench_partitioned import embedded_text, sides_of, timed, whole_graph
from tests.pipelines.graph.vector_datasets import write_side

ROWS = int(os.environ.get("ROWS", "80000"))
COPIES = os.environ.get("COPIES", "6,8")
SAMPLE, DRAWS = 1000, 5


class Means(NamedTuple):
    source: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, graph: KnnGraph) -> Means:
        return cls(graph.forward.means(), graph.backward.means())


def main() -> None:
    print(f"## means corrected by regression: {ROWS:,} rows a side; F1, mean of {DRAWS} draws")
    print("copies | margin | exact | exact, same lines | partitioned | lines | a shift | true means", flush=True)
    sides, _ = sides_of(embedded_text(ROWS), ROWS)
    with tempfile.TemporaryDirectory(dir=os.environ.get("FOLDER")) as name:
        folder = Path(name)
        urls = [write_side(folder / side, rows, 2) for side, rows in zip(("en", "xx"), sides, strict=True)]
        exact = whole_graph(timed(urls, folder, "exact").graph)
        for copies in COPIES.split(","):
            (folder / copies).mkdir()
            found = whole_graph(timed(urls, folder / copies, "partitioned", copies=int(copies)).graph)
            for margin in (Margin.ratio, Margin.distance):
                figures = " | ".join(f"{value:.2f}" for value in compared(exact, found, margin))
                print(f"{copies} | {margin} | {figures}", flush=True)


def compared(exact: KnnGraph, found: KnnGraph, margin: Margin) -> list[float]:
    true, plain = Means.of(exact), Means.of(found)
    drawn = [[fitted_line(*side, seed) for side in zip(plain, true, strict=True)] for seed in range(DRAWS)]
    shifted = Means(*(ours + (theirs - ours).mean() for ours, theirs in zip(plain, true, strict=True)))
    return [
        best_f1(exact, true, margin),
        float(np.mean([best_f1(exact, moved(true, lines), margin) for lines in drawn])),
        best_f1(found, plain, margin),
        float(np.mean([best_f1(found, moved(plain, lines), margin) for lines in drawn])),
        best_f1(found, shifted, margin),
        best_f1(found, true, margin),
    ]


def fitted_line(ours: np.ndarray, true: np.ndarray, seed: int) -> np.ndarray:
    """Slope and intercept."""
    rows = np.random.default_rng(seed).choice(len(ours), SAMPLE, replace=False)
    return np.polyfit(ours[rows], true[rows], 1)


def moved(means: Means, lines: list[np.ndarray]) -> Means:
    return Means(*(np.polyval(line, side) for line, side in zip(lines, means, strict=True)))


def best_f1(graph: KnnGraph, means: Means, margin: Margin) -> float:
    """As `retrieve` with `max` finds pairs, but with these means; at the best threshold."""
    forward = scored_edges(graph.forward, means.source, means.target, margin, best_only=True)
    columns, sources, *backward = scored_edges(graph.backward, means.target, means.source, margin, best_only=True)
    both = zip(forward, (sources, columns, *backward), strict=True)
    bits = np.repeat(np.array([FORWARD, BACKWARD], np.uint8), [len(forward[0]), len(columns)])
    edges = united(Edges(*map(np.concatenate, both), bits))
    pairs = edges.take(greedy_matching(edges.source, edges.target, len(means.source), len(means.target)))
    right = pairs.source - ROWS // 2 == pairs.target
    return 100 * float(best_point(label_curve(pairs.scores, right, ROWS - ROWS // 2)).f1)
