"""What a mine is made of, found once for all its steps: the request, the shards of the graph and those of the texts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mining.errors import InputError
from mining.language_id import model_version
from pipelines.datasets.manifest import (
    GOLD,
    GRAPH,
    SOURCE,
    TARGET,
    Dataset,
    Request,
    check_input,
    file_input,
    open_dataset,
)
from pipelines.datasets.side_datasets import SideDatasets, open_side
from pipelines.datasets.work import Work, begin
from pipelines.mine.edges import DIRECTIONS, Direction, GraphShard, Sides
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.text_join import TextShards, text_shards

VERSION = "4"  # to be raised with every change of the code that changes pairs


@dataclass(frozen=True)
class Corpora:
    """The datasets of a mine."""

    graph: Dataset
    source: SideDatasets
    target: SideDatasets

    @property
    def sentences(self) -> dict[str, Dataset]:
        """By role."""
        return self.source.by_role(SOURCE) | self.target.by_role(TARGET)


@dataclass(frozen=True)
class MinePlan:
    """Handed from step to step, so that no worker reads a manifest again; nothing is to do where it is complete."""

    settings: MineSettings
    work: Work
    complete: bool
    sides: Sides
    source_texts: TextShards
    target_texts: TextShards
    scored_texts: tuple[TextShards, TextShards]  # of both sides, those of probe pairs behind the corpus
    languages: tuple[str | None, str | None]

    @property
    def by_margin(self) -> MinePlan:
        """The plan for what the margin alone matches, which is kept aside where candidates are scored again and a
        precision is wanted: its estimate is transferred by rank, as shipped probe pairs have no text to be scored by.

        Nothing is to do by it elsewhere.
        """
        wanted = self.settings.rescore is not None and self.settings.threshold.precision is not None
        settings = self.settings.model_copy(update={"rescore": None})
        return replace(self, settings=settings, work=self.work.inside("margins"), complete=self.complete or not wanted)

    @property
    def graph_shards(self) -> list[GraphShard]:
        return [*self.sides.forward, *self.sides.backward]

    @property
    def lowest(self) -> float | None:
        """A fixed threshold below which edges need not be matched, since greedy matching of the others is the same.

        Where they fit at once, they are matched all the same, and the curve of scores tells of them.
        """
        rows = sum(self.sides.rows(direction) for direction in DIRECTIONS)
        return self.settings.threshold.at_least if rows > self.settings.edges_at_once else None


def open_corpora(settings: MineSettings) -> Corpora:
    """The datasets of the settings; a graph of other sentences is refused."""
    graph = open_dataset(settings.graph, "graph")
    found = Corpora(graph, open_side(settings.source, "sentences"), open_side(settings.target, "sentences"))
    made_of = {entry.role: entry for entry in graph.manifest.request.inputs}
    sentences = found.sentences
    if made_of.keys() != sentences.keys():
        raise InputError(
            f"{graph.url} is a graph of {', '.join(made_of)}; sentences are given of {', '.join(sentences)}"
        )
    for role, dataset in sentences.items():
        vectors = open_dataset(graph.input_url(made_of[role]), "vectors")
        check_input(graph, vectors)
        check_input(vectors, dataset)
    return found


def mine_request(settings: MineSettings, corpora: Corpora) -> Request:
    given = {GRAPH: corpora.graph} | corpora.sentences
    inputs = [dataset.as_input(role, settings.out) for role, dataset in given.items()]
    if settings.threshold.gold is not None:
        inputs.append(file_input(settings.threshold.gold, GOLD))
    configuration = settings.model_dump(
        mode="json",
        exclude={
            "graph": True,
            "source": True,
            "target": True,
            "out": True,
            "edges_at_once": True,
            "text_memory": True,
            "min_ram": True,
        }
        | {"threshold": {"gold"}, "rescore": {"encoder", "classifier", "threads"}},  # their content decides
    )
    versions = {"mine": VERSION}
    if settings.filters.language is not None:
        versions["language id"] = model_version()
    return Request(kind="pairs", configuration=configuration, inputs=inputs, versions=versions)


def start(settings: MineSettings) -> Work | Dataset:
    """The state of the output folder."""
    return begin(settings.out, mine_request(settings, open_corpora(settings)))


def make_plan(settings: MineSettings) -> MinePlan:
    """Everything that the steps need to know."""
    corpora = open_corpora(settings)
    work = begin(settings.out, mine_request(settings, corpora))
    complete = isinstance(work, Dataset)
    return MinePlan(
        settings,
        Work(work.url, work.manifest.request) if isinstance(work, Dataset) else work,
        complete,
        graph_sides(corpora.graph, corpora.source, corpora.target),
        text_shards(corpora.source.corpus),
        text_shards(corpora.target.corpus),
        (text_shards(*corpora.source.all), text_shards(*corpora.target.all)),
        (_language(corpora.source.corpus), _language(corpora.target.corpus)),
    )


def graph_sides(graph: Dataset, source: SideDatasets, target: SideDatasets) -> Sides:
    """The shards of a graph of these sentences."""
    return Sides(_graph_shards(graph, "forward", source), _graph_shards(graph, "backward", target))


def _graph_shards(graph: Dataset, direction: Direction, sentences: SideDatasets) -> list[GraphShard]:
    """The shards of a direction with the ids that each covers, known from the sentences."""
    first, found = 0, []
    for number, (shard, of_text) in enumerate(zip(graph.shards_of(direction), sentences.shards, strict=True)):
        end = first + of_text.rows
        found.append(GraphShard(direction, number, graph.place(shard), shard.checksum, first, end))
        first = end
    return found


def _language(sentences: Dataset) -> str | None:
    read = sentences.manifest.request.configuration.get("read")
    lang = read.get("lang") if isinstance(read, dict) else None
    return str(lang) if lang else None
