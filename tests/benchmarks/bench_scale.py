"""What a mine opens, reads, writes and holds at growing numbers of shards, and the plan's figures for larger corpora.

`ROWS=20000000 SHARDS=40,160,640 python -m tests.benchmarks scale`, or `make bench-scale`; each mine is a process.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pipelines.mine.pair_stage import mine
from pipelines.planning.counted_files import traffic
from tests.pipelines.mine.synthetic_graph import write_graph

ROWS = int(os.environ.get("ROWS", "1000000"))
SHARDS = os.environ.get("SHARDS", "10,40,160")


def main() -> None:
    print(f"## scale: a graph of {ROWS:,} rows a side, mined by one process", flush=True)
    print("shards a side | opens | opens a shard | read MB | written MB | CPU s | largest memory MB", flush=True)
    for shards in SHARDS.split(","):
        with tempfile.TemporaryDirectory(dir=os.environ.get("FOLDER")) as folder:
            subprocess.run([sys.executable, "-m", __name__, folder, shards], check=True)


def measured(folder: str, shards: int) -> None:
    """One mine, in a process of its own."""
    asked = write_graph(Path(folder) / "graph", ROWS, shards)
    changes = {"edges_at_once": 1 << 21, "rows_per_shard": -(-ROWS // shards), "text_memory": 1 << 26}
    before, begun = traffic(), time.process_time()
    mine(asked.model_copy(update=changes))
    counted = traffic() - before
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    sizes = f"{counted.read / 1e6:,.0f} | {counted.written / 1e6:,.0f}"
    taken = time.process_time() - begun
    print(f"{shards} | {counted.opens:,} | {counted.opens / shards:.1f} | {sizes} | {taken:.0f} | {held}", flush=True)


if __name__ == "__main__":
    measured(sys.argv[1], int(sys.argv[2]))
