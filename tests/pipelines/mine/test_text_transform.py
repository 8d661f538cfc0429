"""One pipeline from text to pairs makes what the stages make one after the other."""

import json
from pathlib import Path

import apache_beam as beam
import pytest

from pipelines.datasets.manifest import open_dataset
from pipelines.embed.shard_embedder import describe_encoder
from pipelines.graph import graph_stage
from pipelines.mine.export_transform import Export, ExportPlan
from pipelines.mine.mine_settings import JobSettings, SideSettings, ThresholdSettings
from pipelines.mine.text_job import mine_corpora
from pipelines.mine.text_transform import MineText
from pipelines.prepare.readers import ReadSettings
from pipelines.runners.local import run_local
from tests.pipelines.corpora import job


@pytest.fixture(scope="module")
def folder(corpora: Path) -> Path:
    lines = (corpora / "src.txt").read_text().split("\n")
    seed = sorted({f"{left} known\t{left} known" for left in lines if left})
    (corpora / "seed.tsv").write_text("".join(f"{pair}\n" for pair in seed))
    for side in ("src", "tgt"):
        lines = (corpora / f"{side}.txt").read_text().splitlines()
        (corpora / f"{side}.tsv").write_text("".join(f"{side}{n}\t{line}\n" for n, line in enumerate(lines, 1)))
    return corpora


def named_side(folder: Path, side: str) -> SideSettings:
    read = ReadSettings(lang="en", column="2", ref_column="1")
    return SideSettings(inputs=[str(folder / f"{side}.tsv")], read=read, lang_filter="assume")


def contents(pairs: str) -> list[bytes]:
    return [Path(pairs, shard.name).read_bytes() for shard in open_dataset(pairs, "pairs").shards]


class TextToFiles(beam.PTransform):
    """Text to files."""

    def __init__(self, settings: JobSettings, out: str) -> None:
        super().__init__()
        self.settings, self.out = settings, out

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection:
        plan = ExportPlan(f"{self.settings.work}/pairs", self.out, None, ("en", "en"))
        return pbegin | MineText(self.settings, describe_encoder(self.settings.encoder)) | Export(plan)


def test_how_to_search_is_chosen_when_the_vectors_are_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A corpus too large for an exact search, as it were."""
    monkeypatch.setattr(graph_stage, "EXACT_LIMIT", 1)
    expected = mine_corpora(job(folder, str(tmp_path / "stages"), search="partitioned"))
    settings = job(folder, str(tmp_path / "composed"))
    run_local(TextToFiles(settings, str(tmp_path / "pairs.tsv")), 1)
    graph = open_dataset(f"{settings.work}/graph", "graph")
    assert graph.manifest.request.configuration["search"] == "partitioned"
    assert graph.manifest.measures == expected.graph.manifest.measures
    assert contents(f"{settings.work}/pairs") == contents(expected.pairs.url)


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("seed", [pytest.param(False, marks=pytest.mark.slow), True])
def test_same_pairs_as_stage_by_stage_and_again_nothing_to_do(folder: Path, tmp_path: Path, seed: bool) -> None:
    precision = ThresholdSettings(precision=0.5, in_doubt="classifier")
    changes = {"seed": str(folder / "seed.tsv"), "threshold": precision} if seed else {"rows_per_shard": 50}
    changes |= {"source": named_side(folder, "src"), "target": named_side(folder, "tgt")}
    expected = mine_corpora(job(folder, str(tmp_path / "stages"), **changes))
    settings = job(folder, str(tmp_path / "composed"), **changes)
    out = str(tmp_path / "pairs-*.jsonl")
    run_local(TextToFiles(settings, out), 1)
    assert contents(f"{settings.work}/pairs") == contents(expected.pairs.url)
    written = [json.loads(line) for name in tmp_path.glob("*.jsonl") for line in name.read_text().splitlines()]
    assert len(written) == expected.pairs.rows > 0
    assert all(row["src_ref"] == f"src{row['src_line']}" for row in written)
    assert all(row["tgt_ref"] == f"tgt{row['tgt_line']}" for row in written)
    made = files(Path(settings.work))
    assert mine_corpora(settings).pairs.fingerprint == expected.pairs.fingerprint
    assert files(Path(settings.work)).items() >= made.items()
