"""Candidates that are scored by ranges of ids have the scores of the whole graph at once, on any number of shards."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from encoder.inference import Encoder
from mining.neighbours import Neighbours
from mining.scoring.classifier import FOLDER, load_classifier
from mining.top_k import MISSING
from pipelines.datasets.manifest import Dataset, open_dataset
from pipelines.embed.shard_embedder import describe_encoder
from pipelines.mine import candidate_ends, pair_search, pair_stage, rescoring_steps
from pipelines.mine.candidate_ends import read_texts_of
from pipelines.mine.edges import GraphShard, as_edges
from pipelines.mine.memory_budget import EDGE_BYTES
from pipelines.mine.mine_plan import MinePlan
from pipelines.mine.pair_stage import pair_batches
from pipelines.mine.proposed_edges import Proposed, read_proposals
from pipelines.mine.rescoring import SideTexts, rescored_candidates
from pipelines.mine.text_job import mine_corpora
from pipelines.mine.text_transform import MineText
from pipelines.runners.local import run_local
from tests.pipelines.clean.conftest import toy_pairs
from tests.pipelines.clean.test_rescored_mine import job_of
from tests.pipelines.mine.whole_graphs import whole_graph


class Kept:
    """What was noted as rescored, before the mine clears it away."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.edges, self.plan = np.zeros(0), None
        note = rescoring_steps.note_rescored

        def keep(found: Iterable[Proposed], plan: MinePlan) -> list[Proposed]:
            every = note(found, plan)
            self.plan = plan
            self.edges = np.concatenate([read_proposals(plan.work, each.name) for each in every])
            self.whole = _at_once(plan)
            return every

        monkeypatch.setattr(rescoring_steps, "note_rescored", keep)


def _at_once(plan: MinePlan) -> np.ndarray:
    """The oracle: the whole graph and all texts in memory."""
    settings = plan.settings.rescore
    assert settings is not None
    source, target = (
        SideTexts([text for shard in texts.shards for text in read_texts_of(shard).to_pylist()], lang)
        for texts, lang in zip(plan.scored_texts, plan.languages, strict=True)
    )
    encoder = Encoder.load(settings.encoder)
    classifier = load_classifier(f"{settings.encoder}/{FOLDER}")
    found = rescored_candidates(whole_graph(plan.sides), source, target, encoder, classifier)
    edges = as_edges(found.source, found.target, found.scores, found.cosines, found.directions)
    return edges[(edges["source"] < plan.source_texts.rows) & (edges["target"] < plan.target_texts.rows)]


def _ordered(edges: np.ndarray) -> np.ndarray:
    return edges[np.lexsort((edges["target"], edges["source"]))]


