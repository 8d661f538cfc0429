"""What `mine` tells at its end: a table, some pairs over the range of scores, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Console

from pipelines.commands.console_output import show
from pipelines.datasets.manifest import Counters, Dataset
from pipelines.datasets.measure_rows import measure_rows
from pipelines.mine.mine_settings import JobSettings
from pipelines.mine.pair_search import JobResult
from pipelines.mine.pair_shards import read_pair_shard
from pipelines.mine.score_curve import ScoreCurve

EXAMPLES = 10


def summarise(
    result: JobResult,
    written: int,
    out: str,
    work: str | None,
    *,
    about: Sequence[tuple[str, str]] = (),
    error: bool = False,
) -> None:
    """Show what came out of a mine; `about` comes first, and `work` is the work folder, where that stays.

    With `error` nothing goes to standard output, which the pairs take.
    """
    show("mined", [*about, *summary(result), (f"pairs in {out}", f"{written:,}")], error=error)
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    curve = ScoreCurve.read(result.pairs.url)
    if curve is not None and curve.warning:
        warning = f"the precision of these pairs is not known: {curve.warning}"
        console.print(f"note: {warning}", style="yellow", markup=False)
    for score, source, target in examples(result.pairs):
        console.print(f"{score:.4f}  {source}\n        {target}", markup=False)
    if work is not None:
        console.print(f"next: twinlode report {work}  (everything on one page)", markup=False)
        console.print(f"      twinlode review {work}  (judge a sample, get a threshold)", markup=False)


def summary(result: JobResult) -> list[tuple[str, str]]:
    """What was read, dropped and found, as lines of a table."""
    counters, measures = result.pairs.manifest.counters, result.pairs.manifest.measures
    graph = result.graph.manifest.measures
    return [
        *sentence_rows("source", result.source.manifest.counters),
        *sentence_rows("target", result.target.manifest.counters),
        *((f"graph {name}", figure) for name, figure in measure_rows(graph)),
        ("matched pairs", f"{counters.rows_in:,}"),
        *((f"dropped: {reason.replace('_', ' ')}", f"{count:,}") for reason, count in counters.dropped.items()),
        *(known_measures(measures) if result.pairs.rows else ()),
    ]


def foreign_sentences(settings: JobSettings, result: JobResult) -> list[str]:
    """Notes on the sides of which most was dropped for its language: the one that was given may be wrong."""
    from pipelines.prepare.corpus_notes import language_notes

    sides = (settings.source, result.source, "--src-lang"), (settings.target, result.target, "--tgt-lang")
    return [
        note
        for side, sentences, option in sides
        for note in language_notes(side.inputs, side.read, sentences.manifest.counters, option)
    ]


def examples(pairs: Dataset, count: int = EXAMPLES) -> Iterator[tuple[float, str, str]]:
    """Pairs from the best score to the lowest that was kept, evenly by rank."""
    wanted = np.unique(np.linspace(0, pairs.rows - 1, count).round().astype(int)) if pairs.rows else np.empty(0, int)
    first = 0
    for shard in pairs.shards:
        here = wanted[(wanted >= first) & (wanted < first + shard.rows)] - first
        if len(here):
            table = read_pair_shard(pairs.url, shard).select(["score", "src_text", "tgt_text"]).take(here)
            yield from zip(*(column.to_pylist() for column in table.columns), strict=True)
        first += shard.rows


def sentence_rows(side: str, counters: Counters) -> Iterator[tuple[str, str]]:
    """How many sentences of a side are mined, and why others are not."""
    yield f"{side} sentences", f"{counters.kept:,}"
    for reason, count in sorted(counters.dropped.items(), key=lambda item: -item[1]):
        yield f"{side} dropped: {reason.replace('_', ' ')}", f"{count:,}"


def known_measures(measures: dict[str, float]) -> Iterator[tuple[str, str]]:
    """What is known of the pairs, as a person reads it; nothing that is not known."""
    basis = "estimated " if "precision_low" in measures else ""
    interval = f" ({measures['precision_low']:.0%} to {measures['precision_high']:.0%})" if basis else ""
    if "threshold" in measures:
        yield "threshold", f"{measures['threshold']:.4f}"
    if "precision" in measures:
        yield f"{basis}precision", f"{measures['precision']:.1%}{interval}"
    elif basis:
        yield "estimated precision", f"not known{interval}"
    for name in ("recall", "f1"):
        if name in measures:
            yield f"{basis}{name}", f"{measures[name]:.1%}"
    if "true_pairs" in measures:
        yield "estimated true pairs", f"{measures['true_pairs']:,.0f}"
