"""Pairs a second through each filter, and through all but language identification together."""

from __future__ import annotations

import random
import time

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from mining.filters import FilterSettings, TextPairs, apply_filters

PAIRS = 100_000
SYLLABLES = ["ba", "ce", "for", "gun", "hal", "ist", "ken", "lor", "ner", "pra", "quo", "sten", "tion", "ung", "ver"]


def sentences(seed: int) -> list[str]:
    """Made-up sentences of some 150 characters, one in five with a number."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(20_000)]
    texts = (" ".join(rng.choices(words, k=rng.randint(10, 34))).capitalize() for _ in range(PAIRS))
    return [f"{text} 1998." if row % 5 == 0 else f"{text}." for row, text in enumerate(texts)]


def main() -> None:
    table = pa.table({"src_text": sentences(1), "tgt_text": sentences(2)})
    settings = FilterSettings()
    apply_filters(table.slice(0, 100), settings, "de", "en")  # compiles and loads what there is to
    report = Table("filter", "pairs a second", title=f"Filters, {PAIRS:,} pairs, one thread")
    pairs = TextPairs(table["src_text"].combine_chunks(), table["tgt_text"].combine_chunks(), "de", "en")
    for rule in settings.active():
        began = time.perf_counter()
        rule.accept(rule.score(pairs))
        report.add_row(rule.reason, f"{PAIRS / (time.perf_counter() - began):,.0f}")
    began = time.perf_counter()
    apply_filters(table, settings.model_copy(update={"language": None}), "de", "en")
    report.add_row("all but language", f"{PAIRS / (time.perf_counter() - began):,.0f}")
    Console().print(report)


if __name__ == "__main__":
    main()
