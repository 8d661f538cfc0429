"""Mined pairs against the true alignment, and the tables that show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.text import Text

from mining.even_rows import evenly_spread
from mining.files import read_lines
from mining.metrics import PairMetrics, is_gold, pair_metrics
from pipelines.datasets.manifest import Dataset
from pipelines.demo.demo_corpora import DemoCorpora
from pipelines.mine.pair_stage import pair_batches
from pipelines.runners.console_table import show_table


class ExamplePair(NamedTuple):
    """A mined pair to look at."""

    score: float
    english: str
    other: str
    true: bool


class MineScore(NamedTuple):
    """How the mine of one language went."""

    corpora: DemoCorpora
    pairs: Dataset
    metrics: PairMetrics
    samples: list[ExamplePair]


def score(corpora: DemoCorpora, pairs: Dataset, samples: int) -> MineScore:
    """Precision, recall and F1 of mined pairs, with some of them evenly down the ranking."""
    table = pa.concat_tables(list(pair_batches(pairs)))
    found = np.array([table["src_text"].to_pylist(), table["tgt_text"].to_pylist()], dtype=object).T.reshape(-1, 2)
    gold = np.array([line.split("\t") for line in read_lines(str(corpora.gold))], dtype=object)
    true = is_gold(found, gold)
    rows = evenly_spread(len(found), samples).tolist()
    chosen = [ExamplePair(table["score"][i].as_py(), str(found[i, 0]), str(found[i, 1]), bool(true[i])) for i in rows]
    return MineScore(corpora, pairs, pair_metrics(found, gold), chosen)


def show_scores(scores: Sequence[MineScore], console: Console) -> None:
    """A line for each language, and their means."""
    lines = [["", "English", "other", "true pairs", "mined", "right", "precision", "recall", "F1"]]
    for language in scores:
        measured, corpora = language.metrics, language.corpora
        counts = (*corpora.sentences, measured.gold, measured.found, measured.correct)
        shares = (measured.precision, measured.recall, measured.f1)
        lines.append([f"en-{corpora.language}", *(f"{n:,}" for n in counts), *(f"{100 * x:.1f}" for x in shares)])
    means = np.mean([language.metrics[:3] for language in scores], axis=0)
    lines.append(["mean", *[""] * 5, *(f"{100 * mean:.1f}" for mean in means)])
    show_table(lines, console, "mined pairs against the true alignment", end=1)


def show_before_and_after(before: Sequence[MineScore], after: Sequence[MineScore], console: Console) -> None:
    """Both mines of each language beside each other; a language that only one of them could mine is left out."""
    first = {score.corpora.language: score.metrics for score in before}
    second = {score.corpora.language: score.metrics for score in after if score.corpora.language in first}
    lines = [["", "mined", "right", "precision", "recall", "F1"]]
    for language, now in second.items():
        then = first[language]
        counts = [f"{a:,} → {b:,}" for a, b in ((then.found, now.found), (then.correct, now.correct))]
        lines.append([f"en-{language}", *counts, *_shares(then, now)])
    means = [np.mean([of[language][:3] for language in second], axis=0).tolist() for of in (first, second)]
    lines.append(["mean", "", "", *_shares(*means)])
    show_table(lines, console, "before and after training", end=1)


def _shares(then: Sequence[float], now: Sequence[float]) -> list[str]:
    """Precision, recall and F1, in percent."""
    return [f"{100 * a:.1f} → {100 * b:.1f}" for a, b in zip(then[:3], now[:3], strict=True)]


def show_samples(scores: Sequence[MineScore], console: Console) -> None:
    """Sample pairs, those that are not in the true alignment marked."""
    for language in scores:
        console.print(f"\nen-{language.corpora.language}", style="bold")
        for sample in language.samples:
            mark = Text("right", "green") if sample.true else Text("wrong", "red")
            # As Text, because sentences may hold what rich takes for markup.
            console.print(Text.assemble(f"  {sample.score:.3f} ", mark, f"  {sample.english}"), soft_wrap=True)
            console.print(Text(f"               {sample.other}"), soft_wrap=True)
