"""The Beam transform that writes pairs into files: a file a shard is written by as many workers as there are."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import apache_beam as beam

from pipelines.datasets.manifest import Shard, open_dataset
from pipelines.mine.pair_export import check_target, export_pairs, export_shard
from pipelines.runners.runner import Runner, run


class ExportPlan(NamedTuple):
    """Which pairs go where."""

    pairs: str  # folder of the pairs dataset
    url: str
    format: str | None
    languages: tuple[str | None, str | None]
    rejected: bool = False


class Export(beam.PTransform):
    """The `Shard`s of a pairs dataset, when it is complete, to the number of pairs in each file.

    Example::

        pairs = pipeline | MineText(settings, facts)
        pairs | Export(ExportPlan("gs://work/pairs", "gs://out/pairs-*.tsv.zst", None, ("en", "de")))

    A `*` in the name makes one file a shard; without it one worker writes them all, best first.
    """

    def __init__(self, plan: ExportPlan) -> None:
        super().__init__()
        check_target(plan.url, plan.format)
        self.plan = plan

    def expand(self, shards: beam.PCollection[Shard]) -> beam.PCollection[int]:
        if "*" not in self.plan.url:
            return (
                shards
                | "All" >> beam.combiners.Count.Globally()
                | "Write" >> beam.Map(_export_all, self.plan).with_output_types(int)
            )
        return (
            shards | "Spread" >> beam.Reshuffle() | "Write" >> beam.Map(_export_one, self.plan).with_output_types(int)
        )


class ExportAll(beam.PTransform):
    """`Export` of a complete dataset, as the root of a pipeline."""

    def __init__(self, plan: ExportPlan) -> None:
        super().__init__()
        self.plan = plan

    def expand(self, pbegin: beam.pvalue.PBegin) -> beam.PCollection[int]:
        return pbegin | "Shards" >> beam.Create(open_dataset(self.plan.pairs, "pairs").shards) | Export(self.plan)


def export_on_workers(plan: ExportPlan, runner: Runner) -> None:
    """Write the pairs of a complete dataset by the workers of a cluster."""
    run(partial(ExportAll, plan), runner, workers=1)


def _export_all(ready: int, plan: ExportPlan) -> int:
    return export_pairs(open_dataset(plan.pairs, "pairs"), *plan[1:3], *plan.languages, rejected=plan.rejected)


def _export_one(shard: Shard, plan: ExportPlan) -> int:
    return export_shard(shard, plan.pairs, plan.url, plan.format, *plan.languages, rejected=plan.rejected)
