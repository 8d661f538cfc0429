"""All candidates of a mine, not only those that were matched: the k neighbours of both directions, with their texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from mining.errors import InputError
from mining.margin import Margin
from mining.retrieval import candidates
from pipelines.datasets.manifest import GRAPH, SOURCE, TARGET, Dataset, open_dataset, side_roles
from pipelines.mine.edges import Sides, as_edges, whole_graph
from pipelines.mine.mine_plan import DIRECTION, graph_shards
from pipelines.mine.spool import Spool
from pipelines.mine.text_join import (
    OutputPart,
    Side,
    TextRequest,
    TextShards,
    assemble,
    fetch_texts,
    request_texts,
    text_shards,
)

_BATCH = 1 << 15
_CANDIDATE_BYTES = 200  # of an edge while both directions are joined and sorted


def candidate_batches(pairs: Dataset, margin: Margin, memory: int) -> Iterator[pa.Table]:
    """Every candidate between the corpora of a pairs dataset, best first; the graph is held whole."""
    graph = open_dataset(pairs.input_url(pairs.manifest.request.given(GRAPH)[0]), "graph")
    k = graph.manifest.request.configuration["k"]
    assert isinstance(k, int)
    if graph.rows * k * _CANDIDATE_BYTES > memory:
        needed = -(-graph.rows * k * _CANDIDATE_BYTES >> 20)
        raise InputError(f"the candidates of {graph.rows:,} sentences take {needed}MiB; raise --memory to that")
    sentences = {side: _sentences(pairs, side) for side in (SOURCE, TARGET)}
    shards = Sides(*(graph_shards(graph, DIRECTION[side], tuple(found)) for side, found in sentences.items()))
    found = candidates(whole_graph(shards), margin)
    corpora = sentences[SOURCE][0], sentences[TARGET][0]
    edges = as_edges(found.take((found.source < corpora[0].rows) & (found.target < corpora[1].rows)))  # no probes
    yield from _with_texts(edges, text_shards(corpora[0]), text_shards(corpora[1]))


def _with_texts(edges: np.ndarray, source: TextShards, target: TextShards) -> Iterator[pa.Table]:
    """Tables of `_BATCH` edges; each file of sentences is read once."""
    whole = OutputPart("edges", np.arange(len(edges)), edges)
    with Spool[int, OutputPart]() as batches:
        with Spool[tuple[Side, int], TextRequest]() as requests:
            requests.add(request_texts(edges, whole.ranks, source, target))
            for (side, key), asked in requests.groups():
                texts = source if side == "src" else target
                batches.add(fetch_texts(side, texts.of_key(key), asked, _BATCH))
        for number, parts in batches.groups():
            yield assemble([whole.within(number * _BATCH, (number + 1) * _BATCH), *parts])


def _sentences(pairs: Dataset, side: str) -> list[Dataset]:
    """The corpus of a side, and its probes."""
    roles = dict.fromkeys(side_roles(side, 2))
    given = [entry for role in roles for entry in pairs.manifest.request.given(role)]
    return [open_dataset(pairs.input_url(entry), "sentences") for entry in given]
