"""From vectors to pairs: the graph and mine stages of a job, each in its folder of the work folder.

The graph and the pairs of other settings lie beside the first ones: choosing again reuses all that it can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from pipelines.datasets.manifest import Dataset, join
from pipelines.datasets.work import place_for
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph, graph_request
from pipelines.mine.memory_budget import memory_shares
from pipelines.mine.mine_plan import mine_request, open_corpora
from pipelines.mine.mine_settings import MineSettings, PairSearchSettings, RescoreSettings
from pipelines.mine.pair_stage import mine
from pipelines.runners.runner import Runner, accelerator_of

Report = Callable[[str], None]  # told the name of each stage


class JobResult(NamedTuple):
    """The datasets that a job leaves in its work folder."""

    source: Dataset
    target: Dataset
    graph: Dataset
    pairs: Dataset


@dataclass(kw_only=True)
class SideData:
    """One side of a mine: the corpus and the probes behind it, as sentences and as vectors."""

    sentences: list[Dataset] = field(default_factory=list)
    vectors: list[Dataset] = field(default_factory=list)


def search_pairs(
    settings: PairSearchSettings,
    source: SideData,
    target: SideData,
    runner: Runner | None = None,
    *,
    rescoring: Callable[[Dataset], RescoreSettings | None] = lambda graph: None,
    quiet: bool = True,
    report: Report = lambda stage: None,
) -> JobResult:
    """Build the graph of two sides and mine it; `rescoring` tells how candidates of the graph are scored again."""
    report("graph")
    vectors = [[dataset.url for dataset in side.vectors] for side in (source, target)]
    wanted = graph_settings(settings, vectors[0], vectors[1], accelerator_of(runner))
    wanted = wanted.model_copy(update={"out": place_for(wanted.out, graph_request(wanted))})
    graph = build_graph(wanted, runner, quiet=quiet)
    report("mine")
    sentences = [[dataset.url for dataset in side.sentences] for side in (source, target)]
    asked = mine_settings(settings, graph.url, sentences[0], sentences[1], rescoring(graph))
    asked = asked.model_copy(update={"out": place_for(asked.out, mine_request(asked, open_corpora(asked)))})
    return JobResult(source.sentences[0], target.sentences[0], graph, mine(asked, runner, quiet=quiet))


def graph_settings(
    settings: PairSearchSettings, source: list[str], target: list[str], accelerator: str | None
) -> GraphSettings:
    """The graph of the vectors of each side, in its folder of the work folder."""
    return GraphSettings(
        source=source,
        target=target,
        out=join(settings.work, "graph"),
        accelerator=accelerator,
        **settings.model_dump(include={"k", "search", "device", "threads", "memory"}),
    )


def mine_settings(
    settings: PairSearchSettings, graph: str, source: list[str], target: list[str], rescore: RescoreSettings | None
) -> MineSettings:
    """The pairs of a graph of these sentences, in their folder of the work folder."""
    shares = memory_shares(settings.memory)
    return MineSettings(
        graph=graph,
        source=source,
        target=target,
        out=join(settings.work, settings.pairs),
        margin=settings.margin,
        retrieval=settings.retrieval,
        threshold=settings.threshold,
        filters=settings.filters,
        rescore=rescore,
        rows_per_shard=settings.rows_per_shard,
        edges_at_once=shares.edges,
        text_memory=shares.text,
    )
