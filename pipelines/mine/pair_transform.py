"""The Beam transform of the fourth stage: the steps of `pair_stage`, spread by shard with barriers between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apache_beam as beam
import numpy as np
from apache_beam.metrics import Metrics

from mining.retrieval import Retrieval
from pipelines.datasets.manifest import Shard
from pipelines.mine.edges import GraphShard
from pipelines.mine.match_rounds import Match
from pipelines.mine.mine_plan import MinePlan, make_plan
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.pair_shards import Filtered, TextRequest
from pipelines.mine.pair_stage import (
    complete,
    cut,
    fetch,
    filter_output,
    means,
    outputs,
    propose,
    retrieved,
    shards_to_score,
    threshold,
    write,
)
from pipelines.mine.thresholding import Selected

NAMESPACE = "twinlode.mine"
Resolve = Callable[[MineSettings], MineSettings]


class Mine(beam.PTransform):
    """The `Shard`s of a graph to those of the pairs dataset, given when it is complete.

    Example::

        settings = MineSettings(graph="work/graph", source=["work/en"], target=["work/de"], out="work/pairs")
        pairs = graph_shards | Mine(settings)

    With `max` and `intersect` no sentence is in two pairs. `max` is matched in rounds spread over workers; give
    `rounds=False` for a graph that is known to be small enough for one worker. `resolve` completes the settings when
    the graph is there, where what is asked for depends on it.
    """

    def __init__(self, settings: MineSettings, rounds: bool = True, resolve: Resolve | None = None) -> None:
        super().__init__()
        self.settings, self.rounds, self.resolve = settings, rounds, resolve

    def expand(self, graph: beam.PCollection[Shard]) -> beam.PCollection[Shard]:
        ready = graph | "Graph" >> beam.combiners.Count.Globally()
        plan = ready | "Plan" >> beam.Map(_make_plan, self.settings, self.resolve).with_output_types(MinePlan)
        known = beam.pvalue.AsSingleton(plan)
        selected = plan | "Select" >> SelectPairs(self.settings, self.rounds)
        requests = selected | "Cut" >> beam.FlatMap(_cut, known).with_outputs("parts", main="requests")
        texts = requests["requests"] | "SpreadTexts" >> beam.Reshuffle() | "Texts" >> beam.FlatMap(fetch, known)
        filtered = (
            (texts, requests["parts"])
            | "TextsAndEdges" >> beam.Flatten()
            | "ByOutput" >> beam.GroupByKey()
            | "Filter" >> beam.Map(filter_output, known).with_output_types(Filtered)
            | "AllFiltered" >> beam.combiners.ToList()
        )
        return (
            filtered
            | "Outputs" >> beam.FlatMap(outputs, known, beam.pvalue.AsSingleton(selected))
            | "SpreadOutputs" >> beam.Reshuffle()
            | "Write" >> beam.Map(_write, known).with_output_types(Shard)
            | "AllPairs" >> beam.combiners.ToList()
            | "Complete" >> beam.FlatMap(complete, known).with_output_types(Shard)
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
            | "Shards" >> beam.FlatMap(shards_to_score).with_output_types(GraphShard)
            | "Spread" >> beam.Reshuffle()
            | "Means" >> beam.Map(means, known).with_output_types(GraphShard)
            | "AfterMeans" >> Barrier()
            | "Propose" >> beam.Map(propose, known).with_output_types(GraphShard)
            | "AfterProposals" >> Barrier()
            | "Unite" >> beam.FlatMap(retrieved, known)
        )
        matched = self.settings.retrieval != Retrieval.max
        if self.rounds and not matched:
            proposed, matched = proposed | "Match" >> Match(self.settings.one_worker_edges), True
        chosen = beam.pvalue.AsIter(proposed)
        return plan | "Threshold" >> beam.Map(threshold, chosen, matched).with_output_types(Selected)


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


class MineAll(beam.PTransform):
    """`Mine` of a complete graph, as the root of a pipeline."""

    def __init__(self, transform: Mine, shards: list[Shard]) -> None:
        super().__init__()
        self.transform, self.shards = transform, shards

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[Shard]:
        return pbegin | "Shards" >> beam.Create(self.shards) | "Mine" >> self.transform


def _make_plan(ready: int, settings: MineSettings, resolve: Resolve | None) -> MinePlan:
    return make_plan(resolve(settings) if resolve else settings)


def _cut(selected: Selected, plan: MinePlan) -> Iterator[TextRequest | beam.pvalue.TaggedOutput]:
    for item in cut(selected, plan):
        yield item if isinstance(item, TextRequest) else beam.pvalue.TaggedOutput("parts", item)


def _write(item: tuple[Filtered, np.ndarray], plan: MinePlan) -> Shard:
    shard = write(item, plan)
    Metrics.counter(NAMESPACE, "pairs").inc(shard.rows)
    return shard
