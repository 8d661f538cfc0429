"""The Beam transform of the fourth stage: the steps of `pair_stage`, spread by shard with barriers between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import apache_beam as beam
import numpy as np
from apache_beam.metrics import Metrics

from mining.score_counts import ScoreCounts
from mining.scoring.surface import LengthModel
from pipelines.datasets.manifest import Shard
from pipelines.mine.edges import DIRECTIONS, Direction, GraphShard, join_means
from pipelines.mine.memory_budget import EDGE_BYTES
from pipelines.mine.mine_plan import MinePlan, make_plan
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.pair_shards import Filtered
from pipelines.mine.pair_stage import (
    ChosenPairs,
    TextKey,
    choose,
    complete,
    cut,
    cut_bands,
    cut_crowded,
    fetch,
    filter_group,
    gold_of,
    keep_aside,
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
from pipelines.mine.proposed_edges import Proposed
from pipelines.mine.rescoring_steps import (
    SOURCE,
    TARGET,
    Weights,
    describe,
    graph_to_ranges,
    length_model,
    measure,
    note_rescored,
    rescore,
    shards_to_rescore,
    targets,
    texts_to_ranges,
    texts_to_rescore,
    weigh,
)
from pipelines.mine.score_bands import Bands, Matching, SortedBand, joined_marks
from pipelines.mine.text_join import OutputPart, TextRequest
from pipelines.mine.thresholding import NO_GOLD, Matched
from pipelines.runners.resource_hints import ask

NAMESPACE = "twinlode.mine"
Resolve = Callable[[MineSettings], MineSettings]
REQUESTS, EDGES = "requests", "edges"


class Mine(beam.PTransform):
    """The `Shard`s of a graph to those of the pairs dataset, given when it is complete.

    Example::

        settings = MineSettings(graph="work/graph", source="work/en", target="work/de", out="work/pairs")
        pairs = graph_shards | Mine(settings)

    With `max` and `intersect` no sentence is in two pairs. `resolve` completes the settings when the job runs; with
    `rescoring` off it must not ask for candidates to be scored again, the steps of which are left out.
    """

    def __init__(self, settings: MineSettings, resolve: Resolve | None = None, *, rescoring: bool = True) -> None:
        super().__init__()
        self.settings, self.resolve, self.rescoring = settings, resolve, rescoring

    def expand(self, graph: beam.PCollection[Shard]) -> beam.PCollection[Shard]:
        ready = graph | "Graph" >> beam.combiners.Count.Globally()
        plan = ready | "Plan" >> beam.Map(_make_plan, self.settings, self.resolve).with_output_types(MinePlan)
        known = beam.pvalue.AsSingleton(plan)
        memory = self.settings.edges_at_once * EDGE_BYTES if self.settings.min_ram else None
        margins = plan
        proposed = plan | "Propose" >> ProposeByMargin()
        if self.rescoring:
            margins = plan | "Margins" >> MatchMargins(memory)
            every = (proposed, plan | "Rescore" >> Rescore()) | "Edges" >> beam.Flatten()
            proposed = every | "KeepEdges" >> beam.Reshuffle()  # so that no step before is taken again
        bands = plan | "Match" >> MatchEdges(proposed, memory)
        chosen = plan | "Choose" >> ChooseThreshold(bands, margins)
        decided = beam.pvalue.AsSingleton(chosen)
        parts = bands | "Cut" >> beam.FlatMap(_cut, known, decided).with_outputs(EDGES, main=REQUESTS)
        texts = parts[REQUESTS] | "ByText" >> beam.GroupByKey() | "Texts" >> beam.FlatMap(_fetch, known, decided)
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


class ProposeByMargin(beam.PTransform):
    """A plan to the files of edges that its graph shards put to the matching."""

    def expand(self, plan: beam.PCollection[MinePlan]) -> beam.PCollection[Proposed]:
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
        return shards | "Propose" >> beam.Map(_propose, known, beam.pvalue.AsSingleton(joined))


class MatchEdges(beam.PTransform):
    """A plan to the numbers of its matched bands: proposed edges are sorted by band of scores; only the greedy matching
    of `max` is then made by one worker, which holds one band at a time. `memory` is asked for where a band is held."""

    def __init__(self, proposed: beam.PCollection[Proposed], memory: int | None = None) -> None:
        super().__init__()
        self.proposed, self.memory = proposed, memory

    def expand(self, plan: beam.PCollection[MinePlan]) -> beam.PCollection[int]:
        known = beam.pvalue.AsSingleton(plan)
        proposed = self.proposed
        first = (
            proposed
            | "Scores" >> beam.Map(_counts)
            | "AllScores" >> beam.CombineGlobally(ScoreCounts.united)
            | "CutBands" >> beam.Map(cut_bands, known).with_output_types(Bands)
        )
        bands = (
            proposed
            | "Mark" >> beam.Map(mark, known, beam.pvalue.AsSingleton(first))
            | "Marks" >> beam.CombineGlobally(joined_marks)
            | "CutCrowded" >> beam.Map(cut_crowded, known, beam.pvalue.AsSingleton(first)).with_output_types(Bands)
        )
        return (
            proposed
            | "ToBands" >> beam.FlatMap(spread, known, beam.pvalue.AsSingleton(bands))
            | "ByBand" >> beam.GroupByKey()
            | "Sort" >> ask(beam.Map(sort, known).with_output_types(SortedBand), None, self.memory)
            | "Sorted" >> beam.combiners.ToList()
            | "MatchBands" >> ask(beam.Map(match, known).with_output_types(Matching), None, self.memory)
            | "Bands" >> beam.FlatMap(_numbers).with_output_types(int)
            | "SpreadBands" >> beam.Reshuffle()
        )


class MatchMargins(beam.PTransform):
    """What the margin alone matches, kept aside where the threshold needs it; gives the plan when it is."""

    def __init__(self, memory: int | None = None) -> None:
        super().__init__()
        self.memory = memory

    def expand(self, plan: beam.PCollection[MinePlan]) -> beam.PCollection[MinePlan]:
        aside = plan | "Aside" >> beam.Map(_by_margin).with_output_types(MinePlan)
        bands = aside | "Match" >> MatchEdges(aside | "Propose" >> ProposeByMargin(), self.memory)
        surveys = bands | "Survey" >> beam.Map(survey, beam.pvalue.AsSingleton(aside), NO_GOLD)
        kept = surveys | "AllBands" >> beam.combiners.ToList()
        return kept | "Keep" >> beam.Map(_keep_aside, beam.pvalue.AsSingleton(plan)).with_output_types(MinePlan)


class Rescore(beam.PTransform):
    """A plan to files of all candidates, scored by its pair classifier: the steps of `rescoring_steps`, spread by file
    and then by range of ids."""

    def expand(self, plan: beam.PCollection[MinePlan]) -> beam.PCollection[Proposed]:
        known = beam.pvalue.AsSingleton(plan)
        shards = plan | "Shards" >> beam.FlatMap(shards_to_rescore) | "SpreadShards" >> beam.Reshuffle()
        texts = plan | "Texts" >> beam.FlatMap(texts_to_rescore) | "SpreadTexts" >> beam.Reshuffle()
        weights = texts | "Weigh" >> beam.Map(weigh, known) | "Weights" >> beam.CombineGlobally(Weights.united)

        def ranges(side: int, *more: beam.PCollection) -> tuple[beam.PCollection, ...]:
            name = "Target" if side == TARGET else "Source"
            return (
                shards | f"GraphTo{name}s" >> beam.FlatMap(graph_to_ranges, side),
                texts | f"TextsTo{name}s" >> beam.FlatMap(texts_to_ranges, side),
                *more,
            )

        by_target = ranges(TARGET) | "ToTargets" >> beam.Flatten() | "ByTarget" >> beam.GroupByKey()
        ends = by_target | "Targets" >> beam.FlatMap(targets, known)
        by_source = ranges(SOURCE, ends) | "ToSources" >> beam.Flatten() | "BySource" >> beam.GroupByKey()
        lengths = by_source | "Measure" >> beam.Map(measure, known) | "Lengths" >> beam.CombineGlobally(LengthSample())
        described = by_source | "Describe" >> beam.FlatMap(
            describe, known, beam.pvalue.AsSingleton(weights), beam.pvalue.AsSingleton(lengths)
        )
        found = described | "ByTargetAgain" >> beam.GroupByKey() | "Score" >> beam.FlatMap(rescore, known)
        return found | "All" >> beam.combiners.ToList() | "Note" >> beam.FlatMap(note_rescored, known)


class LengthSample(beam.CombineFn):
    """Lengths of pairs to their `LengthModel`."""

    def create_accumulator(self) -> list[np.ndarray]:
        return []

    def add_input(self, parts: list[np.ndarray], measured: np.ndarray) -> list[np.ndarray]:
        return [*parts, measured]

    def merge_accumulators(self, several: Iterable[list[np.ndarray]]) -> list[np.ndarray]:
        return [part for parts in several for part in parts]

    def extract_output(self, parts: list[np.ndarray]) -> LengthModel:
        return length_model(parts)


class ChooseThreshold(beam.PTransform):
    """A plan to what is `ChosenPairs` of its matched bands, when the margins' own matching is kept aside."""

    def __init__(self, bands: beam.PCollection[int], margins: beam.PCollection[MinePlan]) -> None:
        super().__init__()
        self.bands, self.margins = bands, margins

    def expand(self, plan: beam.PCollection[MinePlan]) -> beam.PCollection[ChosenPairs]:
        known = beam.pvalue.AsSingleton(self.margins)
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


