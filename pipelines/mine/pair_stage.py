"""The fourth stage: a graph in, pairs out: margin, matching, threshold, filters, and bounded shards of pairs.

What is finished is on disk at each step (means, proposals, the selection, filtered shards, pair shards), so a rerun
continues there. Sorting and thresholding is for one worker: 25 bytes a pair; everything else is spread by shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.metrics import Metrics

from mining.retrieval import Retrieval
from pipelines.datasets.manifest import Counters, Dataset, Shard, open_dataset, read_model
from pipelines.datasets.work import Work, is_complete
from pipelines.mine.edges import EDGE, GraphShard, best_first, read_array, united, write_means, write_proposals
from pipelines.mine.matching import Match, greedy
from pipelines.mine.mine_plan import MinePlan, make_plan, start
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
        ready = graph | "Graph" >> beam.combiners.Count.Globally()
        plan = ready | "Plan" >> beam.Map(_make_plan, self.settings).with_output_types(MinePlan)
        known = beam.pvalue.AsSingleton(plan)
        selected = plan | "Select" >> SelectPairs(self.settings, self.rounds)
        requests = selected | "Cut" >> beam.FlatMap(_cut, known).with_outputs("parts", main="requests")
        texts = requests["requests"] | "SpreadTexts" >> beam.Reshuffle() | "Texts" >> beam.FlatMap(_fetch, known)
        filtered = (
            (texts, requests["parts"])
            | "TextsAndEdges" >> beam.Flatten()
            | "ByOutput" >> beam.GroupByKey()
            | "Filter" >> beam.Map(_filter, known).with_output_types(Filtered)
            | "AllFiltered" >> beam.combiners.ToList()
        )
        return (
            filtered
            | "Outputs" >> beam.FlatMap(_outputs, known, beam.pvalue.AsSingleton(selected))
            | "SpreadOutputs" >> beam.Reshuffle()
            | "Write" >> beam.Map(_write, known).with_output_types(Shard)
            | "AllPairs" >> beam.combiners.ToList()
            | "Complete" >> beam.FlatMap(_complete, known).with_output_types(Shard)
        )


class SelectPairs(beam.PTransform):
    """The pairs above the threshold, best first, in one scratch file; gives its `Selected`."""

    def __init__(self, settings: MineSettings, rounds: bool) -> None:
        super().__init__()
        self.settings, self.rounds = settings, rounds

    def expand(self, plan: beam.PCollection[MinePlan]) -> beam.PCollection[Selected]:
        known = beam.pvalue.AsSingleton(plan)
        proposed = (
            plan
            | "Shards" >> beam.FlatMap(_shards_to_score).with_output_types(GraphShard)
            | "Spread" >> beam.Reshuffle()
            | "Means" >> beam.Map(_means, known).with_output_types(GraphShard)
            | "AfterMeans" >> Barrier()
            | "Propose" >> beam.Map(_propose, known).with_output_types(GraphShard)
            | "AfterProposals" >> Barrier()
            | "Unite" >> beam.FlatMap(_retrieved, known)
        )
        matched = self.settings.retrieval != Retrieval.max
        if self.rounds and not matched:
            proposed, matched = proposed | "Match" >> Match(self.settings.one_worker_edges), True
        chosen = beam.pvalue.AsIter(proposed)
        return plan | "Threshold" >> beam.Map(_select, chosen, matched).with_output_types(Selected)


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
    rounds = graph.rows > settings.one_worker_edges
    with work.alone():
        run(
            MineAll(Mine(settings, rounds), graph.shards),
            runner or RunnerSettings(),
            workers=1,
            watch=None if quiet else _watch(work),
            here=None if rounds else partial(_mine_here, settings),
        )
    return open_dataset(settings.out, "pairs")


def _mine_here(settings: MineSettings) -> None:
    """What `Mine` does, in this process."""
    plan = make_plan(settings)
    shards = _shards_to_score(plan)
    for step in (_means, _propose):
        for shard in shards:
            step(shard, plan)
    proposed = (edges for shard in shards for edges in _retrieved(shard, plan))
    selected = _select(plan, proposed, settings.retrieval != Retrieval.max)
    by_output: dict[int, list[OutputPart]] = {}
    for item in _cut(selected, plan):
        parts = _fetch(item, plan) if isinstance(item, TextRequest) else [item.value]
        for number, part in parts:
            by_output.setdefault(number, []).append(part)
    filtered = [_filter(item, plan) for item in sorted(by_output.items())]
    _complete([_write(item, plan) for item in _outputs(filtered, plan, selected)], plan)


class MineAll(beam.PTransform):
    """`Mine` of a complete graph, as the root of a pipeline."""

    def __init__(self, transform: Mine, shards: list[Shard]) -> None:
        super().__init__()
        self.transform, self.shards = transform, shards

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[Shard]:
        return pbegin | "Shards" >> beam.Create(self.shards) | "Mine" >> self.transform


def _make_plan(ready: int, settings: MineSettings) -> MinePlan:
    return make_plan(settings)


def _shards_to_score(plan: MinePlan) -> list[GraphShard]:
    done = plan.complete or read_model(selection_url(plan.work), Selected) is not None
    return [] if done else plan.graph_shards


def _means(shard: GraphShard, plan: MinePlan) -> GraphShard:
    return write_means(plan.work, shard)


def _propose(shard: GraphShard, plan: MinePlan) -> GraphShard:
    if plan.settings.rescore is not None:  # every candidate is scored, by one worker
        return shard
    return write_proposals(plan.work, shard, plan.sides, plan.settings.margin)


def _retrieved(shard: GraphShard, plan: MinePlan) -> Iterator[np.ndarray]:
    """The edges of a shard that the kind of retrieval keeps or puts to the matching; each edge comes from one shard."""
    if plan.settings.rescore is not None:
        if shard == plan.graph_shards[0]:
            from pipelines.mine.rescored_graph import rescored_edges

            yield rescored_edges(plan)
        return
    retrieval = plan.settings.retrieval
    wanted = {Retrieval.forward: "forward", Retrieval.backward: "backward", Retrieval.intersect: "forward"}
    if shard.direction != wanted.get(retrieval, shard.direction):
        return
    edges = united(plan.work, shard, plan.sides)
    if retrieval == Retrieval.intersect:
        yield edges[edges["directions"] == 3]
    elif retrieval == Retrieval.max and shard.direction == "backward":
        yield edges[edges["directions"] != 3]  # the others come from the forward side
    else:
        yield edges


def _select(plan: MinePlan, chosen: Iterable[np.ndarray], matched: bool) -> Selected:
    if plan.complete:
        return Selected(rows=0, kept=0, threshold=0.0)
    done = read_model(selection_url(plan.work), Selected)
    if done is not None:
        return done
    edges = np.concatenate([np.zeros(0, EDGE), *chosen])
    edges = best_first(edges) if matched else greedy(edges)
    settings = plan.settings
    rescored = settings.rescore is not None
    return select(plan.work, edges, settings.source, settings.target, settings.threshold, rescored=rescored)


def _cut(selected: Selected, plan: MinePlan) -> Iterator[TextRequest | beam.pvalue.TaggedOutput]:
    """Which sentence shard owes which texts to which output shard, for the output shards that are not there."""
    if plan.complete:
        return
    edges = read_array(plan.work.scratch("selected.npy"))
    rows = plan.settings.rows_per_shard
    for item in cut_selection(plan.work, edges, plan.source_texts, plan.target_texts, rows):
        yield item if isinstance(item, TextRequest) else beam.pvalue.TaggedOutput("parts", item)


def _fetch(request: TextRequest, plan: MinePlan) -> Iterator[tuple[int, OutputPart]]:
    return fetch_texts(request, plan.settings.rows_per_shard)


def _filter(item: tuple[int, Iterable[OutputPart]], plan: MinePlan) -> Filtered:
    number, parts = item
    return filter_shard(plan.work, number, list(parts), plan.settings.filters, *plan.languages)


def _outputs(filtered: list[Filtered], plan: MinePlan, selected: Selected) -> Iterator[tuple[Filtered, np.ndarray]]:
    """Every output shard, those of an earlier run too, with the rows that repeat a target too often."""
    if plan.complete:
        return
    settings = plan.settings
    shards = -(-selected.kept // settings.rows_per_shard)
    known = {note.number: note for note in filtered}
    notes = [known.get(number) or Filtered.of(plan.work, number) for number in range(shards)]
    limit = settings.filters.repeated_target
    # The text of a side is free of duplicates, so only a target that several sources chose can come twice.
    repeats = limit is not None and settings.retrieval == Retrieval.forward
    nothing = [np.empty(0, np.int64)] * shards
    dropped = repeated_targets(plan.work, notes, limit.max_pairs) if repeats and limit else nothing
    yield from zip(notes, dropped, strict=True)


def _write(item: tuple[Filtered, np.ndarray], plan: MinePlan) -> Shard:
    shard = write_pair_shard(plan.work, *item)
    Metrics.counter(NAMESPACE, "pairs").inc(shard.rows)
    return shard


def _complete(shards: list[Shard], plan: MinePlan) -> list[Shard]:
    if is_complete(plan.work.url):
        return open_dataset(plan.work.url, "pairs").shards
    selected = read_model(selection_url(plan.work), Selected)
    assert selected is not None
    below = {key: rows for key, rows in selected.dropped.items() if rows}
    total = Counters(rows_in=selected.rows - selected.kept, dropped=below)
    counters = sum((shard.counters for shard in shards), total)
    return plan.work.complete(shards, counters, selected.measures()).shards


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
