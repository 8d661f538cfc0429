"""The fourth stage: a graph in, pairs out: margin, matching, threshold, filters, and bounded shards of pairs.

`mine` runs its steps in this process, or `pair_transform.Mine` on more of them. What is finished is on disk at each
step (means, proposals, the selection, filtered shards, pair shards), so a rerun continues there. Sorting and
thresholding is for one worker: 25 bytes a pair; everything else is spread by shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mining.retrieval import Retrieval
from pipelines.datasets.manifest import Counters, Dataset, Shard, open_dataset, read_model
from pipelines.datasets.work import Work, is_complete
from pipelines.mine.edges import EDGE, GraphShard, best_first, read_array, united, write_means, write_proposals
from pipelines.mine.matching import greedy
from pipelines.mine.mine_plan import MinePlan, make_plan, start
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.pair_shards import (
    Filtered,
    OutputPart,
    TextRequest,
    cut_selection,
    fetch_texts,
    filter_shard,
    mean_text_bytes,
    missing_outputs,
    repeated_targets,
    write_pair_shard,
)
from pipelines.mine.thresholding import Selected, select, selection_url
from pipelines.runners.progress import Phase, Watch, finished_files
from pipelines.runners.runner import Runner, RunnerSettings, run

if TYPE_CHECKING:
    import apache_beam as beam


def mine(settings: MineSettings, runner: Runner | None = None, *, quiet: bool = True) -> Dataset:
    """Make the pairs dataset `settings.out`, or continue to, or find it complete."""
    work = start(settings)
    if isinstance(work, Dataset):
        return work
    graph = open_dataset(settings.graph, "graph")
    rounds = graph.rows > settings.one_worker_edges
    with work.alone():
        run(
            partial(_transform, settings, rounds, graph.shards),
            runner or RunnerSettings(),
            workers=1,
            watch=None if quiet else _watch(work),
            here=None if rounds else partial(_mine_here, settings),
        )
    return open_dataset(settings.out, "pairs")


def _transform(settings: MineSettings, rounds: bool, graph: list[Shard]) -> beam.PTransform:
    from pipelines.mine.pair_transform import Mine, MineAll

    return MineAll(Mine(settings, rounds), graph)


def _mine_here(settings: MineSettings) -> None:
    """What `Mine` does, in this process."""
    plan = make_plan(settings)
    shards = shards_to_score(plan)
    for step in (means, propose):
        for shard in shards:
            step(shard, plan)
    proposed = (edges for shard in shards for edges in retrieved(shard, plan))
    selected = threshold(plan, proposed, settings.retrieval != Retrieval.max)
    filtered = [done for group in _output_groups(selected, plan) for done in _filter_group(selected, plan, group)]
    complete([write(item, plan) for item in outputs(filtered, plan, selected)], plan)


def _output_groups(selected: Selected, plan: MinePlan) -> list[list[int]]:
    """The output shards that are missing, as many at a time as their texts fit in memory."""
    if plan.complete:
        return []
    rows = plan.settings.rows_per_shard
    pair_bytes = 2 * sum(mean_text_bytes(texts) for texts in (plan.source_texts, plan.target_texts))
    at_once = max(1, int(plan.settings.text_memory // (rows * max(pair_bytes, 1))))
    missing = missing_outputs(plan.work, selected.kept, rows)
    return [missing[first : first + at_once] for first in range(0, len(missing), at_once)]


def _filter_group(selected: Selected, plan: MinePlan, group: Sequence[int]) -> list[Filtered]:
    by_output: dict[int, list[OutputPart]] = {}
    for item in cut(selected, plan, group):
        for number, part in fetch(item, plan) if isinstance(item, TextRequest) else [item]:
            by_output.setdefault(number, []).append(part)
    return [filter_output(item, plan) for item in sorted(by_output.items())]


def shards_to_score(plan: MinePlan) -> list[GraphShard]:
    done = plan.complete or read_model(selection_url(plan.work), Selected) is not None
    return [] if done else plan.graph_shards


def means(shard: GraphShard, plan: MinePlan) -> GraphShard:
    return write_means(plan.work, shard)


def propose(shard: GraphShard, plan: MinePlan) -> GraphShard:
    if plan.settings.rescore is not None:  # every candidate is scored, by one worker
        return shard
    return write_proposals(plan.work, shard, plan.sides, plan.settings.margin)


def retrieved(shard: GraphShard, plan: MinePlan) -> Iterator[np.ndarray]:
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


def threshold(plan: MinePlan, chosen: Iterable[np.ndarray], matched: bool) -> Selected:
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


def cut(
    selected: Selected, plan: MinePlan, wanted: Sequence[int] | None = None
) -> Iterator[TextRequest | tuple[int, OutputPart]]:
    """Which sentence shard owes which texts to which output shard, for the output shards that are not there."""
    if plan.complete:
        return
    edges = read_array(plan.work.scratch("selected.npy"))
    rows = plan.settings.rows_per_shard
    outputs = missing_outputs(plan.work, len(edges), rows) if wanted is None else wanted
    yield from cut_selection(edges, plan.source_texts, plan.target_texts, rows, outputs)


def fetch(request: TextRequest, plan: MinePlan) -> Iterator[tuple[int, OutputPart]]:
    return fetch_texts(request, plan.settings.rows_per_shard)


def filter_output(item: tuple[int, Iterable[OutputPart]], plan: MinePlan) -> Filtered:
    number, parts = item
    return filter_shard(plan.work, number, list(parts), plan.settings.filters, *plan.languages)


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
    nothing = [np.empty(0, np.int64)] * shards
    dropped = repeated_targets(plan.work, notes, limit.max_pairs) if repeats and limit else nothing
    yield from zip(notes, dropped, strict=True)


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
