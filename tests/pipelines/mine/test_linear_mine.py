"""What a mine opens, reads and writes grows as its shards do, not as their square."""

from pathlib import Path

import pyarrow as pa

from pipelines.mine.pair_stage import mine, pair_batches
from pipelines.planning.counted_files import Traffic, traffic
from tests.pipelines.mine.synthetic_graph import write_graph

ROWS = 4000


def mined(folder: Path, shards: int) -> tuple[Traffic, pa.Table]:
    asked = write_graph(folder, ROWS, shards)
    changes = {"edges_at_once": 1000, "rows_per_shard": ROWS // shards, "text_memory": 200_000}
    before = traffic()
    pairs = mine(asked.model_copy(update=changes))
    return traffic() - before, pa.concat_tables(list(pair_batches(pairs))).combine_chunks()


def test_files_and_bytes_grow_as_the_shards(tmp_path: Path) -> None:
    found = {shards: mined(tmp_path / str(shards), shards) for shards in (2, 8, 32)}
    (few, pairs), (more, as_many), (most, also) = found.values()
    assert pairs == as_many == also
    assert 1000 < len(pairs) < ROWS
    opened = (more.opens - few.opens) / 6, (most.opens - more.opens) / 24
    assert 0.8 < opened[1] / opened[0] < 1.2, "each further shard costs the same"
    assert opened[1] < 30
    for name in ("read", "written"):
        further = [(getattr(b, name) - getattr(a, name)) / n for a, b, n in ((few, more, 6), (more, most, 24))]
        assert further[1] < 1.5 * further[0], "a further shard costs its header and notes"
