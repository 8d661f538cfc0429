"""The fourth stage: a graph in, pairs out: margin, matching, threshold, filters, and bounded shards of pairs.

What is finished is on disk at each step (means, proposals, the selection, filtered shards, pair shards), so a rerun
continues there. Sorting and thresholding is for one worker: 25 bytes a pair; everything else is spread by shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.metrics import Metrics

from mining.errors import InputError
from mining.retrieval import Retrieval
from pipelines.datasets.manifest import (
    Counters,
    Dataset,
    Request,
    Shard,
    Work,
    begin,
    check_input,
    file_input,
    open_dataset,
    read_model,
)
from pipelines.mine.edges import (
    EDGE,
    Direction,
    GraphShard,
    Sides,
    best_first,
    read_array,
    united,
    write_means,
    write_proposals,
)
from pipelines.mine.matching import Match, greedy
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.pair_shards import (
    Filtered,
    OutputPart,
    TextRequest,
    cut_selection,
    fetch_texts,
    filter_shard,
    repeated_targets,
    write_pair_shard,
)
from pipelines.mine.thresholding import Selected, select, selection_url
from pipelines.runners.progress import Phase, Watch, finished_files
from pipelines.runners.runner import Runner, RunnerSettings, run

NAMESPACE = "twinlode.mine"


class Mine(beam.PTransform):
    """The `Shard`s of a graph to those of the pairs dataset, given when it is complete.

    Example::

        settings = MineSettings(graph="work/graph", source=["work/en"], target=["work/de"], out="work/pairs")
        pairs = graph_shards | Mine(settings)

    With `max` and `intersect` no sentence is in two pairs. `max` is matched in rounds spread over workers; give
    `rounds=False` for a graph that is known to be small enough for one worker.
    """

    def __init__(self, settings: MineSettings, rounds: bool = True) -> None:
        super().__init__()
        self.settings, self.rounds = settings, rounds

    def expand(self, graph: beam.PCollection[Shard]) -> beam.PCollection[Shard]:
        settings = self.settings
        ready = graph | "Graph" >> beam.combiners.Count.Globally()
        selected = ready | "Select" >> SelectPairs(settings, self.rounds)
        requests = selected | "Cut" >> beam.FlatMap(_cut, settings).with_outputs("parts", main="requests")
        texts = requests["requests"] | "SpreadTexts" >> beam.Reshuffle() | "Texts" >> beam.FlatMap(_fetch, settings)
        filtered = (
            (texts, requests["parts"])
            | "TextsAndEdges" >> beam.Flatten()
            | "ByOutput" >> beam.GroupByKey()
            | "Filter" >> beam.Map(_filter, settings).with_output_types(Filtered)
            | "AllFiltered" >> beam.combiners.ToList()
        )
        return (
            filtered
            | "Outputs" >> beam.FlatMap(_outputs, settings, beam.pvalue.AsSingleton(selected))
            | "SpreadOutputs" >> beam.Reshuffle()
            | "Write" >> beam.Map(_write, settings).with_output_types(Shard)
            | "AllPairs" >> beam.combiners.ToList()
            | "Complete" >> beam.FlatMap(_complete, settings).with_output_types(Shard)
        )


class SelectPairs(beam.PTransform):
    """The pairs above the threshold, best first, in one scratch file; gives its `Selected`."""

    def __init__(self, settings: MineSettings, rounds: bool) -> None:
        super().__init__()
        self.settings, self.rounds = settings, rounds

    def expand(self, ready: beam.PCollection[int]) -> beam.PCollection[Selected]:
        settings = self.settings
        proposed = (
            ready
            | "Shards" >> beam.FlatMap(_shards_to_score, settings).with_output_types(GraphShard)
            | "Spread" >> beam.Reshuffle()
            | "Means" >> beam.Map(_means, settings).with_output_types(GraphShard)
            | "AfterMeans" >> Barrier()
            | "Propose" >> beam.Map(_propose, settings).with_output_types(GraphShard)
            | "AfterProposals" >> Barrier()
            | "Unite" >> beam.FlatMap(_retrieved, settings)
        )
        matched = settings.retrieval != Retrieval.max
        if self.rounds and not matched:
            proposed, matched = proposed | "Match" >> Match(settings.one_worker_edges), True
        chosen = beam.pvalue.AsIter(proposed)
        return ready | "Threshold" >> beam.Map(_select, settings, chosen, matched).with_output_types(Selected)


class Barrier(beam.PTransform):
    """Every element, when all of them are there."""

    def expand(self, elements: beam.PCollection) -> beam.PCollection:
        return (
            elements
            | "All" >> beam.combiners.ToList()
            | "Each" >> beam.FlatMap(_each).with_output_types(elements.element_type)
            | "Spread" >> beam.Reshuffle()
        )


def _each(elements: list) -> list:
    return elements


def mine(settings: MineSettings, runner: Runner | None = None, *, quiet: bool = True) -> Dataset:
    """Make the pairs dataset `settings.out`, or continue to, or find it complete."""
    work = start(settings)
    if isinstance(work, Dataset):
        return work
    graph = open_dataset(settings.graph, "graph")
    watch = None if quiet else _watch(work)
    root = MineAll(Mine(settings, rounds=graph.rows > settings.one_worker_edges), graph.shards)
    run(root, runner or RunnerSettings(), workers=1, watch=watch)
    return open_dataset(settings.out, "pairs")


class MineAll(beam.PTransform):
    """`Mine` of a complete graph, as the root of a pipeline."""

    def __init__(self, transform: Mine, shards: list[Shard]) -> None:
        super().__init__()
        self.transform, self.shards = transform, shards

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[Shard]:
        return pbegin | "Shards" >> beam.Create(self.shards) | "Mine" >> self.transform


def start(settings: MineSettings) -> Work | Dataset:
    """The state of the output folder; a graph of other sentences is refused."""
    graph = open_dataset(settings.graph, "graph")
    inputs = [graph.as_input()]
    vectors = [open_dataset(given.name, "vectors") for given in graph.manifest.request.inputs]
    sentences = [open_dataset(url, "sentences") for url in [*settings.source, *settings.target]]
    if len(vectors) != len(sentences):
        raise InputError(
            f"{graph.url} was made of {len(vectors)} datasets, but {len(sentences)} of sentences are given"
        )
    for vector_set, sentence_set in zip(vectors, sentences, strict=True):
        check_input(graph, vector_set)
        check_input(vector_set, sentence_set)
        inputs.append(sentence_set.as_input())
    if settings.threshold.gold is not None:
        inputs.append(file_input(settings.threshold.gold))
    configuration = settings.model_dump(mode="json", exclude={"graph", "source", "target", "out", "one_worker_edges"})
    return begin(settings.out, Request(kind="pairs", configuration=configuration, inputs=inputs))


def graph_sides(settings: MineSettings) -> Sides:
    """The shards of the graph with the ids that each covers, known from the sentences."""
    graph = open_dataset(settings.graph, "graph")
    sides = Sides([], [])
    shards = iter(graph.shards)
    both: list[tuple[Direction, list[str]]] = [("forward", settings.source), ("backward", settings.target)]
    for direction, urls in both:
        first = 0
        for number, rows in enumerate(s.rows for url in urls for s in open_dataset(url, "sentences").shards):
            url = graph.shard_url(next(shards))
            sides.of(direction).append(GraphShard(direction, number, url, first, first + rows))
            first += rows
    return sides


def _work(settings: MineSettings) -> Work:
    """The work folder; a worker that tries again after the dataset was completed finds none and fails harmlessly."""
    work = start(settings)
    if isinstance(work, Dataset):
        raise RuntimeError(f"{settings.out} is complete")
    return work


def _shards_to_score(ready: int, settings: MineSettings) -> list[GraphShard]:
    work = start(settings)
    if isinstance(work, Dataset) or read_model(selection_url(work), Selected) is not None:
        return []
    sides = graph_sides(settings)
    return [*sides.forward, *sides.backward]


def _means(shard: GraphShard, settings: MineSettings) -> GraphShard:
    return write_means(_work(settings), shard)


def _propose(shard: GraphShard, settings: MineSettings) -> GraphShard:
    return write_proposals(_work(settings), shard, graph_sides(settings), settings.margin)


def _retrieved(shard: GraphShard, settings: MineSettings) -> Iterator[np.ndarray]:
    """The edges of a shard that the kind of retrieval keeps or puts to the matching; each edge comes from one shard."""
    wanted = {Retrieval.forward: "forward", Retrieval.backward: "backward", Retrieval.intersect: "forward"}
    if shard.direction != wanted.get(settings.retrieval, shard.direction):
        return
    edges = united(_work(settings), shard, graph_sides(settings))
    if settings.retrieval == Retrieval.intersect:
        yield edges[edges["directions"] == 3]
    elif settings.retrieval == Retrieval.max and shard.direction == "backward":
        yield edges[edges["directions"] != 3]  # the others come from the forward side
    else:
        yield edges


def _select(ready: int, settings: MineSettings, chosen: Iterable[np.ndarray], matched: bool) -> Selected:
    work = start(settings)
    if isinstance(work, Dataset):
        return Selected(rows=0, kept=0, threshold=0.0)
    done = read_model(selection_url(work), Selected)
    if done is not None:
        return done
    edges = np.concatenate([np.zeros(0, EDGE), *chosen])
    edges = best_first(edges) if matched else greedy(edges)
    return select(work, edges, settings.source, settings.target, settings.threshold)


def _cut(selected: Selected, settings: MineSettings) -> Iterator[TextRequest | beam.pvalue.TaggedOutput]:
    """Which sentence shard owes which texts to which output shard, for the output shards that are not there."""
    work = start(settings)
    if isinstance(work, Dataset):
        return
    edges = read_array(work.scratch("selected.npy"))
    for item in cut_selection(work, edges, settings.source, settings.target, settings.rows_per_shard):
        yield item if isinstance(item, TextRequest) else beam.pvalue.TaggedOutput("parts", item)


def _fetch(request: TextRequest, settings: MineSettings) -> Iterator[tuple[int, OutputPart]]:
    return fetch_texts(request, settings.rows_per_shard)


def _filter(item: tuple[int, Iterable[OutputPart]], settings: MineSettings) -> Filtered:
    number, parts = item
    languages = [_language(urls[0]) for urls in (settings.source, settings.target)]
    return filter_shard(_work(settings), number, list(parts), settings.filters, *languages)


def _language(url: str) -> str | None:
    read = open_dataset(url, "sentences").manifest.request.configuration.get("read")
    return str(read["lang"]) if isinstance(read, dict) else None


def _outputs(
    filtered: list[Filtered], settings: MineSettings, selected: Selected
) -> Iterator[tuple[Filtered, np.ndarray]]:
    """Every output shard, those of an earlier run too, with the rows that repeat a target too often."""
    work = start(settings)
    if isinstance(work, Dataset):
        return
    shards = -(-selected.kept // settings.rows_per_shard)
    known = {note.number: note for note in filtered}
    notes = [known.get(number) or Filtered.of(work, number) for number in range(shards)]
    limit = settings.filters.repeated_target
    # The text of a side is free of duplicates, so only a target that several sources chose can come twice.
    repeats = limit is not None and settings.retrieval == Retrieval.forward
    dropped = repeated_targets(work, notes, limit.max_pairs) if repeats and limit else [np.empty(0, np.int64)] * shards
    yield from zip(notes, dropped, strict=True)


def _write(item: tuple[Filtered, np.ndarray], settings: MineSettings) -> Shard:
    shard = write_pair_shard(_work(settings), *item)
    Metrics.counter(NAMESPACE, "pairs").inc(shard.rows)
    return shard


def _complete(shards: list[Shard], settings: MineSettings) -> list[Shard]:
    work = start(settings)
    if isinstance(work, Dataset):
        return work.shards
    selected = read_model(selection_url(work), Selected)
    assert selected is not None
    below = {key: rows for key, rows in selected.dropped.items() if rows}
    total = Counters(rows_in=selected.rows - selected.kept, dropped=below)
    counters = sum((shard.counters for shard in shards), total)
    return work.complete(shards, counters, selected.measures()).shards


def pair_batches(dataset: Dataset, rejected: bool = False) -> Iterator[pa.Table]:
    """The pairs of a dataset in order, best first, or those that filters dropped, one shard at a time."""
    from pipelines.mine.pair_shards import read_pair_shard

    for shard in dataset.shards:
        yield read_pair_shard(dataset, shard, rejected)


def _watch(work: Work) -> Watch:
    filtered = finished_files(work.scratch("filtered"), Filtered)
    written = finished_files(work.scratch("shards"), Shard)

    def state() -> list[Phase]:
        made, done = filtered(), written()
        return [
            Phase("texts, filters", len(made), None, sum(note.rows for note in made)),
            Phase("write pairs", len(done), None, sum(shard.rows for shard in done)),
        ]

    return state
