"""What `prepare` opens, reads and writes grows as its parts and shards do, not as their product."""

from pathlib import Path

import pyarrow as pa

from pipelines.datasets.sentences import read_shard
from tests.benchmarks.prepare_counts import counted_prepare, write_corpus

ROWS = 20_000


def test_files_and_bytes_grow_as_the_parts(tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus.txt", ROWS)
    counted, texts = [], []
    for cuts in (4, 16, 64):
        files, made = counted_prepare(tmp_path / "corpus.txt", tmp_path / str(cuts), ROWS, cuts)
        counted.append(files)
        texts.append(
            pa.concat_tables([read_shard(made.shard_url(shard), ["id", "line", "text"]) for shard in made.shards])
        )
    assert texts[0] == texts[1] == texts[2]
    assert 0.7 * ROWS < len(texts[0]) < 0.9 * ROWS
    few, more, most = counted
    for name in ("opens", "read", "written"):
        further = [(getattr(b, name) - getattr(a, name)) / n for a, b, n in ((few, more, 12), (more, most, 48))]
        assert further[1] < 1.3 * further[0], f"{name}: each further part costs the same"
    assert most.opens < 20 * 64
