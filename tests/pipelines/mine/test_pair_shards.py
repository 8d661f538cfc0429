"""Output shards: which texts are asked for, put together in order, and repeated targets over all shards."""

from pathlib import Path

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mining.errors import InputError
from mining.filters import FilterSettings, LengthFilter
from mining.retrieval import BACKWARD, FORWARD
from pipelines.datasets.manifest import Dataset, Shard
from pipelines.datasets.sentences import SCHEMA, constant, write_shard
from pipelines.datasets.work import Work
from pipelines.mine.edges import EDGE
from pipelines.mine.export_transform import Export, ExportPlan
from pipelines.mine.pair_shards import (
    Filtered,
    filter_shard,
    missing_outputs,
    read_pair_shard,
    repeated_targets,
    write_pair_shard,
)
from pipelines.mine.pair_stage import pair_batches
from pipelines.mine.text_join import (
    OutputPart,
    TextRequest,
    TextShard,
    TextShards,
    assemble,
    fetch_texts,
    mean_text_bytes,
    request_texts,
)
from pipelines.runners.local import run_local
from tests.pipelines.works import begun_work

BOTH = FORWARD | BACKWARD
# Best first; target 1 is in three pairs.
EDGES = np.array(
    [
        (3, 1, 2.0, 0.9, BOTH),
        (0, 1, 1.5, 0.8, FORWARD),
        (1, 0, 1.25, 0.7, BACKWARD),
        (2, 2, 1.1, 0.6, BOTH),
        (4, 1, 1.0, 0.5, BOTH),
    ],
    EDGE,
)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return begun_work(tmp_path, "pairs")


def write_texts(folder: Path, side: str, cuts: list[int], ref: str = "{}-{}") -> list[TextShard]:
    """Sentence shards of so many rows; sentence i of a side is `side` and i, in line 10 i."""
    made, first = [], 0
    for rows in cuts:
        ids = np.arange(first, first + rows)
        url = str(folder / f"{side}-{first}.parquet")
        columns = [pa.array(ids.astype(np.uint64)), constant(f"{side}.txt", rows), pa.array(10 * ids)]
        texts = pa.array([f"{side} {i}" for i in ids])
        refs = pa.array([ref.format(side, i) for i in ids])
        table = pa.table([*columns, refs, constant("en", rows), texts], schema=SCHEMA)
        write_shard(url, table)
        made.append(TextShard(url, "", first, rows))
        first += rows
    return made


