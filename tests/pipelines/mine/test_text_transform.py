"""One pipeline from text to pairs makes what the stages make one after the other."""

from pathlib import Path

import apache_beam as beam
import pytest

from pipelines.datasets.manifest import open_dataset
from pipelines.embed.vector_stage import describe_encoder
from pipelines.mine.job import mine_corpora
from pipelines.mine.mine_settings import JobSettings, ThresholdSettings
from pipelines.mine.text_transform import MineText
from pipelines.runners.local import run_local
from tests.pipelines.corpora import job, write_corpora, write_encoder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpora")
    write_corpora(folder)
    write_encoder(folder / "encoder")
    lines = [(folder / f"{name}.txt").read_text().split("\n") for name in ("src", "tgt")]
    seed = sorted({f"{left} known\t{left} known" for left in lines[0] if left})
    (folder / "seed.tsv").write_text("".join(f"{pair}\n" for pair in seed))
    return folder


def contents(pairs: str) -> list[bytes]:
    return [Path(pairs, shard.name).read_bytes() for shard in open_dataset(pairs, "pairs").shards]


def composed(settings: JobSettings) -> beam.PTransform:
    return MineText(settings, describe_encoder(settings.encoder))


@pytest.mark.parametrize(
    "changes",
    [
        {"rows_per_shard": 50},
        {"seed": "seed.tsv", "threshold": ThresholdSettings(precision=0.5, unreachable="keep")},
    ],
)
def test_same_pairs_as_stage_by_stage(folder: Path, changes: dict) -> None:
    changes = changes | ({"seed": str(folder / "seed.tsv")} if "seed" in changes else {})
    names = [f"{kind}-{len(changes)}" for kind in ("stages", "composed")]
    expected = mine_corpora(job(folder, names[0], **changes))
    settings = job(folder, names[1], **changes)
    run_local(composed(settings), 1)
    assert contents(str(folder / names[1] / "pairs")) == contents(expected.pairs.url)
    again = mine_corpora(settings)  # everything is complete, and known by the stages
    assert again.pairs.fingerprint == expected.pairs.fingerprint
    assert not list((folder / names[1]).glob("*/_work"))


def test_a_second_run_finds_everything_complete(folder: Path) -> None:
    settings = job(folder, "twice")
    run_local(composed(settings), 1)
    times = {path: path.stat().st_mtime_ns for path in (folder / "twice").rglob("*") if path.is_file()}
    run_local(composed(settings), 1)
    assert times == {path: path.stat().st_mtime_ns for path in (folder / "twice").rglob("*") if path.is_file()}
