"""All candidates of a mine, not only those that were matched: the k neighbours of both directions, with their texts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from mining.errors import InputError
from mining.margin import Margin
from mining.retrieval import candidates
from pipelines.datasets.manifest import GRAPH, SOURCE, TARGET, Dataset, open_dataset
from pipelines.datasets.side_datasets import side_of
from pipelines.mine.edges import as_edges, whole_graph
from pipelines.mine.mine_plan import graph_sides
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
from pipelines.runners.spool import Spool

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
    source, target = (side_of(pairs, side, "sentences") for side in (SOURCE, TARGET))
    found = candidates(whole_graph(graph_sides(graph, source, target)), margin)
    of_corpora = (found.source < source.corpus.rows) & (found.target < target.corpus.rows)  # no probes
    found = found.take(of_corpora)
    edges = as_edges(found.source, found.target, found.scores, found.cosines, found.directions)
    yield from _with_texts(edges, text_shards(source.corpus), text_shards(target.corpus))


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
