"""The Beam transform of the fourth stage: the steps of `pair_stage`, spread by shard with barriers between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apache_beam as beam
import numpy as np
from apache_beam.metrics import Metrics

from mining.score_counts import ScoreCounts
from pipelines.datasets.manifest import Shard
from pipelines.mine.edges import DIRECTIONS, Direction, GraphShard, join_means
from pipelines.mine.memory_budget import EDGE_BYTES
from pipelines.mine.mine_plan import MinePlan, make_plan
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.pair_shards import Filtered
from pipelines.mine.pair_stage import (
    ChosenPairs,
    choose,
    complete,
    cut,
    cut_bands,
    cut_crowded,
    fetch,
    filter_group,
    gold_of,
    mark,
    match,
    means,
    outputs,
    propose,
    shards_to_score,
    sort,
    spread,
    survey,
    write,
)
from pipelines.mine.score_bands import Bands, Matching, SortedBand, joined_marks
from pipelines.runners.resource_hints import ask

NAMESPACE = "twinlode.mine"
Resolve = Callable[[MineSettings], MineSettings]
REQUESTS, EDGES = "requests", "edges"


class Mine(beam.PTransform):
    """The `Shard`s of a graph to those of the pairs dataset, given when it is complete.

    Example::

        settings = MineSettings(graph="work/graph", source="work/en", target="work/de", out="work/pairs")
        pairs = graph_shards | Mine(settings)

    With `max` and `intersect` no sentence is in two pairs. `resolve` completes the settings when the graph is there,
    where what is asked for depends on it.
    """

    def __init__(self, settings: MineSettings, resolve: Resolve | None = None) -> None:
        super().__init__()
        self.settings, self.resolve = settings, resolve

    def expand(self, graph: beam.PCollection[Shard]) -> beam.PCollection[Shard]:
        ready = graph | "Graph" >> beam.combiners.Count.Globally()
        plan = ready | "Plan" >> beam.Map(_make_plan, self.settings, self.resolve).with_output_types(MinePlan)
        known = beam.pvalue.AsSingleton(plan)
        bands = (
            plan
            | "Match" >> MatchEdges(self.settings.edges_at_once * EDGE_BYTES if self.settings.min_ram else None)
            | "Bands" >> beam.FlatMap(_numbers).with_output_types(int)
            | "SpreadBands" >> beam.Reshuffle()
        )
        chosen = plan | "Choose" >> ChooseThreshold(bands)
        decided = beam.pvalue.AsSingleton(chosen)
        parts = bands | "Cut" >> beam.FlatMap(_cut, known, decided).with_outputs(EDGES, main=REQUESTS)
        texts = parts[REQUESTS] | "ByText" >> beam.GroupByKey() | "Texts" >> beam.FlatMap(fetch, known, decided)
        filtered = (
            (texts, parts[EDGES])
            | "TextsAndEdges" >> beam.Flatten()
            | "ByOutput" >> beam.GroupByKey()
            | "Filter" >> beam.FlatMap(filter_group, known).with_output_types(Filtered)
            | "AllFiltered" >> beam.combiners.ToList()
        )
        return (
            filtered
            | "Outputs" >> beam.FlatMap(_outputs, known, decided)
            | "SpreadOutputs" >> beam.Reshuffle()
            | "Write" >> beam.Map(_write, known).with_output_types(Shard)
            | "AllPairs" >> beam.combiners.ToList()
            | "Complete" >> beam.FlatMap(complete, known).with_output_types(Shard)
        )


class MatchEdges(beam.PTransform):
    """A plan to its `Matching`: edges are scored by shard and sorted by band of scores; only the greedy matching of
    `max` is then made by one worker, which holds one band at a time. `memory` is asked for where a band is held."""

    def __init__(self, memory: int | None = None) -> None:
        super().__init__()
        self.memory = memory

    def expand(self, plan: beam.PCollection[MinePlan]) -> beam.PCollection[Matching]:
        known = beam.pvalue.AsSingleton(plan)
        shards = (
            plan
            | "Shards" >> beam.FlatMap(shards_to_score).with_output_types(GraphShard)
            | "Spread" >> beam.Reshuffle()
        )
        joined = (
            shards
            | "Means" >> beam.Map(means, known).with_output_types(GraphShard)
            | "AllMeans" >> beam.combiners.Count.Globally()
            | "Sides" >> beam.FlatMap(_directions).with_output_types(str)
            | "SpreadSides" >> beam.Reshuffle()
            | "JoinMeans" >> beam.Map(_join_means, known)
            | "Joined" >> beam.combiners.Count.Globally()
        )
        proposed = (
            shards
            | "Propose" >> beam.Map(_propose, known, beam.pvalue.AsSingleton(joined))
            | "Scores" >> beam.CombineGlobally(ScoreCounts.united)
            | "CutBands" >> beam.Map(cut_bands, known).with_output_types(Bands)
        )
        bands = (
            shards
            | "Mark" >> beam.Map(mark, known, beam.pvalue.AsSingleton(proposed))
            | "Marks" >> beam.CombineGlobally(joined_marks)
            | "CutCrowded" >> beam.Map(cut_crowded, known, beam.pvalue.AsSingleton(proposed)).with_output_types(Bands)
        )
        return (
            shards
            | "ToBands" >> beam.FlatMap(spread, known, beam.pvalue.AsSingleton(bands))
            | "ByBand" >> beam.GroupByKey()
            | "Sort" >> ask(beam.Map(sort, known).with_output_types(SortedBand), None, self.memory)
            | "Sorted" >> beam.combiners.ToList()
            | "MatchBands" >> ask(beam.Map(match, known).with_output_types(Matching), None, self.memory)
        )


class ChooseThreshold(beam.PTransform):
    """A plan to what is `ChosenPairs` of its matched bands."""

    def __init__(self, bands: beam.PCollection[int]) -> None:
        super().__init__()
        self.bands = bands

    def expand(self, plan: beam.PCollection[MinePlan]) -> beam.PCollection[ChosenPairs]:
        known = beam.pvalue.AsSingleton(plan)
        gold = beam.pvalue.AsSingleton(plan | "Gold" >> beam.Map(gold_of))
        return (
            self.bands
            | "Survey" >> beam.Map(survey, known, gold)
            | "AllBands" >> beam.combiners.ToList()
            | "Threshold" >> beam.Map(choose, known, gold).with_output_types(ChosenPairs)
        )


class MineAll(beam.PTransform):
    """`Mine` of a complete graph, as the root of a pipeline."""

    def __init__(self, transform: Mine, shards: list[Shard]) -> None:
        super().__init__()
        self.transform, self.shards = transform, shards

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[Shard]:
        return pbegin | "Shards" >> beam.Create(self.shards) | "Mine" >> self.transform


def _make_plan(ready: int, settings: MineSettings, resolve: Resolve | None) -> MinePlan:
    return make_plan(resolve(settings) if resolve else settings)


def _directions(shards: int) -> list[Direction]:
    return list(DIRECTIONS) if shards else []


def _join_means(direction: Direction, plan: MinePlan) -> Direction:
    return join_means(plan.work, direction, plan.sides)


def _propose(shard: GraphShard, plan: MinePlan, joined: int) -> ScoreCounts:
    return propose(shard, plan)


def _numbers(matching: Matching) -> range:
    return range(len(matching.rows))


def _cut(number: int, plan: MinePlan, chosen: ChosenPairs) -> Iterator[tuple | beam.pvalue.TaggedOutput]:
    edges, requests = cut(number, plan, chosen)
    yield from requests
    for item in edges:
        yield beam.pvalue.TaggedOutput(EDGES, item)


def _outputs(filtered: list[Filtered], plan: MinePlan, chosen: ChosenPairs) -> Iterator[tuple[Filtered, np.ndarray]]:
    return outputs(filtered, plan, chosen.selected)


def _write(item: tuple[Filtered, np.ndarray], plan: MinePlan) -> Shard:
    shard = write(item, plan)
    Metrics.counter(NAMESPACE, "pairs").inc(shard.rows)
    return shard