def gathered(work: Work, folder: Path, rows_per_shard: int, cuts: list[int]) -> dict[int, list[OutputPart]]:
    """What the shuffle brings together for each output shard."""
    found: dict[int, list[OutputPart]] = {}
    sides = [write_texts(folder, side, cuts) for side in ("src", "tgt")]
    missing = missing_outputs(work, len(EDGES), rows_per_shard)
    wanted = np.isin(np.arange(len(EDGES)) // rows_per_shard, missing)
    whole = OutputPart("edges", np.flatnonzero(wanted), EDGES[wanted])
    texts = dict(zip(("src", "tgt"), (TextShards(tuple(side)) for side in sides), strict=True))
    parts = [(number, whole.within(number * rows_per_shard, (number + 1) * rows_per_shard)) for number in missing]
    for (side, key), request in request_texts(whole.rows, whole.ranks, *texts.values()):
        halves = [TextRequest(*(column[half::2] for column in request)) for half in (0, 1)]
        parts += fetch_texts(side, texts[side].of_key(key), halves, rows_per_shard)
    for number, part in parts:
        found.setdefault(number, []).insert(0, part)  # in an order of the engine's own
    return found


@pytest.mark.parametrize("rows_per_shard", [1, 2, 5, 100])
@pytest.mark.parametrize("cuts", [[5], [2, 3], [1, 1, 1, 1, 1]], ids=str)
def test_texts_come_to_their_edges_whatever_the_cutting(
    work: Work, tmp_path: Path, rows_per_shard: int, cuts: list[int]
) -> None:
    parts = gathered(work, tmp_path, rows_per_shard, cuts)
    table = pa.concat_tables([assemble(parts[number]) for number in sorted(parts)])
    for side, end in (("src", "source"), ("tgt", "target")):
        ids = EDGES[end].tolist()
        assert table[f"{side}_id"].to_pylist() == ids
        assert table[f"{side}_text"].to_pylist() == [f"{side} {i}" for i in ids]
        assert table[f"{side}_line"].to_pylist() == [10 * i for i in ids]
        assert table[f"{side}_ref"].to_pylist() == [f"{side}-{i}" for i in ids]
        assert set(table[f"{side}_source"].to_pylist()) == {f"{side}.txt"}
    assert table["score"].to_pylist() == EDGES["score"].tolist()
    assert table["directions"].to_pylist() == ["fb", "f", "b", "fb", "fb"]


def test_a_reference_that_many_sentences_share_takes_memory_for_each(tmp_path: Path) -> None:
    short, long = (
        mean_text_bytes(TextShards(tuple(write_texts(tmp_path, side, [1000], ref))))
        for side, ref in (("a", "x"), ("b", "x" * 201))
    )
    assert 200 <= long - short < 205


def test_pairs_of_an_earlier_version_have_no_references(work: Work, tmp_path: Path) -> None:
    note = filter_shard(work, 0, gathered(work, tmp_path, 5, [5])[0], FilterSettings.none(), "en", "en")
    shard = write_pair_shard(work, note, np.empty(0, np.int64))
    dataset = work.complete([shard], shard.counters)
    new = read_pair_shard(dataset.url, shard)
    assert new["src_ref"].to_pylist() == [f"src-{i}" for i in EDGES["source"]]
    pq.write_table(new.drop_columns(["src_ref", "tgt_ref"]), work.place(shard.name))
    (old,) = pair_batches(Dataset(dataset.url, dataset.manifest.model_copy(update={"shards": [work.sealed(shard)]})))
    assert old.schema == new.schema
    assert old["src_ref"].null_count == old["tgt_ref"].null_count == len(EDGES)
    assert old["tgt_line"] == new["tgt_line"]


def test_what_is_filtered_is_not_asked_for_again(work: Work, tmp_path: Path) -> None:
    parts = gathered(work, tmp_path, 2, [5])
    filter_shard(work, 1, parts[1], FilterSettings.none(), "en", "en")
    again = gathered(work, tmp_path, 2, [5])
    assert sorted(again) == [0, 2]
    assert Filtered.of(work, 1).rows == 2


# Pairs a target may have, and for each output shard of two pairs the rows that are one too many.
REPEATED = [(1, [[1], [], [0]]), (2, [[], [], [0]]), (3, [[], [], []])]


@pytest.mark.parametrize(("most", "expected"), REPEATED)
def test_repeated_targets_are_counted_over_all_shards(
    work: Work, tmp_path: Path, most: int, expected: list[list[int]]
) -> None:
    parts = gathered(work, tmp_path, 2, [5])
    notes = [filter_shard(work, number, parts[number], FilterSettings.none(), "en", "en") for number in range(3)]
    found = list(repeated_targets(work, notes, most, targets=100))
    assert [note for note, _ in found] == notes
    assert [rows.tolist() for _, rows in found] == expected


def test_pairs_that_a_filter_dropped_do_not_count_and_are_kept_apart(work: Work, tmp_path: Path) -> None:
    parts = gathered(work, tmp_path, 5, [5])
    filters = FilterSettings.none().model_copy(update={"length": LengthFilter(min_chars=6)})
    note = filter_shard(work, 0, parts[0], filters, "en", "en")
    ((_, repeated),) = repeated_targets(work, [note], 1, targets=100)
    assert repeated.tolist() == []  # `src 0` has five characters: all are gone
    shard = write_pair_shard(work, note, np.empty(0, np.int64))
    assert (shard.rows, shard.counters.dropped) == (0, {"length": 5})
    dataset = work.complete([shard], shard.counters)
    assert isinstance(dataset, Dataset)
    rejected = read_pair_shard(dataset.url, shard, rejected=True)
    assert rejected["reason"].to_pylist() == ["length"] * 5
    Path(dataset.shard_url(shard)).unlink()
    with pytest.raises(InputError, match=r"\.parquet.*(no such file|is missing)"):
        read_pair_shard(dataset.url, shard)


def test_a_finished_shard_is_not_written_again(work: Work, tmp_path: Path) -> None:
    parts = gathered(work, tmp_path, 5, [5])
    note = filter_shard(work, 0, parts[0], FilterSettings.none(), "en", "en")
    first = write_pair_shard(work, note, np.array([1]))
    assert first.rows == 4 and first.counters.dropped == {"repeated_target": 1}
    assert write_pair_shard(work, note, np.array([0, 1, 2])) == first


class ExportOf(beam.PTransform):
    """`Export` of some shards, as the root of a pipeline."""

    def __init__(self, shards: list[Shard], plan: ExportPlan) -> None:
        super().__init__()
        self.shards, self.plan = shards, plan

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[int]:
        return pbegin | beam.Create(self.shards) | Export(self.plan)


def test_a_worker_that_writes_a_shard_needs_no_manifest(work: Work, tmp_path: Path) -> None:
    """It names every shard: to read it for each of them would grow as their square."""
    note = filter_shard(work, 0, gathered(work, tmp_path, 5, [5])[0], FilterSettings.none(), "en", "en")
    shard = write_pair_shard(work, note, np.empty(0, np.int64))
    dataset = work.complete([shard], shard.counters)
    Path(dataset.url, "manifest.json").unlink()
    run_local(ExportOf([shard], ExportPlan(dataset.url, str(tmp_path / "p-*.tsv"), None, ("en", "de"))), 1)
    assert len((tmp_path / "p-00000.tsv").read_text().splitlines()) == len(EDGES)
