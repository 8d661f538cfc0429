"""What a mine is made of, found once for all its steps: the request, the shards of the graph and those of the texts."""

from __future__ import annotations

from dataclasses import dataclass

from mining.errors import InputError
from mining.language_id import model_version
from pipelines.datasets.manifest import (
    GOLD,
    GRAPH,
    SOURCE,
    TARGET,
    Dataset,
    Request,
    Shard,
    check_input,
    file_input,
    open_dataset,
    side_roles,
)
from pipelines.datasets.work import Work, begin
from pipelines.mine.edges import DIRECTIONS, Direction, GraphShard, Sides
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.text_join import TextShards, text_shards

VERSION = "3"  # to be raised with every change of the code that changes pairs
DIRECTION: dict[str, Direction] = {SOURCE: "forward", TARGET: "backward"}


@dataclass(frozen=True)
class Corpora:
    """The datasets of a mine; of each side the corpus, and the probes where there are any."""

    graph: Dataset
    source: tuple[Dataset, ...]
    target: tuple[Dataset, ...]

    @property
    def sides(self) -> list[tuple[str, tuple[Dataset, ...]]]:
        return [(SOURCE, self.source), (TARGET, self.target)]


@dataclass(frozen=True)
class MinePlan:
    """Handed from step to step, so that no worker reads a manifest again; nothing is to do where it is complete."""

    settings: MineSettings
    work: Work
    complete: bool
    sides: Sides
    source_texts: TextShards
    target_texts: TextShards
    languages: tuple[str | None, str | None]

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
    found = Corpora(
        graph,
        tuple(open_dataset(url, "sentences") for url in settings.source),
        tuple(open_dataset(url, "sentences") for url in settings.target),
    )
    for side, sentences in found.sides:
        roles = side_roles(side, len(sentences))
        given = [entry for entry in graph.manifest.request.inputs if entry.role in side_roles(side, 2)]
        if [entry.role for entry in given] != roles:
            raise InputError(
                f"{graph.url} was made of {len(given)} datasets of the {side}, but {len(roles)} of sentences are given"
            )
        for entry, dataset in zip(given, sentences, strict=True):
            vectors = open_dataset(graph.input_url(entry), "vectors")
            check_input(graph, vectors)
            check_input(vectors, dataset)
    return found


def mine_request(settings: MineSettings, corpora: Corpora) -> Request:
    inputs = [corpora.graph.as_input(GRAPH, settings.out)]
    for side, datasets in corpora.sides:
        roles = side_roles(side, len(datasets))
        inputs += [dataset.as_input(role, settings.out) for role, dataset in zip(roles, datasets, strict=True)]
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
        }
        | {"threshold": {"gold"}, "rescore": {"encoder", "classifier"}},  # whose content decides, not their place
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
        Sides(*(graph_shards(corpora.graph, DIRECTION[side], datasets) for side, datasets in corpora.sides)),
        text_shards(corpora.source[0]),
        text_shards(corpora.target[0]),
        (_language(corpora.source[0]), _language(corpora.target[0])),
    )


def graph_shards(graph: Dataset, direction: Direction, sentences: tuple[Dataset, ...]) -> list[GraphShard]:
    """The shards of a direction with the ids that each covers, known from the sentences."""
    covered: list[Shard] = [shard for dataset in sentences for shard in dataset.shards]
    first, found = 0, []
    for number, (shard, of_text) in enumerate(zip(graph.shards_of(direction), covered, strict=True)):
        end = first + of_text.rows
        found.append(GraphShard(direction, number, graph.place(shard), shard.checksum, first, end))
        first = end
    return found


def _language(sentences: Dataset) -> str | None:
    read = sentences.manifest.request.configuration.get("read")
    lang = read.get("lang") if isinstance(read, dict) else None
    return str(lang) if lang else None
