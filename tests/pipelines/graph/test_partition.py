"""The partitioned graph of datasets: the same for any number of shards, in one process and on Beam, with its recall."""

import sys
from pathlib import Path

import numpy as np
import pytest

from mining import partitioned
from mining.codebook import SAMPLE_A_CELL, NearCells, cell_count
from mining.errors import InputError
from mining.neighbours import Neighbours, read_neighbours
from pipelines.datasets.manifest import Dataset
from pipelines.graph import graph_stage, partition, partition_plan, recall_sample
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph, graph_request, start
from pipelines.graph.graph_transform import GraphOfAll
from pipelines.graph.partition_plan import MemoryBounds
from pipelines.graph.recall_sample import CopiesChoice
from pipelines.runners.local import run_local
from tests.pipelines.graph.vector_datasets import write_probes, write_side

ROWS, DIM, K = 1200, 16, 3
SIDES = "source", "target"
SEVERAL_KEYS = 1 << 18  # bytes of two cells or so


@pytest.fixture(scope="module")
def sides() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    source = draw.standard_normal((ROWS, DIM)).astype(np.float32)
    target = (source[draw.permutation(ROWS)] + 0.3 * draw.standard_normal((ROWS, DIM))).astype(np.float32)
    source[7] = 0
    return source, target


def settings(folder: Path, sides: tuple[np.ndarray, np.ndarray], shards: int = 2, **changes: object) -> GraphSettings:
    source, target = (
        write_side(folder / name, side, shards) for name, side in zip(("source", "target"), sides, strict=True)
    )
    given = {"source": source, "target": target, "out": str(folder / "graph"), "k": K, "search": "partitioned"}
    return GraphSettings(**given | changes)  # type: ignore[arg-type]


def neighbours(graph: Dataset) -> dict[str, Neighbours]:
    found = {}
    for direction in ("forward", "backward"):
        parts = [read_neighbours(graph.place(shard))[1] for shard in graph.shards if shard.role == direction]
        found[direction] = Neighbours(*map(np.concatenate, zip(*parts, strict=True)))
    return found


def same(one: dict[str, Neighbours], other: dict[str, Neighbours]) -> bool:
    return all((a == b).all() for side in one for a, b in zip(one[side], other[side], strict=True))


