"""`mine` without options where users meet it: pairs kept, right and claimed, few translations and many.

`python -m tests.benchmarks situations`; needs ../shared/data. Pairs of known translations are taken apart: a share of
them stays on both sides, the others on one. A pair that is not of the bitext counts as wrong, though some are right.
"""

from __future__ import annotations

import json
import lzma
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from pipelines.datasets.manifest import open_dataset
from tests.conftest import SHARED_DATA

Pair = tuple[str, str]


class Situation(NamedTuple):
    name: str
    langs: tuple[str, str]
    files: tuple[str, ...]  # one of two columns, or two of which the lines belong together
    both: int  # sentences with a translation on the other side
    alone: tuple[int, int]  # sentences of each side without one


NEWS, PACKAGES = ("train/wmt21-24/en-{}.tsv.xz",), ("train/ddtp/{}-en.tsv.xz",)
QUESTIONS = "eval/xquad-questions/questions.en.txt", "eval/xquad-questions/questions.{}.txt"
SITUATIONS = (
    Situation("news, all parallel", ("en", "de"), NEWS, 4000, (0, 0)),
    Situation("news, half", ("en", "de"), NEWS, 2000, (1000, 1000)),
    Situation("news, a twentieth", ("en", "de"), NEWS, 200, (2000, 2000)),
    Situation("news, nothing in common", ("en", "de"), NEWS, 0, (2000, 2000)),
    Situation("news, half", ("en", "zh"), NEWS, 1500, (750, 750)),
    Situation("news, 200 lines", ("en", "cs"), NEWS, 100, (100, 100)),
    Situation("packages, half", ("de", "en"), PACKAGES, 2500, (2500, 2500)),
    Situation("packages, a twentieth", ("de", "en"), PACKAGES, 250, (4750, 4750)),
    Situation("packages, nothing in common", ("ru", "en"), PACKAGES, 0, (4000, 4000)),
    Situation("packages, 300 lines against 20,000", ("de", "en"), PACKAGES, 300, (0, 20_000)),
    Situation("questions, all parallel", ("en", "es"), QUESTIONS, 1100, (0, 0)),
    Situation("questions, all parallel", ("en", "zh"), QUESTIONS, 1100, (0, 0)),
    Situation("questions, half", ("en", "hi"), QUESTIONS, 400, (390, 390)),
)


def read_lines(name: str) -> list[str]:
    path = SHARED_DATA / name
    with lzma.open(path, "rt") if path.suffix == ".xz" else path.open() as stream:
        return [line.rstrip("\n") for line in stream]


def read_pairs(situation: Situation) -> list[Pair]:
    """Pairs in the order of the languages, no text twice, shuffled."""
    other = next(lang for lang in situation.langs if lang != "en")
    sides = [read_lines(name.format(other)) for name in situation.files]
    if len(sides) == 1:
        sides = [list(column) for column in zip(*(line.split("\t")[:2] for line in sides[0]), strict=True)]
    pairs, seen = [], set[str]()
    for source, target in zip(*sides, strict=True):
        if source.strip() and target.strip() and not {source, target} & seen:
            pairs.append((source, target))
            seen |= {source, target}
    random.Random(0).shuffle(pairs)
    return pairs


def divided(pairs: Sequence[Pair], situation: Situation) -> tuple[list[str], list[str], set[Pair]]:
    """The lines of both sides, in an order that tells nothing, and the true pairs."""
    ends = situation.both, situation.both + situation.alone[0], situation.both + sum(situation.alone)
    both, left, right = pairs[: ends[0]], pairs[ends[0] : ends[1]], pairs[ends[1] : ends[2]]
    sides = [[pair[0] for pair in [*both, *left]], [pair[1] for pair in [*both, *right]]]
    for number, side in enumerate(sides):
        random.Random(number).shuffle(side)
    return sides[0], sides[1], set(both)


def mined(situation: Situation, folder: Path) -> list[str]:
    """A row of the table."""
    source, target, true = divided(read_pairs(situation), situation)
    files = [folder / f"{side}.txt" for side in ("source", "target")]
    for file, lines in zip(files, (source, target), strict=True):
        file.write_text("".join(f"{line}\n" for line in lines))
    out = folder / "pairs.jsonl"
    langs = "--src-lang", situation.langs[0], "--tgt-lang", situation.langs[1]
    command = [sys.executable, "-m", "pipelines.cli", "mine", *map(str, files), "-o", str(out), *langs]
    subprocess.run([*command, "--work", str(folder / "work")], check=True, capture_output=True)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    lines = [(source[row["src_line"] - 1], target[row["tgt_line"] - 1]) for row in rows]
    hits = len(true & set(lines))
    claimed = open_dataset(str(folder / "work/pairs"), "pairs").manifest.measures.get("precision")
    return [
        f"{'-'.join(situation.langs)} {situation.name}",
        f"{len(source):,} x {len(target):,}",
        f"{len(true):,}",
        f"{len(rows):,}",
        f"{hits / max(len(rows), 1):.1%}",
        "nothing" if claimed is None else f"{claimed:.1%}",
        f"{hits / len(true):.1%}" if true else "",
    ]


def main() -> None:
    if not SHARED_DATA.exists():
        print(f"## situations: skipped, {SHARED_DATA} is not here")
        return
    report = Table("what", "lines", "true pairs", "kept", "right", "claimed", "recall")
    for situation in SITUATIONS:
        with TemporaryDirectory() as folder:
            report.add_row(*mined(situation, Path(folder)))
    Console(width=120).print(report)


if __name__ == "__main__":
    main()
