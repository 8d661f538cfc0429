"""What a mine opens, reads, writes and holds, in a process that has nothing else to do.

`python -m tests.benchmarks.mine_counts make FOLDER ROWS SHARDS` writes a graph, `... mine ...` mines it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pipelines.mine.pair_stage import mine
from pipelines.planning.counted_files import traffic
from tests.benchmarks.process_memory import most_megabytes
from tests.pipelines.mine.synthetic_graph import graph_settings, write_graph


def mined(folder: Path, rows: int, shards: int) -> str:
    """One line of a table."""
    changes = {"edges_at_once": 1 << 21, "rows_per_shard": -(-rows // shards), "text_memory": 1 << 26}
    before = traffic()
    mine(graph_settings(folder).model_copy(update=changes))
    counted = traffic() - before
    held = most_megabytes()
    sizes = f"{counted.read / 1e6:,.0f} | {counted.written / 1e6:,.0f}"
    return f"{shards} | {counted.opens:,} | {counted.opens / shards:.1f} | {sizes} | {time.process_time():.0f} | {held}"


if __name__ == "__main__":
    folder, rows, shards = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    if sys.argv[1] == "make":
        write_graph(folder, rows, shards)
    else:
        print(mined(folder, rows, shards), flush=True)
