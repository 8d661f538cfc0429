"""All candidates of a mine, not only those that were matched: the k neighbours of both directions, with their texts.

The steps are those of a mine (`pair_stage`) in this process, but for the matching: means, edges by file of the graph,
bands of scores, texts by file of sentences.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from mining.margin import Margin
from mining.paths import local_path
from pipelines.datasets.manifest import GRAPH, SOURCE, TARGET, Dataset
from pipelines.datasets.side_datasets import SideDatasets, side_of
from pipelines.datasets.side_folders import SideFolders
from pipelines.mine.edges import GraphShard, best_first, score_edges, united
from pipelines.mine.memory_budget import memory_shares
from pipelines.mine.mine_plan import MinePlan, make_plan
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.pair_stage import (
    Cut,
    by_band_here,
    corpora_rows,
    cut_edges,
    propose_here,
    ranks_a_group,
    with_texts_here,
)
from pipelines.mine.proposed_edges import Proposed, write_proposals
from pipelines.mine.text_join import assemble, cut_group
from pipelines.mine.thresholding import is_probe

_BATCH = 1 << 15


def candidate_batches(pairs: Dataset, margin: Margin, memory: int) -> Iterator[pa.Table]:
    """Every candidate between the corpora of a pairs dataset, best first, in tables of `_BATCH`."""
    # beside the pairs, as a mine's own scratch files: temporary folders are often in memory, or small
    with tempfile.TemporaryDirectory(prefix="twinlode-", dir=local_path(pairs.url)) as folder:
        plan = _plan(pairs, margin, memory, folder)
        size = ranks_a_group(plan)
        for _, parts in with_texts_here(_cuts(plan, size), plan, size):
            for _, own in cut_group(parts, _BATCH):
                yield assemble(own)


def _plan(pairs: Dataset, margin: Margin, memory: int, folder: str) -> MinePlan:
    """That of a mine of the same graph in another folder."""
    shares = memory_shares(memory)
    return make_plan(
        MineSettings(
            graph=pairs.input_url(pairs.manifest.request.given(GRAPH)[0]),
            source=_folders(side_of(pairs, SOURCE, "sentences")),
            target=_folders(side_of(pairs, TARGET, "sentences")),
            out=folder,
            margin=margin,
            rows_per_shard=_BATCH,
            edges_at_once=max(shares.edges, 1),
            text_memory=shares.text,
        )
    )


def _folders(side: SideDatasets) -> SideFolders:
    return SideFolders(corpus=side.corpus.url, probes=None if side.probes is None else side.probes.url)


def _cuts(plan: MinePlan, size: int) -> Iterator[Cut]:
    """All edges, a band at a time, with their ranks."""
    first = 0
    for _, parts in by_band_here(propose_here(plan, _propose_all), plan):
        edges = united(best_first(np.concatenate(list(parts))))
        yield cut_edges(edges, np.arange(first, first + len(edges)), plan, size)
        first += len(edges)


def _propose_all(shard: GraphShard, plan: MinePlan) -> Proposed:
    """Not only the best edge of each row; those of probes are left out."""
    edges = score_edges(plan.work, shard, plan.settings.margin, best_only=False)
    return write_proposals(plan.work, shard.name, edges[~is_probe(edges, corpora_rows(plan))], None)
