"""Several mines at a time."""

from pathlib import Path

import pytest

from mining.errors import InputError
from pipelines.datasets.manifest import Dataset
from pipelines.demo import parallel_mines
from pipelines.mine.mine_settings import SideSettings
from pipelines.mine.text_job import mine_corpora
from pipelines.prepare.readers import ReadSettings
from tests.pipelines.corpora import job, write_corpora, write_encoder


@pytest.mark.parametrize("cores", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_mines_side_by_side_are_those_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(parallel_mines, "core_count", lambda: cores)
    write_corpora(tmp_path)
    write_encoder(tmp_path / "encoder")
    missing = SideSettings(inputs=[str(tmp_path / "nothing.txt")], read=ReadSettings(lang="en"), lang_filter="assume")
    jobs = [job(tmp_path, "first"), job(tmp_path, "broken", source=missing), job(tmp_path, "third")]
    first, broken, third = parallel_mines.mine_all(jobs)
    alone = mine_corpora(job(tmp_path, "alone")).pairs
    assert isinstance(first, Dataset) and isinstance(third, Dataset)
    assert first.rows == third.rows == alone.rows > 0
    assert [shard.digest for shard in first.shards] == [shard.digest for shard in alone.shards]
    assert isinstance(broken, InputError) and "nothing" in str(broken)
