"""The fourth stage: a graph in, pairs out: margin, matching, threshold, filters, and bounded shards of pairs.

`mine` runs its steps in this process, or `pair_transform.Mine` on more of them. What is finished is on disk at each
step (means, proposals, matched bands, filtered shards, pair shards), so a rerun continues there. No worker holds what
grows with the corpus, but for a bit a sentence while bands are matched, and the different scores that there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from mining.retrieval import Retrieval
from mining.score_counts import ScoreCounts
from pipelines.datasets.manifest import Counters, Dataset, Shard, open_dataset, read_model
from pipelines.datasets.work import Work, is_complete
from pipelines.mine import edges as scored
from pipelines.mine.candidate_ends import ROWS
from pipelines.mine.edges import (
    DIRECTIONS,
    GraphShard,
    forget_means,
    join_means,
    write_means,
)
from pipelines.mine.mine_plan import MinePlan, make_plan, start
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.pair_shards import Filtered, filter_shard, missing_outputs, repeated_targets, write_pair_shard
from pipelines.mine.proposed_edges import Proposed, are_written, proposed, read_proposals, write_proposals
from pipelines.mine.score_bands import (
    Bands,
    Matching,
    SortedBand,
    joined_marks,
    match_bands,
    matched_edges,
    matching_of,
    sort_band,
)
from pipelines.mine.text_join import (
    OutputPart,
    Side,
    TextRequest,
    cut_group,
    fetch_texts,
    mean_text_bytes,
    request_texts,
)
from pipelines.mine.thresholding import (
    NO_GOLD,
    Matched,
    Selected,
    gold_ids,
    is_probe,
    keep_margins,
    select,
    selection_url,
)
from pipelines.runners.freed_memory import release_memory
from pipelines.runners.progress import Phase, Watch, finished_files
from pipelines.runners.runner import Runner, RunnerSettings, run
from pipelines.runners.spool import Spool

if TYPE_CHECKING:
    import apache_beam as beam

TextKey = tuple[Side, int]


class ChosenPairs(NamedTuple):
    """What the threshold keeps, and how it goes to output shards."""

    selected: Selected
    starts: tuple[int, ...]  # the rank of the first corpus pair of each band
    missing: tuple[int, ...]  # output shards that are not filtered yet
    ranks_a_group: int


class Cut(NamedTuple):
    """A band on its way to output shards."""

    edges: list[tuple[int, OutputPart]]
    requests: list[tuple[TextKey, TextRequest]]


def mine(settings: MineSettings, runner: Runner | None = None, *, quiet: bool = True) -> Dataset:
    """Make the pairs dataset `settings.out`, or continue to, or find it complete."""
    work = start(settings)
    if isinstance(work, Dataset):
        return work
    graph = open_dataset(settings.graph, "graph")
    with work.alone():
        run(
            partial(_transform, settings, graph.shards),
            runner or RunnerSettings(),
            workers=1,
            watch=None if quiet else _watch(work),
            here=partial(_mine_here, settings),
        )
    return open_dataset(settings.out, "pairs")


def _transform(settings: MineSettings, graph: list[Shard]) -> beam.PTransform:
    from pipelines.mine.pair_transform import Mine, MineAll

    return MineAll(Mine(settings, rescoring=settings.rescore is not None), graph)


def _mine_here(settings: MineSettings) -> None:
    """What `Mine` does, in this process."""
    plan = make_plan(settings)
    _match_margins_here(plan)
    matching = _match_here(plan)
    gold = gold_of(plan)
    chosen = choose((survey(number, plan, gold) for number in range(len(matching.rows))), plan, gold)
    release_memory()
    filtered = _filter_here(plan, chosen)
    release_memory()
    complete([write(item, plan) for item in outputs(filtered, plan, chosen.selected)], plan)


def _match_margins_here(plan: MinePlan) -> None:
    aside = plan.by_margin
    if not aside.complete:
        matching = _match_here(aside)
        keep_aside([survey(number, aside, NO_GOLD) for number in range(len(matching.rows))], plan)


def _match_here(plan: MinePlan) -> Matching:
    found = _rescore_here(plan) if plan.settings.rescore is not None else propose_here(plan, propose)
    release_memory()
    matching = match([sort(item, plan) for item in by_band_here(found, plan)], plan)
    release_memory()
    return matching


def by_band_here(found: list[Proposed], plan: MinePlan) -> Iterator[tuple[int, Iterable[np.ndarray]]]:
    """The edges of all files, by the number of their band, best first."""
    bands = cut_bands(ScoreCounts.united([each.counts for each in found]), plan)
    bands = cut_crowded(joined_marks(mark(each, plan, bands) for each in found), plan, bands)
    with Spool[int, np.ndarray](plan.work) as spool:
        for each in found:
            spool.add(spread(each, plan, bands))
        yield from spool.groups()


def _rescore_here(plan: MinePlan) -> list[Proposed]:
    from pipelines.mine.rescoring_steps import rescore_here

    return rescore_here(plan)


def propose_here(plan: MinePlan, propose: Callable[[GraphShard, MinePlan], Proposed]) -> list[Proposed]:
    """What each file of the graph proposes, when the means of all are known."""
    shards = shards_to_score(plan)
    for shard in shards:
        means(shard, plan)
    for direction in DIRECTIONS if shards else ():
        join_means(plan.work, direction, plan.sides)
    found = [propose(shard, plan) for shard in shards]
    forget_means()
    return found


def _filter_here(plan: MinePlan, chosen: ChosenPairs) -> list[Filtered]:
    cuts = (cut(number, plan, chosen) for number in range(len(chosen.starts)))
    groups = with_texts_here(cuts, plan, chosen.ranks_a_group)
    return [done for group in groups for done in filter_group(group, plan)]


def with_texts_here(
    cuts: Iterable[Cut], plan: MinePlan, ranks_a_group: int
) -> Iterator[tuple[int, Iterable[OutputPart]]]:
    """Texts come to their pairs through two spools: by sentence shard, and back by group of output shards."""
    with Spool[int, OutputPart](plan.work) as by_group:
        with Spool[TextKey, TextRequest](plan.work) as by_text:
            for edges, requests in cuts:
                by_group.add(edges)
                by_text.add(requests)
            for asked in by_text.groups():
                by_group.add(fetch(asked, plan, ranks_a_group))
        yield from by_group.groups()


def shards_to_score(plan: MinePlan) -> list[GraphShard]:
    """Those whose edges are put to the matching by their margins."""
    done = plan.complete or matching_of(plan.work) is not None
    return [] if done or plan.settings.rescore is not None else plan.graph_shards


def means(shard: GraphShard, plan: MinePlan) -> GraphShard:
    return write_means(plan.work, shard)


def propose(shard: GraphShard, plan: MinePlan) -> Proposed:
    """Write the edges that a shard puts to the matching."""
    if are_written(plan.work, shard.name):
        return proposed(plan.work, shard.name)
    edges = scored.score_edges(plan.work, shard, plan.settings.margin, best_only=True)
    return write_proposals(plan.work, shard.name, edges, plan.lowest)


def cut_bands(counts: ScoreCounts, plan: MinePlan) -> Bands:
    return Bands.cut(counts, plan.settings.edges_at_once)


def mark(found: Proposed, plan: MinePlan, bands: Bands) -> np.ndarray:
    """What a file has to say of the scores that too many edges have."""
    if not len(bands.crowded):
        return joined_marks([])
    edges = read_proposals(plan.work, found.name)
    return bands.marks(edges, plan.settings.edges_at_once, _files(plan))


def _files(plan: MinePlan) -> int:
    """At most so many files of edges are put to the matching."""
    ranges = -(-plan.sides.rows("backward") // ROWS)
    return len(plan.graph_shards) if plan.settings.rescore is None else ranges


def cut_crowded(marks: np.ndarray, plan: MinePlan, bands: Bands) -> Bands:
    return bands.cut_finer(marks, plan.settings.edges_at_once)


def spread(found: Proposed, plan: MinePlan, bands: Bands) -> Iterator[tuple[int, np.ndarray]]:
    """The edges of a file by band."""
    return bands.split(read_proposals(plan.work, found.name))


def sort(item: tuple[int, Iterable[np.ndarray]], plan: MinePlan) -> SortedBand:
    return sort_band(plan.work, *item, plan.settings.retrieval)


def match(bands: Iterable[SortedBand], plan: MinePlan) -> Matching:
    return Matching(rows=[]) if plan.complete else match_bands(plan.work, bands, plan.sides, plan.settings.retrieval)


def gold_of(plan: MinePlan) -> np.ndarray:
    """The gold pairs as ids, where the threshold is tuned on some."""
    settings = plan.settings
    gold = settings.threshold.gold
    done = plan.complete or read_model(selection_url(plan.work), Selected) is not None
    return NO_GOLD if gold is None or done else gold_ids(gold, settings.source.corpus, settings.target.corpus)


def survey(number: int, plan: MinePlan, gold: np.ndarray) -> tuple[int, Matched]:
    """What the threshold needs to know of a band."""
    return number, Matched.of(matched_edges(plan.work, number), corpora_rows(plan), gold)


def keep_aside(surveys: Iterable[tuple[int, Matched]], plan: MinePlan) -> None:
    """Note what the margin alone matches, for the threshold."""
    if not plan.by_margin.complete:
        ordered = [found for _, found in sorted(surveys, key=lambda survey: survey[0])]
        keep_margins(plan.work, Matched.united(ordered))


def choose(surveys: Iterable[tuple[int, Matched]], plan: MinePlan, gold: np.ndarray) -> ChosenPairs:
    """The threshold."""
    if plan.complete:
        return ChosenPairs(Selected(rows=0, kept=0, threshold=0.0), (), (), 1)
    bands = [found for _, found in sorted(surveys, key=lambda survey: survey[0])]
    starts = np.cumsum([0, *(band.scores.total for band in bands)])[:-1]
    matched = Matched.united(bands)
    del bands  # all scores are there once more
    settings = plan.settings
    selected = read_model(selection_url(plan.work), Selected) or select(
        plan.work,
        matched,
        gold,
        settings.source,
        settings.target,
        settings.threshold,
        rescored=settings.rescore is not None,
    )
    missing = missing_outputs(plan.work, selected.kept, settings.rows_per_shard)
    return ChosenPairs(selected, tuple(starts.tolist()), tuple(missing), ranks_a_group(plan))


def ranks_a_group(plan: MinePlan) -> int:
    """Pairs of as many output shards as their texts fit in memory together."""
    rows = plan.settings.rows_per_shard
    pair_bytes = mean_text_bytes(plan.source_texts) + mean_text_bytes(plan.target_texts)
    return rows * max(1, int(plan.settings.text_memory // (rows * max(2 * pair_bytes, 1))))


def cut(number: int, plan: MinePlan, chosen: ChosenPairs) -> Cut:
    """The edges of a band by group of output shards, and which texts they want; of shards that are not there."""
    first, kept = chosen.starts[number], chosen.selected.kept
    if first >= kept or not chosen.missing:
        return Cut([], [])
    edges = matched_edges(plan.work, number)
    edges = edges[~is_probe(edges, corpora_rows(plan))][: kept - first]
    ranks = np.arange(first, first + len(edges))
    wanted = np.isin(ranks // plan.settings.rows_per_shard, chosen.missing)
    return cut_edges(edges[wanted], ranks[wanted], plan, chosen.ranks_a_group)


def cut_edges(edges: np.ndarray, ranks: np.ndarray, plan: MinePlan, ranks_a_group: int) -> Cut:
    """Edges of these ranks by group of output shards, and which texts they want."""
    parts = OutputPart("edges", ranks, edges).cut(ranks_a_group)
    return Cut(list(parts), list(request_texts(edges, ranks, plan.source_texts, plan.target_texts)))


def fetch(
    item: tuple[TextKey, Iterable[TextRequest]], plan: MinePlan, ranks_a_group: int
) -> Iterator[tuple[int, OutputPart]]:
    """The texts that were asked of a key of sentence shards, by group of output shards."""
    (side, key), requests = item
    texts = plan.source_texts if side == "src" else plan.target_texts
    return fetch_texts(side, texts.of_key(key), list(requests), ranks_a_group)


def filter_group(item: tuple[int, Iterable[OutputPart]], plan: MinePlan) -> Iterator[Filtered]:
    """The output shards of a group."""
    for number, parts in cut_group(item[1], plan.settings.rows_per_shard):
        yield filter_shard(plan.work, number, parts, plan.settings.filters, *plan.languages)


def corpora_rows(plan: MinePlan) -> tuple[int, int]:
    return plan.source_texts.rows, plan.target_texts.rows


def outputs(filtered: list[Filtered], plan: MinePlan, selected: Selected) -> Iterator[tuple[Filtered, np.ndarray]]:
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
    if repeats and limit:
        yield from repeated_targets(plan.work, notes, limit.max_pairs, plan.target_texts.rows)
    else:
        yield from ((note, np.empty(0, np.int64)) for note in notes)


def write(item: tuple[Filtered, np.ndarray], plan: MinePlan) -> Shard:
    return write_pair_shard(plan.work, *item)


def complete(shards: list[Shard], plan: MinePlan) -> list[Shard]:
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
        yield read_pair_shard(dataset.url, shard, rejected)


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
