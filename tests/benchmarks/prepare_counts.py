"""What `prepare` opens, reads and writes of one corpus that is cut into ever more parts, hash prefixes and shards."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import numpy as np

from pipelines.datasets.manifest import Dataset
from pipelines.planning.counted_files import PROTOCOL, Traffic, traffic
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.sentence_stage import prepare
from pipelines.runners.runner import RunnerSettings

_LINE = 60  # bytes, as the stage itself takes a line to have


def write_corpus(path: Path, rows: int) -> None:
    """Lines of one length, of which one in four was there before."""
    draw = np.random.default_rng(0)
    numbers = np.where(draw.random(rows) < 0.25, draw.integers(0, rows // 4, rows), np.arange(rows))
    with path.open("w") as stream:
        stream.writelines(f"{f'a sentence with the number {number}'.ljust(_LINE - 1, '.')}\n" for number in numbers)


def counted_prepare(corpus: Path, out: Path, rows: int, cuts: int) -> tuple[Traffic, Dataset]:
    """The corpus in `cuts` parts, a hash prefix for each, and about as many shards, by this process."""
    asked = PrepareSettings(
        inputs=[f"{PROTOCOL}://{corpus}"],
        out=f"{PROTOCOL}://{out}",
        read=ReadSettings(lang="en"),
        lang_filter="assume",
        rows_per_shard=-(-rows // cuts),
        block_mb=rows * _LINE / cuts / 2**20,
        memory_mb=1,
    )
    with patch("pipelines.prepare.sentence_stage.BYTES_PER_ROW", cuts * 2**20 / rows):
        before = traffic()
        made = prepare(asked, RunnerSettings(processes=1))
        return traffic() - before, made
