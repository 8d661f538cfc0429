"""From vectors to pairs: the graph and mine stages of a job, each in its folder of the work folder.

The graph and the pairs of other settings lie beside the first ones: choosing again reuses all that it can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pipelines.datasets.manifest import Dataset, join
from pipelines.datasets.side_folders import SideFolders
from pipelines.datasets.work import place_for
from pipelines.embed.vector_shards import EncoderIdentity
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph, graph_request
from pipelines.mine.memory_budget import memory_shares
from pipelines.mine.mine_plan import mine_request, open_corpora
from pipelines.mine.mine_settings import MineSettings, PairSearchSettings, RescoreSettings
from pipelines.mine.pair_stage import mine
from pipelines.runners.runner import ResourceHints, Runner, hints_of

Report = Callable[[str], None]  # told the name of each stage


class JobResult(NamedTuple):
    """The datasets that a job leaves in its work folder."""

    source: Dataset
    target: Dataset
    graph: Dataset
    pairs: Dataset


class EmbeddedText(NamedTuple):
    """Sentences with their vectors."""

    sentences: Dataset
    vectors: Dataset


class SideData(NamedTuple):
    """One side of a mine: the corpus, and the probes behind it where there are any."""

    corpus: EmbeddedText
    probes: EmbeddedText | None = None

    @property
    def sentences(self) -> SideFolders:
        probes = None if self.probes is None else self.probes.sentences.url
        return SideFolders(corpus=self.corpus.sentences.url, probes=probes)

    @property
    def vectors(self) -> SideFolders:
        probes = None if self.probes is None else self.probes.vectors.url
        return SideFolders(corpus=self.corpus.vectors.url, probes=probes)


def search_pairs(
    settings: PairSearchSettings,
    source: SideData,
    target: SideData,
    runner: Runner | None = None,
    *,
    rescore: RescoreSettings | None = None,
    quiet: bool = True,
    report: Report = lambda stage: None,
) -> JobResult:
    """Build the graph of two sides and mine it; `rescore` tells how candidates of the graph are scored again."""
    report("graph")
    wanted = graph_settings(settings, source.vectors, target.vectors, hints_of(runner))
    wanted = wanted.model_copy(update={"out": place_for(wanted.out, graph_request(wanted))})
    graph = build_graph(wanted, runner, quiet=quiet)
    report("mine")
    asked = mine_settings(settings, graph.url, source.sentences, target.sentences, hints_of(runner), rescore)
    asked = asked.model_copy(update={"out": place_for(asked.out, mine_request(asked, open_corpora(asked)))})
    corpora = source.corpus.sentences, target.corpus.sentences
    return JobResult(*corpora, graph, mine(asked, runner, quiet=quiet))


def require_codebook(settings: PairSearchSettings, facts: EncoderIdentity) -> None:
    """Refuse a codebook of another encoder before anything is embedded."""
    if settings.codebook is not None:
        from pipelines.graph.partition_plan import given_codebook

        given_codebook(settings.codebook, facts.fingerprint, facts.dim)


def graph_settings(
    settings: PairSearchSettings, source: SideFolders, target: SideFolders, hints: ResourceHints
) -> GraphSettings:
    """The graph of the vectors of each side, in its folder of the work folder."""
    return GraphSettings(
        source=source,
        target=target,
        out=join(settings.work, "graph"),
        **hints._asdict(),
        **settings.model_dump(include={"k", "search", "copies", "codebook", "device", "threads", "memory"}),
    )


def mine_settings(
    settings: PairSearchSettings,
    graph: str,
    source: SideFolders,
    target: SideFolders,
    hints: ResourceHints,
    rescore: RescoreSettings | None = None,
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
        min_ram=hints.min_ram,
    )
