"""What `prepare` and a mine open, read, write and hold at growing numbers of parts and shards.

`ROWS=20000000 SHARDS=40,160,640 python -m tests.benchmarks scale`, or `make bench-scale`; each run is a process.
`PLANNED=100000,1000000:partitioned` are the lines of mines whose plans are checked, and how these search, see
`plan_check`. `PARTS=plan` makes only that table.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.benchmarks import plan_check
from tests.benchmarks.prepare_counts import counted_prepare, write_corpus
from tests.benchmarks.process_memory import most_megabytes

ROWS = int(os.environ.get("ROWS", "1000000"))
SHARDS = os.environ.get("SHARDS", "10,40,160")


def main() -> None:
    titles = {
        "prepare": f"{ROWS:,} lines in parts, a hash prefix and a shard for each",
        "mine": f"a graph of {ROWS:,} rows a side",
    }
    parts = os.environ.get("PARTS", "prepare,mine,plan").split(",")
    for stage, title in titles.items():
        if stage not in parts:
            continue
        print(f"## scale: {stage} of {title}, by one process", flush=True)
        print("shards a side | opens | opens a shard | read MB | written MB | CPU s | largest memory MB", flush=True)
        rows = [_measured_row(stage, shards) for shards in SHARDS.split(",")]
        if len(rows) > 1:
            print(f"growth by shards: {growth(rows)}", flush=True)
    if "plan" in parts:
        plan_check.main()


def _measured_row(stage: str, shards: str) -> str:
    with tempfile.TemporaryDirectory(dir=os.environ.get("FOLDER")) as folder:
        for command in _commands(stage, folder, shards):
            told = subprocess.run(
                [sys.executable, "-m", *command], check=True, stdout=subprocess.PIPE, text=True
            ).stdout
            print(told, end="", flush=True)
    return told.splitlines()[-1]


def growth(rows: Sequence[str]) -> str:
    """How opens and bytes of a table grow: powers of the shards, where 1 is linear and 2 their square."""
    cells = np.array([[float(cell.replace(",", "")) for cell in row.split("|")] for row in rows])
    powers = np.polyfit(np.log(cells[:, 0]), np.log(np.maximum(cells[:, [1, 3, 4]], 1)), 1)[0]
    return ", ".join(f"{name} {power:.2f}" for name, power in zip(("opens", "read", "written"), powers, strict=True))


def _commands(stage: str, folder: str, shards: str) -> list[list[str]]:
    """The last of them measures itself."""
    if stage == "prepare":
        return [[__name__, folder, shards]]
    place = f"{folder}/graph", str(ROWS), shards
    return [["tests.benchmarks.mine_counts", what, *place] for what in ("make", "mine")]


def measured(folder: Path, shards: int) -> None:
    """`prepare`, in a process of its own."""
    begun = time.process_time()
    write_corpus(folder / "corpus.txt", ROWS)
    counted = counted_prepare(folder / "corpus.txt", folder / "sentences", ROWS, shards)[0]
    held = most_megabytes()
    sizes = f"{counted.read / 1e6:,.0f} | {counted.written / 1e6:,.0f}"
    taken = time.process_time() - begun
    print(f"{shards} | {counted.opens:,} | {counted.opens / shards:.1f} | {sizes} | {taken:.0f} | {held}", flush=True)


if __name__ == "__main__":
    measured(Path(sys.argv[1]), int(sys.argv[2]))