def _propose(shard: GraphShard, plan: MinePlan, joined: int) -> Proposed:
    return propose(shard, plan)


def _counts(found: Proposed) -> ScoreCounts:
    return found.counts


def _by_margin(plan: MinePlan) -> MinePlan:
    return plan.by_margin


def _keep_aside(surveys: list[tuple[int, Matched]], plan: MinePlan) -> MinePlan:
    keep_aside(surveys, plan)
    return plan


def _numbers(matching: Matching) -> range:
    return range(len(matching.rows))


def _cut(number: int, plan: MinePlan, chosen: ChosenPairs) -> Iterator[tuple | beam.pvalue.TaggedOutput]:
    edges, requests = cut(number, plan, chosen)
    yield from requests
    for item in edges:
        yield beam.pvalue.TaggedOutput(EDGES, item)


def _fetch(
    item: tuple[TextKey, Iterable[TextRequest]], plan: MinePlan, chosen: ChosenPairs
) -> Iterator[tuple[int, OutputPart]]:
    return fetch(item, plan, chosen.ranks_a_group)


def _outputs(filtered: list[Filtered], plan: MinePlan, chosen: ChosenPairs) -> Iterator[tuple[Filtered, np.ndarray]]:
    return outputs(filtered, plan, chosen.selected)


def _write(item: tuple[Filtered, np.ndarray], plan: MinePlan) -> Shard:
    shard = write(item, plan)
    Metrics.counter(NAMESPACE, "pairs").inc(shard.rows)
    return shard
