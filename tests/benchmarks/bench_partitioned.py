"""The partitioned graph against the exact one on real vectors: time, recall, pairs, and how time grows.

`ROWS=100000,200000 python -m tests.benchmarks partitioned`; needs ../shared/data/train, takes `MORE_TEXT` (see
`real_pairs`). English against all other languages, half of each side with a counterpart, embedded by the default
encoder; every size has an even draw of the same text. Where there is no more of it, vectors moved by a random vector,
the same for both of a pair, and a little each. The exact graph is made of all rows up to `EXACT=` (200,000), with F1 of
its pairs; beyond of so many source rows that it takes a minute, its time multiplied, gold of these rows and no F1.
`COPIES=20` is the same for all sizes in place of what each chooses. `FAISS=250000` also searches with IVF-Flat and HNSW
at that size.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from encoder import Encoder
from mining.approximate import import_faiss
from mining.knn import knn_graph
from mining.margin import Margin
from mining.metrics import best_point, label_curve
from mining.neighbours import KnnGraph, Neighbours, read_neighbours
from mining.retrieval import Retrieval, retrieve
from mining.threads import core_count
from mining.vectors import from_array
from pipelines.datasets.manifest import Dataset
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph
from tests.benchmarks.real_pairs import DATA, Pair, mining_text
from tests.pipelines.graph.vector_datasets import write_side

K = 4
PART = 2e10  # comparisons of a part of an exact graph
QUERIES = 10_000
MOVED, APART = 0.7, 0.2  # lengths of the random vectors


def main() -> None:
    if not DATA.exists():
        print(f"## partitioned: skipped, {DATA} is not here")
        return
    sizes = [int(size) for size in os.environ.get("ROWS", "50000,100000,200000").split(",")]
    most_exact, with_faiss = int(os.environ.get("EXACT", "200000")), int(os.environ.get("FAISS", "0"))
    copies = int(os.environ.get("COPIES", "0")) or None
    text = embedded_text(max(sizes))
    real = f"{len(text.paired[0]):,} pairs, {len(text.english):,} English and {len(text.others):,} other sentences"
    print(f"## partitioned search, dim {text.english.shape[1]}, k {K}, {real}, {core_count()} cores")
    print(
        "rows a side | moved | exact s | partitioned s | ratio | exact CPU s | CPU s | ratio | copies | recall@1 | "
        "recall@4 | mean error | gold of exact's | F1 exact | F1 partitioned"
    )
    seconds = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("FOLDER")) as name:
        for size in sizes:
            folder = Path(name) / str(size)
            sides, moved = sides_of(text, size)
            urls = [write_side(folder / side, rows, 4) for side, rows in zip(("en", "xx"), sides, strict=True)]
            exact = timed(urls, folder, "exact") if size <= most_exact else part_of_exact(sides, folder)
            found = timed(urls, folder, "partitioned", copies)
            seconds.append(report(size, moved, exact, found))
            if size == with_faiss:
                search_with_faiss(*sides, folder)
    if len(sizes) > 1:
        slope = math.log(seconds[-1] / seconds[0]) / math.log(sizes[-1] / sizes[0])
        print(f"log-log slope of CPU time {slope:.2f}")


class EmbeddedText(NamedTuple):
    """Unit vectors of real text: those of pairs, and those without a counterpart."""

    paired: tuple[np.ndarray, np.ndarray]
    english: np.ndarray
    others: np.ndarray


def embedded_text(most: int) -> EmbeddedText:
    """What there is of each, up to so many: as much as sides of this many rows can have."""
    encoder, text = Encoder.load(), mining_text()
    pairs = text.pairs[:most]
    english = encoder.encode([pair.english for pair in pairs], "en", normalize=True)
    alone = encoder.encode(text.english[:most], "en", normalize=True)
    return EmbeddedText((english, encode(encoder, pairs)), alone, encode(encoder, text.others[:most]))


def sides_of(text: EmbeddedText, size: int) -> tuple[tuple[np.ndarray, np.ndarray], str]:
    """Half of the rows of each side have a counterpart, the source's last and the target's first; what is moved."""
    half, draw = size // 2, np.random.default_rng(size)
    gold = [rows[: size - half] for rows in text.paired]
    missing = size - half - len(gold[0])
    of, both = draw.integers(0, len(gold[0]), missing), moves(missing, text.english.shape[1], MOVED, draw)
    source, target = (np.concatenate([rows, moved(rows[of], both, draw)]) for rows in gold)
    alone = np.concatenate([text.paired[0][size - half :], text.english])[:half], text.others[:half]
    english, others = (more_rows(rows, half, draw) for rows in alone)
    told = f"{missing:,}, {half - len(alone[0]):,}, {half - len(alone[1]):,}"
    return (np.concatenate([english, source]), np.concatenate([target, others])), told


def more_rows(rows: np.ndarray, count: int, draw: np.random.Generator) -> np.ndarray:
    """These and, up to so many, rows near them."""
    missing = count - len(rows)
    both = moves(missing, rows.shape[1], MOVED, draw)
    return np.concatenate([rows, moved(rows[draw.integers(0, len(rows), missing)], both, draw)])


def moved(rows: np.ndarray, both: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    found = rows + both + moves(*rows.shape, APART, draw)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def moves(rows: int, dim: int, length: float, draw: np.random.Generator) -> np.ndarray:
    """Random vectors of this length."""
    return draw.standard_normal((rows, dim), np.float32) * np.float32(length / dim**0.5)


def encode(encoder: Encoder, pairs: list[Pair]) -> np.ndarray:
    """The other side, each sentence in its language."""
    vectors = np.empty((len(pairs), encoder.dim), np.float32)
    for lang in sorted({pair.lang for pair in pairs}):
        rows = [row for row, pair in enumerate(pairs) if pair.lang == lang]
        vectors[rows] = encoder.encode([pairs[row].other for row in rows], lang, normalize=True)
    return vectors


class Made(NamedTuple):
    """A graph, what it took, and of how large a part of the source rows it is."""

    seconds: float
    cpu: float
    graph: Dataset
    share: int = 1


def timed(sides: list[str], folder: Path, search: str, copies: int | None = None) -> Made:
    out = str(folder / search)
    asked = GraphSettings(source=sides[0], target=sides[1], out=out, k=K, search=search, copies=copies)
    begun, cpu = time.perf_counter(), time.process_time()
    graph = build_graph(asked)
    return Made(time.perf_counter() - begun, time.process_time() - cpu, graph)


def part_of_exact(sides: tuple[np.ndarray, np.ndarray], folder: Path) -> Made:
    """The exact graph of every n-th source row and all target rows."""
    every = math.ceil(len(sides[0]) * len(sides[1]) / PART)
    urls = [write_side(folder / "part", sides[0][::every], 1), str(folder / "xx")]
    made = timed(urls, folder, "exact")
    return Made(every * made.seconds, every * made.cpu, made.graph, every)


def report(size: int, moved: str, exact: Made, found: Made) -> float:
    measures = found.graph.manifest.measures
    recalls = [np.mean([measures[f"{side}_{name}"] for side in ("forward", "backward")]) for name in MEASURES]
    ours = whole_graph(found.graph)
    rows = np.arange(0, size, exact.share)
    found_gold = gold_found(ours.forward.ids[rows], rows, size)
    gold = found_gold / max(gold_found(whole_graph(exact.graph).forward.ids, rows, size), 1)
    f1 = ["-", f"{best_f1(ours, size):.2f}"]
    if exact.share == 1:
        f1[0] = f"{best_f1(whole_graph(exact.graph), size):.2f}"
    scaled = "in full" if exact.share == 1 else f"a part, {exact.share} times {exact.seconds / exact.share:.1f}"
    cpu = [f"{exact.cpu:.0f}", f"{found.cpu:.0f}", f"{exact.cpu / found.cpu:.1f}"]
    figures = [*cpu, f"{measures['copies']:.0f}", *(f"{recall:.2%}" for recall in recalls)]
    times = [f"{exact.seconds:.1f} ({scaled})", f"{found.seconds:.1f}", f"{exact.seconds / found.seconds:.1f}"]
    print(" | ".join([f"{size:,}", moved, *times, *figures, f"{gold:.2%}", *f1]), flush=True)
    return found.cpu


def whole_graph(graph: Dataset) -> KnnGraph:
    """Row numbers are ids in these datasets, but for a part of the source."""
    sides = []
    for role in ("forward", "backward"):
        parts = [read_neighbours(graph.place(shard))[1] for shard in graph.shards if shard.role == role]
        sides.append(Neighbours(*map(np.concatenate, zip(*parts, strict=True))))
    return KnnGraph(*sides)


def gold_found(ids: np.ndarray, rows: np.ndarray, size: int) -> int:
    """Of these source rows, those whose translation is among their neighbours."""
    truth = rows - size // 2
    return int((ids == np.where(truth >= 0, truth, -2)[:, None]).any(1).sum())


def best_f1(graph: KnnGraph, size: int) -> float:
    """Of the pairs by the distance margin, at the best threshold."""
    pairs = retrieve(graph, Retrieval.max, Margin.distance)
    right = pairs.source - size // 2 == pairs.target
    return 100 * float(best_point(label_curve(pairs.scores, right, size - size // 2)).f1)


def search_with_faiss(x: np.ndarray, y: np.ndarray, folder: Path) -> None:
    """Seconds for both directions, all rows: indexes built whole, a sample of the rows searched and its time scaled."""
    faiss = import_faiss()
    rows = np.random.default_rng(1).choice(len(x), QUERIES, replace=False)
    truth = knn_graph(from_array(x[rows], "sample"), from_array(y, "all"), K).forward.ids
    cells = int(4 * len(y) ** 0.5)
    flat = faiss.IndexFlatIP(y.shape[1])
    kinds = [
        ("IVF-Flat", faiss.IndexIVFFlat(flat, y.shape[1], cells, faiss.METRIC_INNER_PRODUCT), "nprobe"),
        ("HNSW", faiss.IndexHNSWFlat(y.shape[1], 32, faiss.METRIC_INNER_PRODUCT), "efSearch"),
    ]
    for name, index, effort in kinds:
        begun = Spent.now()
        index.train(y[:: max(1, len(y) // (40 * cells))])
        index.add(y)
        built = begun.since()
        for value in (16, 64, 256):
            faiss.ParameterSpace().set_index_parameter(index, effort, value)
            begun = Spent.now()
            found = index.search(x[rows], K)[1]
            searched = begun.since().times(len(x) / QUERIES)
            recall = (truth[:, :, None] == found[:, None, :]).any(2).mean()
            first = (truth[:, 0] == found[:, 0]).mean()
            both = [f"{2 * (one + other):.0f}" for one, other in zip(built, searched, strict=True)]
            print(
                f"{name}, {effort} {value}: {both[0]} s, {both[1]} CPU s ({built.cpu:.0f} CPU s to build, "
                f"{searched.cpu:.0f} to search a direction), recall@1 {first:.2%}, @{K} {recall:.2%}",
                flush=True,
            )


class Spent(NamedTuple):
    """Seconds by the clock and of the processor."""

    seconds: float
    cpu: float

    @classmethod
    def now(cls) -> Spent:
        return cls(time.perf_counter(), time.process_time())

    def since(self) -> Spent:
        now = Spent.now()
        return Spent(now.seconds - self.seconds, now.cpu - self.cpu)

    def times(self, factor: float) -> Spent:
        return Spent(factor * self.seconds, factor * self.cpu)


MEASURES = ("recall_at_1", "recall", "mean_error")
