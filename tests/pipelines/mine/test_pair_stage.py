"""Steps of the mine stage on a small graph: which edges each kind of retrieval takes, and from which shard."""

from pathlib import Path

import numpy as np
import pytest

from mining.margin import Margin
from mining.retrieval import Retrieval
from pipelines.datasets.manifest import Request
from pipelines.datasets.work import Work, begin
from pipelines.mine.edges import Sides
from pipelines.mine.mine_plan import MinePlan
from pipelines.mine.mine_settings import MineSettings, ThresholdSettings
from pipelines.mine.pair_stage import means, propose, retrieved, shards_to_score, threshold
from tests.pipelines.mine.test_edges import BACKWARD, FORWARD, write_side

ENDS = [([4], [3]), ([1, 2, 4], [1, 3])]


def plan_of(folder: Path, retrieval: Retrieval, ends: tuple[list[int], list[int]], complete: bool = False) -> MinePlan:
    work = begin(str(folder / "pairs"), Request(kind="pairs", configuration={}, inputs=[]))
    assert isinstance(work, Work)
    sides = Sides(write_side(folder, "forward", FORWARD, ends[0]), write_side(folder, "backward", BACKWARD, ends[1]))
    settings = MineSettings(
        graph="graph",
        source=["source"],
        target=["target"],
        out=work.url,
        margin=Margin.absolute,
        retrieval=retrieval,
        threshold=ThresholdSettings(top=2),
    )
    return MinePlan(settings, work, complete, sides, (), (), ("en", "de"))


@pytest.mark.parametrize("ends", ENDS, ids=str)
@pytest.mark.parametrize(
    ("retrieval", "edges", "best"),
    [
        (Retrieval.forward, [(0, 2), (1, 2), (3, 0)], [(0, 2), (1, 2)]),
        (Retrieval.backward, [(0, 0), (0, 2), (1, 1)], [(0, 2), (0, 0)]),
        (Retrieval.intersect, [(0, 2)], [(0, 2)]),
        (Retrieval.max, [(0, 0), (0, 2), (1, 1), (1, 2), (3, 0)], [(0, 2), (3, 0)]),  # (1, 2) and (0, 0) are taken
    ],
)
def test_each_edge_comes_once_and_the_best_are_selected(
    tmp_path: Path,
    retrieval: Retrieval,
    edges: list[tuple[int, int]],
    best: list[tuple[int, int]],
    ends: tuple[list[int], list[int]],
) -> None:
    plan = plan_of(tmp_path, retrieval, ends)
    for step in (means, propose):
        for shard in shards_to_score(plan):
            step(shard, plan)
    found = [part for shard in plan.graph_shards for part in retrieved(shard, plan)]
    assert sorted(np.concatenate(found)[["source", "target"]].tolist()) == edges
    selected = threshold(plan, found, matched=retrieval != Retrieval.max)
    assert (selected.rows, selected.kept) == (len(edges) if retrieval != Retrieval.max else 3, len(best))
    kept = np.load(plan.work.scratch("selected.npy"))
    assert kept[["source", "target"]].tolist() == best
    assert shards_to_score(plan) == [], "what is selected is not scored again"
    assert threshold(plan, [], matched=True) == selected


def test_nothing_is_to_do_where_it_is_complete(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, Retrieval.max, ENDS[0], complete=True)
    assert shards_to_score(plan) == []
    assert threshold(plan, [], matched=False).kept == 0
