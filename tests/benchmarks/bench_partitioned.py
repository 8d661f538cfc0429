"""The partitioned graph against the exact one on real vectors: time, recall, gold pairs, and how time grows.

`ROWS=100000,200000 python -m tests.benchmarks partitioned`; needs ../shared/data/train. English against all other
languages, half of each side with a counterpart, embedded by the default encoder. `EXACT=` limits the exact runs.
"""

from __future__ import annotations

import lzma
import math
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from encoder import Encoder
from mining.neighbours import Neighbours, read_neighbours
from mining.threads import core_count
from pipelines.datasets.manifest import Dataset
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph
from tests.pipelines.graph.vector_datasets import write_side

DATA = Path("../shared/data/train")
K = 4


def main() -> None:
    if not DATA.exists():
        print(f"## partitioned: skipped, {DATA} is not here")
        return
    sizes = [int(size) for size in os.environ.get("ROWS", "50000,100000,200000").split(",")]
    most_exact = int(os.environ.get("EXACT", "200000"))
    texts = english_pairs(max(sizes) * 3 // 2)
    encoder = Encoder.load()
    english = encoder.encode([pair.english for pair in texts], "en")
    others = encode(encoder, texts)
    print(f"## partitioned search, dim {encoder.dim}, k {K}, English against all other languages, {core_count()} cores")
    print("rows a side | exact s | partitioned s | ratio | copies | recall@1 | recall@4 | mean error | gold of exact's")
    seconds = []
    with tempfile.TemporaryDirectory() as name:
        for size in sizes:
            folder = Path(name) / str(size)
            sides = [
                write_side(folder / "en", english[:size], 4),
                write_side(folder / "xx", others[size // 2 :][:size], 4),
            ]
            exact = timed(sides, folder, "exact") if size <= most_exact else None
            seconds.append(report(size, exact, timed(sides, folder, "partitioned")))
    if len(sizes) > 1:
        slope = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
        print(f"log-log slope of time {slope:.2f}")


class Pair(NamedTuple):
    english: str
    other: str
    lang: str


def english_pairs(count: int) -> list[Pair]:
    """Different English sentences with one translation each, of all languages in turn."""
    files = [path for path in sorted(DATA.glob("*/en-*.tsv.xz")) if path.parent.name != "ddtp"]
    seen: set[str] = set()
    pairs: list[Pair] = []
    with ExitStack() as stack:
        streams = [(path, stack.enter_context(lzma.open(path, "rt", encoding="utf-8"))) for path in files]
        while streams and len(pairs) < count:
            for path, stream in list(streams):
                line = stream.readline()
                if not line:
                    streams.remove((path, stream))
                    continue
                english, other = line.rstrip("\n").split("\t")[:2]
                if english not in seen and other not in seen:
                    seen |= {english, other}
                    pairs.append(Pair(english, other, path.name.removeprefix("en-").split(".")[0]))
    return pairs[:count]


def encode(encoder: Encoder, pairs: list[Pair]) -> np.ndarray:
    """The other side, each sentence in its language."""
    vectors = np.empty((len(pairs), encoder.dim), np.float32)
    for lang in sorted({pair.lang for pair in pairs}):
        rows = [row for row, pair in enumerate(pairs) if pair.lang == lang]
        vectors[rows] = encoder.encode([pairs[row].other for row in rows], lang)
    return vectors


def timed(sides: list[str], folder: Path, search: str) -> tuple[float, Dataset]:
    asked = GraphSettings(
        source=sides[0],
        target=sides[1],
        out=str(folder / search),
        k=K,
        search=search,
    )
    begun = time.perf_counter()
    graph = build_graph(asked)
    return time.perf_counter() - begun, graph


def report(size: int, exact: tuple[float, Dataset] | None, found: tuple[float, Dataset]) -> float:
    taken, graph = found
    measures = graph.manifest.measures
    recalls = [np.mean([measures[f"{side}_{name}"] for side in ("forward", "backward")]) for name in MEASURES]
    against, gold = f"- | {taken:.1f} | -", "-"
    if exact is not None:
        against = f"{exact[0]:.1f} | {taken:.1f} | {exact[0] / taken:.1f}"
        gold = f"{gold_found(graph, size) / max(gold_found(exact[1], size), 1):.2%}"
    figures = [f"{measures['copies']:.0f}", *(f"{recall:.2%}" for recall in recalls), gold]
    print(" | ".join([f"{size:,}", against, *figures]), flush=True)
    return taken


MEASURES = ("recall_at_1", "recall", "mean_error")


def gold_found(graph: Dataset, size: int) -> int:
    """Rows of the source whose translation is among their neighbours."""
    parts = [read_neighbours(graph.place(shard))[1] for shard in graph.shards if shard.role == "forward"]
    near = Neighbours(*map(np.concatenate, zip(*parts, strict=True)))
    truth = np.arange(len(near.ids)) - size // 2
    return int((near.ids == np.where(truth >= 0, truth, -2)[:, None]).any(1).sum())
