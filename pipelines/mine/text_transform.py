"""The whole way from two corpora to pairs as one Beam pipeline, for runners that take one job and not six."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import apache_beam as beam

from pipelines.datasets.manifest import Dataset, Shard, join, open_dataset
from pipelines.datasets.side_folders import SideFolders
from pipelines.embed.vector_shards import EncoderIdentity
from pipelines.embed.vector_stage import Embed
from pipelines.graph.graph_transform import Graph
from pipelines.mine.memory_budget import require_memory
from pipelines.mine.mine_settings import JobSettings, MineSettings, SideSettings
from pipelines.mine.pair_search import graph_settings, mine_settings
from pipelines.mine.pair_transform import Mine
from pipelines.mine.probe_pairs import ProbeSide, add_probes
from pipelines.mine.rescored_graph import rescoring
from pipelines.mine.shipped_probes import add_shipped_probes
from pipelines.mine.text_job import embed_settings, prepare_settings
from pipelines.prepare.sentence_stage import Prepare
from pipelines.runners.runner import NO_HINTS, ResourceHints

Shards = beam.PCollection[Shard]


class MineText(beam.PTransform):
    """Prepare, Embed, Graph and Mine of a job, composed; gives the `Shard`s of the pairs when they are complete.

    Example::

        with beam.Pipeline(options=PipelineOptions()) as pipeline:
            pairs = pipeline | MineText(JobSettings(source=english, target=german, work="gs://work"), facts)

    The root of a pipeline. Nothing but the input files is looked at when it is built: each stage finds what the one
    before it made when it runs, and leaves out what is complete. `facts` are those of the job's encoder.
    """

    def __init__(
        self,
        settings: JobSettings,
        facts: EncoderIdentity,
        hints: ResourceHints = NO_HINTS,
        *,
        rescoring: bool = True,
    ) -> None:
        """`rescoring` is off where it is known that the job's encoder has no pair classifier, or none is wanted."""
        super().__init__()
        self.settings, self.facts, self.hints, self.rescoring = settings, facts, hints, rescoring

    def expand(self, pbegin: beam.pvalue.PBegin) -> Shards:
        settings = self.settings
        sides = _Side(settings, "src", settings.source), _Side(settings, "tgt", settings.target)
        source, target = (pbegin | side.name("Prepare") >> self._prepare(side) for side in sides)
        probes = source | "Probes" >> AddProbes(settings, self.facts, target)
        vectors = [
            self._vectors(side, sentences, added)
            for side, sentences, added in zip(sides, (source, target), probes, strict=True)
        ]
        graph = graph_settings(settings, sides[0].vectors, sides[1].vectors, self.hints)
        pairs = mine_settings(settings, graph.out, sides[0].sentences, sides[1].sentences, self.hints)
        mine = Mine(pairs, rescored_by(settings) if self.rescoring else None, rescoring=self.rescoring)
        return tuple(vectors) | "Graph" >> Graph(graph) | "Mine" >> mine

    def _prepare(self, side: _Side) -> Prepare:
        return Prepare(prepare_settings(self.settings, side.settings, side.corpus, self.facts))

    def _vectors(self, side: _Side, sentences: Shards, probes: Shards) -> Shards:
        """Vectors of a corpus and its probes; those that come with the encoder are vectors already."""
        made = sentences | side.name("Embed") >> self._embed(side.corpus)
        if self.settings.seed is not None:
            probes = (probes | side.name("EmbedProbes") >> self._embed(side.probes)).vectors
        return (made.vectors, probes) | side.name("All") >> beam.Flatten()

    def _embed(self, sentences: str) -> Embed:
        return Embed(embed_settings(self.settings, sentences, self.hints), self.facts)


class _Side(NamedTuple):
    """The folders of one side."""

    job: JobSettings
    short: str
    settings: SideSettings

    @property
    def corpus(self) -> str:
        return join(self.job.work, self.short)

    @property
    def probes(self) -> str:
        return f"{self.corpus}-probes"

    @property
    def sentences(self) -> SideFolders:
        return SideFolders(corpus=self.corpus, probes=self.probes if self.job.has_probes else None)

    @property
    def vectors(self) -> SideFolders:
        probes = f"{self.probes}-vectors" if self.job.has_probes else None
        return SideFolders(corpus=f"{self.corpus}-vectors", probes=probes)

    def name(self, step: str) -> str:
        return f"{step}{self.short.capitalize()}"


class AddProbes(beam.PTransform):
    """When both corpora are there: the shards of the probes of each side, sentences or, of shipped ones, vectors."""

    def __init__(self, settings: JobSettings, facts: EncoderIdentity, target: Shards) -> None:
        super().__init__()
        self.settings, self.facts, self.target = settings, facts, target

    def expand(self, source: Shards) -> tuple[Shards, Shards]:
        ready = source | "Ready" >> beam.combiners.Count.Globally()
        step = beam.FlatMap(_add_probes, self.settings, self.facts, beam.pvalue.AsList(self.target))
        added = ready | "Add" >> step.with_outputs("source", "target")
        return added["source"], added["target"]


def _add_probes(
    ready: int, settings: JobSettings, facts: EncoderIdentity, also_ready: list[Shard]
) -> Iterator[beam.pvalue.TaggedOutput]:
    sides = _Side(settings, "src", settings.source), _Side(settings, "tgt", settings.target)
    corpora = [open_dataset(side.corpus, "sentences") for side in sides]
    require_memory(settings.memory, settings.k, facts.dim, corpora[0], corpora[1], settings.threads)
    source, target = (
        ProbeSide(corpus, side.settings.read.lang, side.probes) for corpus, side in zip(corpora, sides, strict=True)
    )
    added: tuple[Dataset, ...] = ()
    if settings.seed is not None:
        added = add_probes(settings.seed, source, target)
    elif settings.wants_shipped_probes:
        added = tuple(shipped.vectors for shipped in add_shipped_probes(source, target, facts, settings.dtype))
    for name, dataset in zip(("source", "target"), added, strict=False):
        for shard in dataset.shards:
            yield beam.pvalue.TaggedOutput(name, shard)


def rescored_by(settings: JobSettings) -> Callable[[MineSettings], MineSettings]:
    """How the candidates are scored again, which the encoder decides: it may be out of reach where a job is built."""

    def resolve(asked: MineSettings) -> MineSettings:
        return asked.model_copy(update={"rescore": rescoring(settings)})

    return resolve