@pytest.fixture(scope="module")
def graph(sides: tuple[np.ndarray, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return build_graph(settings(tmp_path_factory.mktemp("two"), sides, copies=2))


def exact(folder: Path, sides: tuple[np.ndarray, np.ndarray]) -> dict[str, Neighbours]:
    return neighbours(build_graph(settings(folder, sides, search="exact")))


def test_recall_is_measured(graph: Dataset, sides: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    truth, found = exact(tmp_path, sides), neighbours(graph)
    measures = graph.manifest.measures
    assert measures["cells"] == 9
    assert measures["copies"] == 2
    for side in ("forward", "backward"):
        hits = (truth[side].ids[:, :, None] == found[side].ids[:, None, :]).any(2) & (truth[side].ids >= 0)
        assert 0.3 < measures[f"{side}_recall"] < measures[f"{side}_recall_at_1"] < 1
        assert measures[f"{side}_recall"] == pytest.approx(hits.sum() / (truth[side].ids >= 0).sum(), abs=0.03)
        assert 0 < measures[f"{side}_mean_error"] < 0.2
        shared = truth[side].ids == found[side].ids
        np.testing.assert_array_equal(truth[side].scores[shared], found[side].scores[shared])
    assert (found["forward"].ids[7] == -1).all()


def test_as_many_copies_as_the_wanted_recall_takes(
    sides: tuple[np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_sample, "TRIED_COPIES", (1, 2, 4, 9))
    monkeypatch.setattr(recall_sample, "WANTED_ERROR", 1.0)
    chosen = []
    for wanted in (0.3, 0.8, 1.0):
        monkeypatch.setattr(recall_sample, "WANTED_RECALL", wanted)
        (tmp_path / str(wanted)).mkdir()
        measures = build_graph(settings(tmp_path / str(wanted), sides)).manifest.measures
        assert (measures["forward_recall"] + measures["backward_recall"]) / 2 >= wanted
        chosen.append(measures["copies"])
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[2]


def test_an_error_of_the_means_wants_more_copies() -> None:
    """With one copy the third takes the place of the second, which is not met: (0.9 + 0.3) / 2 for (0.9 + 0.6) / 2."""
    nearest = Neighbours(np.array([[0, 1, 2]]), np.float32([[0.9, 0.6, 0.3]]))
    rows, others = (
        NearCells(np.array(cells), np.ones(np.shape(cells), np.float32))
        for cells in ([[4, 5]], [[[4, 9], [5, 8], [4, 6]]])
    )
    one, two = (recall_sample.CellChoice(copies, 0.1, 100) for copies in (1, 2))
    assert recall_sample.expected(nearest, rows, others, one, k=2) == (1, 1.0, pytest.approx(0.3 / 1.5), 0.5, 0.1, 0)
    assert recall_sample.expected(nearest, rows, others, two, k=2) == (
        2,
        1.0,
        pytest.approx(0.0, abs=1e-6),
        1.0,
        0.1,
        0,
    )


@pytest.mark.parametrize(
    ("changes", "enough"),
    [
        ({}, True),
        ({"recall": 0.96}, False),
        ({"error": 0.01}, False),
        ({"pairs": 0.9}, True),  # of a few rows whose nearest stands out
        ({"pairs": 0.9, "probes": 100}, False),
        ({"pairs": 0.99, "probes": 100}, True),
    ],
)
def test_copies_are_enough_by_recall_error_and_known_translations(changes: dict[str, float], enough: bool) -> None:
    assert CopiesChoice(8, 1.0, 0.0, 0.985)._replace(**changes).is_enough is enough


def with_probes(
    folder: Path, sides: tuple[np.ndarray, np.ndarray], pairs: int, shards: int = 2, **changes: object
) -> GraphSettings:
    """So many known translations behind the corpora, each with others beside it, and ten ends of either side alone."""
    draw = np.random.default_rng(1)
    asked = settings(folder, sides, shards, **changes)
    ends = draw.standard_normal((pairs + 20, DIM)).astype(np.float32)
    near = (ends + 0.7 * draw.standard_normal(ends.shape)).astype(np.float32)
    places = []
    for name, rows, chosen in (
        ("source", ends, np.arange(pairs + 10)),
        ("target", near, np.append(np.arange(pairs)[::-1], np.arange(10) + pairs + 10)),
    ):
        places.append(write_probes(folder / f"{name}-probes", rows[chosen], ROWS, chosen + 1))
    both = {side: {"corpus": getattr(asked, side).corpus, "probes": at} for side, at in zip(SIDES, places, strict=True)}
    return GraphSettings.model_validate(asked.model_dump() | both)


def known(pairs: int) -> np.ndarray:
    """Ids of both ends, as `with_probes` writes them (pairs, 2)."""
    return ROWS + np.stack([np.arange(pairs), np.arange(pairs)[::-1]], axis=1)


def test_copies_are_chosen_by_known_translations(
    sides: tuple[np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_sample, "TRIED_COPIES", (1, 2, 4, 9))
    monkeypatch.setattr(recall_sample, "WANTED_ERROR", 1.0)
    monkeypatch.setattr(recall_sample, "WANTED_RECALL", 0.0)
    whole = neighbours(build_graph(with_probes(new(tmp_path / "exact"), sides, 60, search="exact")))
    pairs, chosen = known(60), []
    true = {
        side: (whole[side].ids[pairs[:, own]] == pairs[:, 1 - own, None]).any(1)
        for own, side in enumerate(("forward", "backward"))
    }
    for wanted in (0.3, 0.8, 1.0):
        monkeypatch.setattr(recall_sample, "WANTED_PAIRS", wanted)
        graph = build_graph(with_probes(new(tmp_path / str(wanted)), sides, 60))
        measures, found = graph.manifest.measures, neighbours(graph)
        assert measures["probe_pairs"] == (true["forward"] | true["backward"]).sum()
        assert measures["probe_pairs_met"] >= wanted and "likely_pairs_met" not in measures
        for own, side in enumerate(("forward", "backward")):
            there = (found[side].ids[pairs[:, own]] == pairs[:, 1 - own, None]).any(1)
            assert measures[f"{side}_probe_pairs_found"] == pytest.approx(there[true[side]].mean())
        chosen.append(measures["copies"])
    assert chosen == sorted(chosen) and chosen[0] < chosen[2]


def test_known_translations_in_any_number_of_shards(sides: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    one, more = (build_graph(with_probes(new(tmp_path / str(count)), sides, 40, count)) for count in (1, 3))
    assert one.manifest.measures == pytest.approx(more.manifest.measures, abs=1e-12)
    assert same(neighbours(one), neighbours(more))


def test_too_few_known_translations_choose_nothing(sides: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    measures = build_graph(with_probes(tmp_path, sides, 15)).manifest.measures
    assert "likely_pairs_met" in measures and "probe_pairs_met" not in measures
    assert 0 < measures["forward_probe_pairs_found"] <= 1, "but what was found of them is told"


def new(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize("shards", [1, 3, 8])
@pytest.mark.parametrize("copies", [2, None])
def test_the_same_graph_for_any_number_of_shards(
    sides: tuple[np.ndarray, np.ndarray],
    tmp_path: Path,
    shards: int,
    copies: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sample, codebook, copies and recall, too, and with keys of another size."""
    monkeypatch.setattr(recall_sample, "SAMPLE", 300)
    monkeypatch.setattr(partition_plan, "KEY_BYTES", SEVERAL_KEYS)
    made = build_graph(settings(tmp_path, sides, shards, copies=copies))
    (tmp_path / "one").mkdir()
    monkeypatch.setattr(partition_plan, "KEY_BYTES", 1 << 30)
    other = build_graph(settings(tmp_path / "one", sides, 2, copies=copies))
    assert same(neighbours(made), neighbours(other))
    assert made.manifest.measures == pytest.approx(other.manifest.measures, abs=1e-12)


def test_beam_gives_the_same_graph(
    graph: Dataset, sides: tuple[np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_plan, "KEY_BYTES", SEVERAL_KEYS)
    asked = settings(tmp_path, sides, copies=2)
    run_local(GraphOfAll(asked), 1)
    made = graph_stage.open_dataset(asked.out, "graph")
    assert made.manifest.measures == graph.manifest.measures
    assert made.fingerprint == graph.fingerprint


def test_a_killed_search_goes_on_with_the_keys_it_has(
    graph: Dataset, sides: tuple[np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_plan, "KEY_BYTES", SEVERAL_KEYS)
    asked = settings(tmp_path, sides, copies=2)
    searched, search = [], partition.search_key

    def dies(*given: object) -> object:
        searched.append(1)
        if len(searched) == 3:
            raise KeyboardInterrupt
        return search(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(partition, "search_key", dies)
    with pytest.raises(KeyboardInterrupt):
        build_graph(asked)
    made = build_graph(asked)
    keys = len(searched) - 1  # the third was tried twice
    assert made.fingerprint == graph.fingerprint
    (tmp_path / "again").mkdir()
    searched[:] = [1] * 10
    build_graph(settings(tmp_path / "again", sides, copies=2))
    assert len(searched) - 10 == keys


def test_rows_where_they_lie_and_rows_that_were_shuffled_make_the_same_sides(
    sides: tuple[np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever order they come."""
    monkeypatch.setattr(partition_plan, "KEY_BYTES", SEVERAL_KEYS)
    gather, checked = partition.gathered_sides, []

    def compared(key: int, routings: list[partition.Routing]) -> list[partition.KeySide]:
        here = gather(key, routings)
        parts = [rows for routing in routings[::-1] if len((rows := routing.rows_of(key)).rows)]
        for ours, theirs in zip(here, partition.joined_sides(parts), strict=True):
            for one, other in zip(ours.parts, theirs.parts, strict=True):
                assert one[0] == other[0]
                np.testing.assert_array_equal(one[1], other[1])
            for one, other in zip(ours.cells, theirs.cells, strict=True):
                np.testing.assert_array_equal(one, other)
            for name in ("ids", "stored", "inverse_norms"):
                np.testing.assert_array_equal(getattr(ours.vectors, name), getattr(theirs.vectors, name))
        checked.append(key)
        return here

    monkeypatch.setattr(partition, "gathered_sides", compared)
    build_graph(settings(tmp_path, sides, copies=2, shards=3))
    assert len(checked) > 1


def test_files_of_keys_have_as_many_arrays_for_any_number_of_shards(
    sides: tuple[np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names and headers would be more than the neighbours, where there are thousands of keys and of shards."""
    arrays, save = [], partition.save_arrays

    def counted(url: str, **given: np.ndarray) -> None:
        if "/found/" in url:
            arrays.append(len(given))
        save(url, **given)

    monkeypatch.setattr(partition, "save_arrays", counted)
    monkeypatch.setattr(partition_plan, "KEY_BYTES", SEVERAL_KEYS)
    build_graph(settings(tmp_path, sides, copies=2, shards=8))
    assert len(arrays) > 1 and set(arrays) == {5}


def test_it_needs_no_faiss(
    graph: Dataset, sides: tuple[np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which is an extra of the package, for `approximate`."""
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert same(neighbours(build_graph(settings(tmp_path, sides, copies=2))), neighbours(graph))


@pytest.mark.parametrize("rows", [(0, 5), (5, 0), (1, 1), (3, 900)])
def test_small_and_uneven_sides(rows: tuple[int, int], tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    made = tuple(draw.standard_normal((count, DIM)).astype(np.float32) for count in rows)
    found = neighbours(build_graph(settings(tmp_path, made, 1, copies=99)))  # type: ignore[arg-type]
    (tmp_path / "exact").mkdir()
    assert same(found, exact(tmp_path / "exact", made))  # type: ignore[arg-type]


def test_copies_are_no_more_than_cells(sides: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    of_cells = build_graph(settings(new(tmp_path / "9"), sides, copies=9))
    of_more = build_graph(settings(new(tmp_path / "more"), sides, copies=10**7))
    assert same(neighbours(of_cells), neighbours(of_more))
    assert of_more.manifest.measures == of_cells.manifest.measures
    assert (of_more.manifest.measures["cells"], of_more.manifest.measures["copies"]) == (9, 9)


def test_zeros_alone_are_refused(tmp_path: Path) -> None:
    zeros = np.zeros((5, DIM), np.float32)
    with pytest.raises(InputError, match="no vector of either side has a direction"):
        build_graph(settings(tmp_path, (zeros, zeros)))


def test_a_codebook_is_used_again_even_where_cells_stay_empty(
    graph: Dataset, sides: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    again = build_graph(settings(tmp_path, sides, 3, copies=2, codebook=graph.url))
    assert same(neighbours(again), neighbours(graph)), "whatever the shards"
    few = tmp_path / "few"
    few.mkdir()
    made = build_graph(settings(few, (sides[0][:5], sides[1][:4]), 1, copies=9, codebook=graph.url))
    (few / "exact").mkdir()
    assert same(neighbours(made), exact(few / "exact", (sides[0][:5], sides[1][:4])))


def test_a_codebook_of_another_encoder_is_refused(
    graph: Dataset, sides: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"is of encoder e and dim 16, but the vectors are of encoder e and dim 8"):
        build_graph(settings(tmp_path, (sides[0][:, :8], sides[1][:, :8]), codebook=graph.url))
    other = [write_side(tmp_path / name, side, 1, encoder="f") for name, side in zip(("x", "y"), sides, strict=True)]
    asked = GraphSettings(source=other[0], target=other[1], out=str(tmp_path / "g"), codebook=graph.url)
    with pytest.raises(InputError, match=r"is of encoder e and dim 16, but the vectors are of encoder f and dim 16"):
        build_graph(asked.model_copy(update={"search": "partitioned"}))
    with pytest.raises(InputError, match=r"has no codebook.npz; give the folder of a graph made with --search part"):
        build_graph(settings(tmp_path / "none", sides, codebook=str(tmp_path)))


def test_a_graph_is_not_continued_with_memory_that_makes_another(
    sides: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    """A killed one goes on with more memory or less, unless keys or the codebook would be others."""
    asked = settings(tmp_path, sides, copies=2)
    start(asked)
    for memory, decides in (("2GiB", False), ("64GiB", False), ("1GiB", True)):
        other = GraphSettings.model_validate(asked.model_dump() | {"memory": memory})
        assert (graph_request(other) != graph_request(asked)) is decides
        if decides:
            with pytest.raises(InputError, match=r"another configuration \(key_bytes"):
                start(other)


@pytest.mark.parametrize(
    ("rows", "memory", "bounds"),
    [
        ((1000, 500), 4 << 30, (SAMPLE_A_CELL * cell_count(1000, 500), 256 << 20)),
        ((10**7, 10**7), 4 << 30, (1 << 20, 256 << 20)),  # as many as a quarter of the memory holds
        ((10**6, 10**6), 4 << 30, (SAMPLE_A_CELL * cell_count(10**6, 10**6), 256 << 20)),
        ((10**8, 10**8), 64 << 30, (1 << 22, 256 << 20)),
        ((10**9, 10**9), 64 << 30, (cell_count(10**9, 10**9), 256 << 20)),  # each cell begins as one of them
        ((10**7, 10**7), 1 << 30, (1 << 18, 128 << 20)),
    ],
)
def test_what_memory_decides(rows: tuple[int, int], memory: int, bounds: tuple[int, int]) -> None:
    assert MemoryBounds.of(rows, 256, memory) == bounds


def test_what_one_process_cannot_hold_is_refused(sides: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"2,400 vectors in 9 cells each takes \d+MiB in one process; raise --memory"):
        build_graph(settings(tmp_path, sides, copies=9, k=8, memory=1 << 20))


def test_a_giant_cluster_of_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More copies of one vector than a cell may have, and than a key; and a few others, which still find each other."""
    draw = np.random.default_rng(0)
    others = draw.standard_normal((200, DIM)).astype(np.float32)
    copies = np.tile(draw.standard_normal(DIM).astype(np.float32), (1500, 1))
    monkeypatch.setattr(partitioned, "_LARGEST", 256)
    monkeypatch.setattr(partition_plan, "KEY_BYTES", 1 << 17)
    sizes, search = [], partition.search_key
    monkeypatch.setattr(
        partition, "search_key", lambda given, *more: (sizes.append(sum(map(bytes_of, given))), search(given, *more))[1]
    )
    made = np.concatenate([copies, others]), np.concatenate([others, copies])
    found = neighbours(build_graph(settings(tmp_path, made, copies=2)))["forward"]
    assert (found.ids[1500:, 0] == np.arange(200)).mean() > 0.9
    assert (found.scores[:1500] > 0.999).all()
    assert 0 < max(sizes) < 1 << 17, "no key has more than it may"


def bytes_of(side: partition.KeySide) -> int:
    vectors = side.vectors.ids, side.vectors.stored, side.vectors.inverse_norms
    return sum(array.nbytes for array in (*(rows for _, rows in side.parts), *vectors, *side.cells))


@pytest.mark.slow
def test_a_million_copies(tmp_path: Path) -> None:
    """Of one vector on each side, in cells and keys as they are."""
    draw = np.random.default_rng(0)
    others = draw.standard_normal((2000, DIM)).astype(np.float32)
    copies = np.tile(draw.standard_normal(DIM).astype(np.float32), (1_000_000, 1))
    made = np.concatenate([copies, others]), np.concatenate([others, copies])
    found = neighbours(build_graph(settings(tmp_path, made, copies=2)))
    assert (found["forward"].ids[1_000_000:, 0] == np.arange(2000)).mean() > 0.9
    assert (found["forward"].scores[:1_000_000, 0] > 0.999).all()
    assert (found["backward"].scores[2000:, 0] > 0.999).all()
