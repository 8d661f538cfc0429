"""Estimated against true precision: encoders of every strength, few and many probe pairs, of this and other domains.

    ENCODER=folder DATA=../shared/data python -m tests.benchmarks calibration

The encoder is weakened by cutting its vectors and by noise. Corpora have at most 3,000 sentences a side: true pairs
and sentences without a counterpart, of Europarl (the mining sets, not trained on) and of news; probes are of the same
text, of the other, or of Tatoeba.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from encoder import Encoder
from mining.calibration import calibrate
from mining.errors import UnreachablePrecision
from mining.files import iterate_lines
from mining.knn import knn_graph
from mining.probes import ProbeRows, add_probe_vectors
from mining.retrieval import Edges, retrieve
from mining.vectors import from_array

ROWS = 3000
KEPT = 4  # one cell of the grid in so many is tried, all values of each axis equally often
DOMAINS = [*itertools.product(("europarl", "news"), ("europarl", "news", "tatoeba"))]
STRENGTHS = {"512": (512, 0.0), "64": (64, 0.0), "32": (32, 0.0), "noise": (512, 1.6), "16": (16, 0.0), "10": (10, 0.0)}
SEEDS, SHARES, TARGETS = (80, 200, 500, 2000), (0.01, 0.05, 0.2, 0.5, 0.9, 1.0), (0.6, 0.7, 0.8, 0.9, 0.95)


class Pool(NamedTuple):
    """Vectors of true pairs, row by row, and of sentences of each side without a counterpart."""

    source: np.ndarray
    target: np.ndarray
    alone_source: np.ndarray
    alone_target: np.ndarray


class Cell(NamedTuple):
    corpus: str
    probes: str
    strength: str
    seeds: int
    share: float


class Outcome(NamedTuple):
    cell: Cell
    p_at_1: float
    target: float
    estimate: float
    low: float
    high: float
    truth: float
    reliable: bool
    reason: str


def main() -> None:
    if "ENCODER" not in os.environ:
        sys.exit("calibration: set ENCODER to the folder of an encoder")
    encoder, data = Encoder.load(os.environ["ENCODER"]), Path(os.environ.get("DATA", "../shared/data"))
    pools = {name: embed(encoder, *texts) for name, texts in read(data).items()}
    ways = itertools.product(DOMAINS, STRENGTHS, SEEDS, SHARES)
    every = [Cell(corpus, probes, strength, seeds, share) for (corpus, probes), strength, seeds, share in ways]
    order = np.random.default_rng(0).permutation(len(every))[: len(every) // KEPT]
    outcomes = [outcome for number in np.sort(order) for outcome in measure(pools, every[number], int(number))]
    print(f"## calibration: {len(order)} mines, each at the thresholds for {', '.join(map(str, TARGETS))}")
    show(outcomes)


def read(data: Path) -> dict[str, tuple[list[tuple[str, str]], list[str], list[str]]]:
    """True pairs and lone sentences of each domain, German and English."""
    europarl: tuple[list, list, list] = ([], [], [])
    for split in ("test", "dev"):
        base = data / f"eval/mining/europarl-{split}/de-en/de-en"
        sides = [dict(line.split("\t", 1) for line in lines(Path(f"{base}.{lang}.xz"))) for lang in ("de", "en")]
        gold = [line.split("\t") for line in lines(Path(f"{base}.gold"))]
        europarl[0].extend((sides[0][a], sides[1][b]) for a, b in gold)
        for side, part in enumerate(europarl[1:]):
            used = {pair[side] for pair in gold}
            part.extend([text for name, text in sides[side].items() if name not in used][:ROWS])
    news = unique(reversed(line.split("\t")) for line in lines(data / "train/wmt21-24/en-de.tsv.xz"))
    tests = [lines(data / f"eval/tatoeba-v1/tatoeba.deu-eng.{lang}") for lang in ("deu", "eng")]
    more = [reversed(line.split("\t")) for line in lines(data / "train/tatoeba/en-de.tsv.xz")[:1500]]
    return {
        "europarl": europarl,
        "news": (news[4000:], [pair[0] for pair in news[:2000]], [pair[1] for pair in news[2000:4000]]),
        "tatoeba": (unique([*zip(*tests, strict=True), *more]), [], []),
    }


def unique(pairs: Iterable[Iterable[str]]) -> list[tuple[str, str]]:
    """Pairs in random order, each sentence once."""
    seen: set[str] = set()
    found = []
    for source, target in pairs:
        if not {source, target} & seen:
            seen |= {source, target}
            found.append((source, target))
    return [found[row] for row in np.random.default_rng(0).permutation(len(found))]


def lines(path: Path) -> list[str]:
    return list(iterate_lines(str(path)))


def embed(encoder: Encoder, pairs: list[tuple[str, str]], *alone: list[str]) -> Pool:
    columns = [*(list(column) for column in zip(*pairs, strict=True)), *alone]
    found = (encoder.encode(part, lang) for part, lang in zip(columns, ("de", "en", "de", "en"), strict=True))
    return Pool(*(part.astype(np.float32) for part in found))


def measure(pools: dict[str, Pool], cell: Cell, random_seed: int) -> Iterator[Outcome]:
    """Mine one corpus with probes in it, and compare what is estimated with what is true."""
    rng = np.random.default_rng(random_seed)
    corpus, probes = pools[cell.corpus], pools[cell.probes]
    order = rng.permutation(len(corpus.source))
    room = len(order) - (cell.seeds if cell.corpus == cell.probes else 0)
    n = min(ROWS, len(corpus.alone_source), int(room / cell.share))
    true = round(cell.share * n)
    chosen = order[true:] if cell.corpus == cell.probes else rng.permutation(len(probes.source))
    pairs, chosen = order[:true], chosen[: cell.seeds]
    alone = [rng.permutation(len(part))[: n - true] for part in (corpus.alone_source, corpus.alone_target)]
    weaken = weakened(*STRENGTHS[cell.strength], rng)
    source = weaken(np.concatenate([corpus.source[pairs], corpus.alone_source[alone[0]]]))
    target = weaken(np.concatenate([corpus.target[pairs], corpus.alone_target[alone[1]]]))
    probed = add_probe_vectors(
        source, target, weaken(probes.source[chosen]), weaken(probes.target[chosen]), random_seed
    )
    edges = retrieve(knn_graph(from_array(probed.source), from_array(probed.target), 4))
    p_at_1 = float(((source[:true] @ target.T).argmax(1) == np.arange(true)).mean())
    yield from compare(cell, edges, probed.rows, (len(probed.source), len(probed.target)), n, true, p_at_1)


def weakened(dim: int, noise: float, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    def unit(vectors: np.ndarray) -> np.ndarray:
        return (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)).astype(np.float32)

    return lambda vectors: unit(
        unit(vectors[:, :dim]) + noise / np.sqrt(dim) * rng.standard_normal((len(vectors), min(dim, vectors.shape[1])))
    )


def compare(
    cell: Cell, edges: Edges, rows: ProbeRows, sizes: tuple[int, int], n: int, true: int, p_at_1: float
) -> Iterator[Outcome]:
    found = calibrate(edges.source, edges.target, edges.scores, n_src=sizes[0], n_tgt=sizes[1], probes=rows)
    of_corpus = (edges.source < n) & (edges.target < n)
    right, scores = (edges.source == edges.target) & (edges.source < true), edges.scores
    for target in TARGETS:
        try:
            point = found.threshold_for(target)
        except UnreachablePrecision:
            continue
        truth = float(right[of_corpus & (scores >= point.threshold)].mean())
        yield Outcome(cell, p_at_1, target, point.precision, *point.interval, truth, point.reliable, point.reason)


def show(outcomes: list[Outcome]) -> None:
    claimed = [outcome for outcome in outcomes if outcome.reliable]
    print(f"{len(outcomes)} thresholds, {len(claimed)} with a reliable estimate")
    print(
        "| | thresholds | claimed | mean error | worst, too high | worst, too low | interval holds | unclaimed: worst |"
    )
    print("|---|---|---|---|---|---|---|---|")
    row("all", outcomes)
    keys: list[Callable[[Outcome], str]] = [
        lambda o: f"{o.cell.corpus}, probes {o.cell.probes}",
        lambda o: f"P@1 {20 * min(int(5 * o.p_at_1), 4):d} to {20 * min(int(5 * o.p_at_1), 4) + 20:d}",
        lambda o: f"{o.cell.seeds} seed pairs",
        lambda o: f"true pairs {o.cell.share:.0%}",
        lambda o: f"target {o.target:g}",
    ]
    for key in keys:
        for name in sorted({key(outcome) for outcome in outcomes}, key=lambda text: (len(text), text)):
            row(name, [outcome for outcome in outcomes if key(outcome) == name])
    reasons = Counter(" ".join(filter(str.isalpha, o.reason.split()[-4:])) for o in outcomes if not o.reliable)
    print("unclaimed because:", dict(reasons))


def row(name: str, outcomes: list[Outcome]) -> None:
    claimed = [outcome for outcome in outcomes if outcome.reliable]
    errors = np.array([100 * (o.estimate - o.truth) for o in claimed] or [np.nan])
    holds = np.mean([o.low - 0.005 <= o.truth <= o.high + 0.005 for o in claimed]) if claimed else np.nan
    others = max((abs(100 * (o.estimate - o.truth)) for o in outcomes if not o.reliable), default=np.nan)
    print(
        f"| {name} | {len(outcomes)} | {len(claimed)} | {np.abs(errors).mean():.1f} | {max(errors.max(), 0):.1f} | "
        f"{min(errors.min(), 0):.1f} | {holds:.0%} | {others:.0f} |"
    )