def _small_ranges(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    for module in (candidate_ends, pair_stage, rescoring_steps):
        monkeypatch.setattr(module, "ROWS", rows)


@pytest.mark.parametrize(("rows_per_shard", "rows"), [(1000, 1 << 15), (7, 16), (25, 5), (1000, 1)])
@pytest.mark.parametrize("seeded", [False, True])
def test_ranges_have_the_scores_of_the_whole(
    scoring_encoder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows_per_shard: int,
    rows: int,
    seeded: bool,
) -> None:
    kept = Kept(monkeypatch)
    _small_ranges(monkeypatch, rows)
    changes: dict[str, object] = {"rows_per_shard": rows_per_shard}
    if seeded:  # probes lie behind the corpora, and their candidates are rivals
        (tmp_path / "seed.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in toy_pairs(100, 8)), encoding="utf-8")
        changes |= {"seed": str(tmp_path / "seed.tsv"), "threshold": {"precision": 0.5}}
    mine_corpora(job_of(scoring_encoder, tmp_path, **changes))
    assert len(kept.edges) == len(kept.whole) > 100
    assert np.array_equal(_ordered(kept.edges), _ordered(kept.whole))


@pytest.mark.parametrize("most", [1, 40])
def test_ranges_are_scored_by_as_many_edges_as_fit(
    scoring_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    kept = Kept(monkeypatch)
    _small_ranges(monkeypatch, 8)
    monkeypatch.setattr(rescoring_steps, "_FEATURE_BYTES", EDGE_BYTES)
    together: list[int] = []
    described: list[int] = []
    scored, features = rescoring_steps._scored, rescoring_steps.plain_features
    monkeypatch.setattr(
        rescoring_steps, "plain_features", lambda *given: (described.append(len(given[0])), features(*given))[1]
    )
    monkeypatch.setattr(
        rescoring_steps, "_scored", lambda rows, *given: (together.append(len(rows.edges)), scored(rows, *given))[1]
    )
    job = job_of(scoring_encoder, tmp_path, memory="1GiB")
    begin = pair_search.mine
    monkeypatch.setattr(
        pair_search, "mine", lambda asked, *a, **k: begin(asked.model_copy(update={"edges_at_once": most}), *a, **k)
    )
    mine_corpora(job)
    assert np.array_equal(_ordered(kept.edges), _ordered(kept.whole))
    for parts in (together, described):
        assert sum(parts) == len(kept.whole)
        assert len(parts) > len(kept.whole) / 40 - 1 and max(parts) <= max(most, 8 * 8), "or those of one part"


def test_a_range_may_have_no_candidates(scoring_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = GraphShard.read

    def without_the_fourth_source(shard: GraphShard) -> tuple[np.ndarray, Neighbours]:
        ids, lists = read(shard)
        gone = ids[:, None] == 3 if shard.direction == "forward" else lists.ids == 3
        order = np.argsort(gone, axis=1, kind="stable")
        left = np.where(gone, MISSING, lists.ids), np.where(gone, np.float32(-np.inf), lists.scores)
        return ids, Neighbours(*(np.take_along_axis(column, order, 1) for column in left))

    kept = Kept(monkeypatch)
    _small_ranges(monkeypatch, 1)
    monkeypatch.setattr(GraphShard, "read", without_the_fourth_source)
    mine_corpora(job_of(scoring_encoder, tmp_path))
    assert 3 not in kept.edges["source"] and len(kept.edges) > 100
    assert np.array_equal(_ordered(kept.edges), _ordered(kept.whole))


def _rows(pairs: Dataset) -> list[tuple[str, str, float]]:
    names = ("src_text", "tgt_text", "score")
    return [
        row for table in pair_batches(pairs) for row in zip(*(table[name].to_pylist() for name in names), strict=True)
    ]


@pytest.mark.parametrize("precision", [None, 0.5])
def test_a_pipeline_finds_the_same_pairs(
    scoring_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, precision: float | None
) -> None:
    changes: dict[str, object] = {"rows_per_shard": 20}
    if precision is not None:
        (tmp_path / "seed.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in toy_pairs(200, 8)), encoding="utf-8")
        changes |= {"seed": str(tmp_path / "seed.tsv"), "threshold": {"precision": precision}}
    here = _rows(mine_corpora(job_of(scoring_encoder, tmp_path, **changes)).pairs)
    _small_ranges(monkeypatch, 16)
    job = job_of(scoring_encoder, tmp_path, work=str(tmp_path / "beam"), **changes)
    run_local(MineText(job, describe_encoder(job.encoder)), 1)
    assert _rows(open_dataset(f"{job.work}/pairs", "pairs")) == here
    assert len(here) > 20


def test_a_sample_of_the_sources_tells_the_lengths(
    scoring_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of larger corpora lengths and weights are estimates, by which scores change little."""
    kept = Kept(monkeypatch)
    monkeypatch.setattr(rescoring_steps, "MEASURED", 20)
    monkeypatch.setattr(rescoring_steps, "WEIGHED", 30)
    mine_corpora(job_of(scoring_encoder, tmp_path))
    scores, whole = _ordered(kept.edges)["score"], _ordered(kept.whole)["score"]
    assert not np.array_equal(scores, whole)
    assert np.corrcoef(scores, whole)[0, 1] > 0.95
