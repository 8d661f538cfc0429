"""Steps of the mine stage on a small graph: which edges each kind of retrieval takes, and from which shard."""

from pathlib import Path

import numpy as np
import pytest

from mining.margin import Margin
from mining.retrieval import Retrieval
from pipelines.datasets.manifest import Request
from pipelines.datasets.work import Work, begin
from pipelines.mine import pair_stage
from pipelines.mine.edges import Sides
from pipelines.mine.mine_plan import MinePlan
from pipelines.mine.mine_settings import MineSettings, ThresholdSettings
from pipelines.mine.pair_stage import choose, shards_to_score, survey
from pipelines.mine.score_bands import matched_edges
from pipelines.mine.text_join import TextShard, TextShards
from pipelines.mine.thresholding import NO_GOLD
from tests.pipelines.mine.test_edges import BACKWARD, FORWARD, write_side
from tests.pipelines.mine.test_pair_shards import write_texts as text_files

ENDS = [([4], [3]), ([1, 2, 4], [1, 3])]


def plan_of(
    folder: Path,
    retrieval: Retrieval,
    ends: tuple[list[int], list[int]],
    complete: bool = False,
    threshold: ThresholdSettings = ThresholdSettings(top=2),  # noqa: B008 - immutable
    edges_at_once: int = 100,
) -> MinePlan:
    folder.mkdir(exist_ok=True)
    work = begin(str(folder / "pairs"), Request(kind="pairs", configuration={}, inputs=[]))
    assert isinstance(work, Work)
    sides = Sides(write_side(folder, "forward", FORWARD, ends[0]), write_side(folder, "backward", BACKWARD, ends[1]))
    settings = MineSettings(
        graph="graph",
        source="source",
        target="target",
        out=work.url,
        margin=Margin.absolute,
        retrieval=retrieval,
        threshold=threshold,
        edges_at_once=edges_at_once,
    )
    source, target = (
        TextShards((TextShard(url, "", 0, rows),)) for url, rows in zip(write_texts(folder), (4, 3), strict=True)
    )
    return MinePlan(settings, work, complete, sides, source, target, (source, target), ("en", "de"))


def write_texts(folder: Path) -> list[str]:
    return [shard.url for side in ("src", "tgt") for shard in text_files(folder, side, [5])]


@pytest.mark.parametrize("edges_at_once", [1, 2, 100])
@pytest.mark.parametrize("ends", ENDS, ids=str)
@pytest.mark.parametrize(
    ("retrieval", "edges"),
    [
        (Retrieval.forward, [(0, 2), (1, 2), (3, 0)]),
        (Retrieval.backward, [(0, 2), (0, 0), (1, 1)]),
        (Retrieval.intersect, [(0, 2)]),
        (Retrieval.max, [(0, 2), (3, 0), (1, 1)]),  # an end of (1, 2) and (0, 0) is taken
    ],
)
def test_matched_edges_come_best_first_whatever_the_bands(
    tmp_path: Path,
    retrieval: Retrieval,
    edges: list[tuple[int, int]],
    ends: tuple[list[int], list[int]],
    edges_at_once: int,
) -> None:
    plan = plan_of(tmp_path, retrieval, ends, edges_at_once=edges_at_once)
    matching = pair_stage._match_here(plan)
    matched = np.concatenate([matched_edges(plan.work, number) for number in range(len(matching.rows))])
    assert matched[["source", "target"]].tolist() == edges
    surveys = [survey(number, plan, NO_GOLD) for number in range(len(matching.rows))]
    chosen = choose(surveys, plan, NO_GOLD)
    assert (chosen.selected.rows, chosen.selected.kept) == (len(edges), min(2, len(edges)))
    assert chosen.starts == tuple(np.cumsum([0, *matching.rows])[:-1].tolist())
    assert shards_to_score(plan) == [], "what is matched is not scored again"
    assert pair_stage._match_here(plan) == matching
    assert choose(surveys, plan, NO_GOLD) == chosen


def test_a_fixed_threshold_leaves_out_what_is_below_before_it_is_matched(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, Retrieval.max, ENDS[1], edges_at_once=1, threshold=ThresholdSettings(at_least=0.5))
    assert plan.lowest == 0.5
    matching = pair_stage._match_here(plan)
    matched = np.concatenate([matched_edges(plan.work, number) for number in range(len(matching.rows))])
    assert matched[["source", "target"]].tolist() == [(0, 2), (3, 0)]
    whole = plan_of(tmp_path / "whole", Retrieval.max, ENDS[1], threshold=ThresholdSettings(at_least=0.5))
    assert whole.lowest is None
    assert sum(pair_stage._match_here(whole).rows) == 3


def test_nothing_is_to_do_where_it_is_complete(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, Retrieval.max, ENDS[0], complete=True)
    assert shards_to_score(plan) == []
    assert pair_stage._match_here(plan).rows == []
    assert choose([], plan, NO_GOLD).selected.kept == 0
