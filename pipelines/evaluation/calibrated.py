"""A threshold for comparable corpora without gold: probe pairs added to them, as `mining.calibration` needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from encoder import default
from mining.calibration import Calibration, calibrate
from mining.errors import InputError
from mining.neighbours import KnnGraph
from mining.probes import add_probe_vectors
from mining.retrieval import Edges
from pipelines.evaluation.aligned import reservoir
from pipelines.evaluation.benchmark import graph_of
from pipelines.evaluation.benchmark_files import COMPRESSIONS, Texts
from pipelines.evaluation.comparable import Comparable
from pipelines.evaluation.sources import VectorSource

Miner = Callable[[KnnGraph, Texts, Texts], Edges]  # the pairs of a graph over these texts


class Seed(NamedTuple):
    """Known translations of the two languages."""

    source: Texts
    target: Texts


def read_seed(template: str, pair: str, size: int, random_seed: int) -> Seed:
    """`size` random pairs of the TSV `template`; its columns are in the order of `{source}` and `{target}` in it."""
    source, target = pair.split("-")
    if "{source}" not in template or "{target}" not in template:
        raise InputError(f"seed_pairs {template!r}: write {{source}} and {{target}} where the languages stand")
    name = template.format(source=source, target=target)
    path = next((Path(name + end) for end in COMPRESSIONS if Path(name + end).is_file()), None)
    if path is None:
        raise InputError(f"{name}: no such file of seed pairs")
    columns = list(zip(*reservoir(path, size, random_seed), strict=True)) or [(), ()]
    if template.rindex("{source}") > template.rindex("{target}"):
        columns.reverse()
    base = f"seed/{path.name}.sample-{size}-seed-{random_seed}"
    return Seed(
        Texts(f"{base}.{source}", list(columns[0]), source), Texts(f"{base}.{target}", list(columns[1]), target)
    )


class EmbeddedProbes(NamedTuple):
    """Vectors of probe pairs, and their texts; shipped probe vectors have none."""

    source: np.ndarray
    target: np.ndarray
    texts: Seed


def seed_probes(source: VectorSource, seed_pairs: Seed) -> EmbeddedProbes:
    """Probe pairs that are known translations."""
    return EmbeddedProbes(source.vectors(seed_pairs.source), source.vectors(seed_pairs.target), seed_pairs)


def shipped_probe_vectors(source: VectorSource, corpora: Comparable) -> EmbeddedProbes:
    """Probe pairs that come with the default encoder; another encoder is refused."""
    langs = corpora.source.lang or "", corpora.target.lang or ""
    found = default.probes(*langs, encoder=source.fingerprint)
    blank = [Texts("probe vectors", [""] * len(found.source), lang) for lang in langs]
    return EmbeddedProbes(found.source, found.target, Seed(*blank))


def calibrated(
    source: VectorSource, corpora: Comparable, probes: EmbeddedProbes, mine: Miner, k: int, random_seed: int
) -> Calibration:
    """What the probe pairs say about every threshold; gold is not looked at."""
    here, there = (source.vectors(text) for text in (corpora.source, corpora.target))
    probed = add_probe_vectors(here, there, probes.source, probes.target, random_seed)
    left = _joined(corpora.source, probes.texts.source, probed.source_pairs)
    right = _joined(corpora.target, probes.texts.target, probed.target_pairs)
    edges = mine(graph_of(probed.source, probed.target, k), left, right)
    return calibrate(
        edges.source,
        edges.target,
        edges.scores,
        n_src=len(probed.source),
        n_tgt=len(probed.target),
        probes=probed.rows,
        random_seed=random_seed,
    )


def best_threshold(found: Calibration) -> float:
    """The threshold of the highest estimated F1."""
    precision, recall = found.curve.precision, found.curve.recall
    if not len(precision):
        return float("inf")
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-12)
    return float(found.curve.threshold[int(np.argmax(f1))])


def _joined(corpus: Texts, probes: Texts, rows: Iterable[int]) -> Texts:
    return Texts(f"{corpus.name} with probes", [*corpus.lines, *(probes.lines[row] for row in rows)], corpus.lang)
