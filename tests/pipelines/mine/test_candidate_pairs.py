"""All candidates in pieces are those of the whole graph at once."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from mining.margin import Margin
from mining.retrieval import DIRECTION_NAMES, candidates
from pipelines.mine import candidate_pairs
from pipelines.mine.candidate_pairs import candidate_batches
from pipelines.mine.memory_budget import EDGE_BYTES
from pipelines.mine.mine_plan import make_plan
from pipelines.mine.pair_stage import mine
from tests.pipelines.mine.synthetic_graph import write_graph
from tests.pipelines.mine.whole_graphs import whole_graph

ROWS = 500


@pytest.mark.parametrize("margin", [Margin.ratio, Margin.distance])
@pytest.mark.parametrize(("shards", "edges_at_once"), [(1, 10**6), (5, 300), (3, 1)])
def test_pieces_are_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shards: int, edges_at_once: int, margin: Margin
) -> None:
    monkeypatch.setattr(candidate_pairs, "_BATCH", 70)
    settings = write_graph(tmp_path, ROWS, shards)
    pairs = mine(settings)
    expected = candidates(whole_graph(make_plan(settings).sides), margin)
    batches = list(candidate_batches(pairs, margin, edges_at_once * EDGE_BYTES))
    assert [len(batch) for batch in batches[:-1]] == [70] * (len(expected) // 70)
    found = pa.concat_tables(batches)
    assert found["src_id"].to_numpy().tolist() == expected.source.tolist()
    assert found["tgt_id"].to_numpy().tolist() == expected.target.tolist()
    assert np.array_equal(found["score"].to_numpy(), expected.scores)
    assert np.array_equal(found["cosine"].to_numpy(), expected.cosines)
    assert found["directions"].to_pylist() == DIRECTION_NAMES[expected.directions].tolist()
    assert found["src_text"].to_pylist() == [f"src {row}" for row in expected.source]
    assert found["tgt_text"].to_pylist() == [f"tgt {row}" for row in expected.target]
