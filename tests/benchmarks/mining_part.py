"""A mining set cut down: all sentences of its gold pairs and some others, for encoders that are slow on a CPU.

    python -m tests.benchmarks.mining_part SET OUT PAIR... [--rows 2400]

F1 of a part is higher than that of the whole: there is less to mistake a sentence for.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from mining.files import atomic_text, iterate_lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("set", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("pairs", nargs="+")
    parser.add_argument("--rows", type=int, default=2400, help="of each side")
    options = parser.parse_args()
    for pair in options.pairs:
        cut(options.set / pair, options.out / pair, options.rows)


def cut(source: Path, out: Path, rows: int) -> None:
    """Write at most `rows` sentences of each side of a BUCC folder, all of the gold among them, in their order."""
    pair = source.name
    gold = [line.split("\t") for line in iterate_lines(str(source / f"{pair}.gold"))]
    out.mkdir(parents=True, exist_ok=True)
    for column, lang in enumerate(pair.split("-")):
        wanted = {ids[column] for ids in gold}
        sentences = dict(line.split("\t", 1) for line in iterate_lines(str(source / f"{pair}.{lang}.xz")))
        others = sorted(sentences.keys() - wanted)
        kept = set(random.Random(f"{pair} {lang}").sample(others, max(0, min(rows - len(wanted), len(others)))))
        _write(out / f"{pair}.{lang}", [item for item in sentences.items() if item[0] in kept | wanted])
    _write(out / f"{pair}.gold", gold)


def _write(path: Path, rows: Iterable[Sequence[str]]) -> None:
    with atomic_text(str(path)) as file:
        file.writelines("\t".join(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
