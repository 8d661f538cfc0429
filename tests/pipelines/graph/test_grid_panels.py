"""Panels of the grid: merged they are the whole graph, however they are cut; approximate search by one index a side."""

from pathlib import Path

import numpy as np
import pytest

from mining.knn import knn_graph
from mining.neighbours import Neighbours, read_neighbours
from mining.vectors import from_array
from pipelines.graph import grid_panels
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph, make_plan, panels_of
from pipelines.graph.graph_transform import GraphOfAll
from pipelines.planning.counted_files import traffic
from pipelines.runners.local import run_local
from tests.pipelines.graph.vector_datasets import write_side

K, DIM = 3, 16


def settings(folder: Path | str, rows: tuple[int, int], shards: tuple[int, int], **changes: object) -> GraphSettings:
    draw = np.random.default_rng(0)
    sides = [draw.standard_normal((count, DIM), dtype=np.float32) for count in rows]
    urls = [
        write_side(f"{folder}/{name}", side, count)
        for name, side, count in zip(("source", "target"), sides, shards, strict=True)
    ]
    given = {"source": urls[0], "target": urls[1], "out": f"{folder}/graph", "k": K, "threads": 1}
    return GraphSettings(**given | changes)  # type: ignore[arg-type]


def neighbours(asked: GraphSettings) -> list[Neighbours]:
    graph = build_graph(asked)
    return [
        Neighbours(
            *map(
                np.concatenate,
                zip(*(read_neighbours(graph.place(shard))[1] for shard in graph.shards_of(direction)), strict=True),
            )
        )
        for direction in ("forward", "backward")
    ]


def exact(rows: tuple[int, int]) -> list[Neighbours]:
    draw = np.random.default_rng(0)
    return list(knn_graph(*(from_array(draw.standard_normal((count, DIM), dtype=np.float32)) for count in rows), K))


@pytest.mark.parametrize(
    ("work", "grid", "beam"), [(5e13, 1, False), (30 * 30 * DIM, 9, False), (30 * 30 * DIM, 9, True), (1, 15, False)]
)
def test_panels_together_are_the_graph_of_all(
    tmp_path: Path, work: float, grid: int, beam: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid_panels, "_PANEL_WORK", work)
    monkeypatch.setattr(grid_panels, "_NOTE_SECONDS", 0.0)
    asked = settings(tmp_path, (50, 66), (3, 5))
    assert len(panels_of(make_plan(asked), asked)) == grid
    if beam:
        run_local(GraphOfAll(asked), 1)
    for found, truth in zip(neighbours(asked), exact((50, 66)), strict=True):
        np.testing.assert_array_equal(found.ids, truth.ids)
        np.testing.assert_array_equal(found.scores, truth.scores)


def test_where_memory_is_short_single_shards_meet(tmp_path: Path) -> None:
    asked = settings(tmp_path, (60, 60), (2, 3))
    plan = make_plan(asked)
    assert len(panels_of(plan, asked)) == 1
    short = asked.model_copy(update={"memory": 30 << 20})
    assert [panel.one_by_one for panel in panels_of(plan, short)] == [True] * 6


def test_a_panel_opens_each_shard_once_and_leaves_two_files(tmp_path: Path) -> None:
    opens = []
    for shards in (2, 8):
        asked = settings(f"counted://{tmp_path}/{shards}", (64, 64), (shards, shards))
        before = traffic()
        build_graph(asked)
        opens.append((traffic() - before).opens)
    assert opens[1] - opens[0] < 6 * 12, "a dozen for each further shard of either side, not one for each pair of them"


def hits(truth: Neighbours, found: Neighbours, rows: np.ndarray) -> float:
    return float(np.mean([len(set(truth.ids[row]) & set(found.ids[row])) / K for row in rows.tolist()]))


def test_one_index_a_side_whatever_the_shards(tmp_path: Path) -> None:
    """Of vectors without any clusters: much is missed, and the recall says how much."""
    rows = (1500, 6000)
    asked = settings(tmp_path, rows, (2, 3), search="approximate")
    run_local(GraphOfAll(asked), 1)
    found, truth = neighbours(asked), exact(rows)
    (tmp_path / "one").mkdir()
    whole = neighbours(settings(tmp_path / "one", rows, (1, 1), search="approximate"))
    measures = build_graph(asked).manifest.measures
    assert measures["forward_recall"] < 1
    for side, part, also, real in zip(("forward", "backward"), found, whole, truth, strict=True):
        np.testing.assert_array_equal(part.ids, also.ids)
        recall = hits(real, part, np.arange(len(part.ids)))
        assert recall > 0.5
        assert measures[f"{side}_recall"] == pytest.approx(recall, abs=0.05)
