"""Finished shards of a graph: the neighbours of one vector shard in a Parquet file, with what its sample says."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from mining.neighbours import Neighbours, write_neighbours
from mining.top_k import MISSING
from pipelines.datasets.manifest import Counters, Shard, fingerprint, read_model, write_model
from pipelines.datasets.work import Work, new_name

Direction = Literal["forward", "backward"]
DIRECTIONS: tuple[Direction, Direction] = ("forward", "backward")  # of the source's rows, of the target's


class SampleCheck(BaseModel):
    """What a graph has of the true neighbours of some rows."""

    model_config = ConfigDict(frozen=True)

    rows: int = 0
    hits: int = 0  # true neighbours that are there
    total: int = 0
    nearest: int = 0  # rows whose nearest is there
    probes: int = 0  # known translations that are true neighbours
    probes_found: int = 0  # those of them that are there
    mean_error: float = 0.0  # sum over the rows of what the mean cosine of their neighbours lacks, as a share of it

    @classmethod
    def of(cls, found: Neighbours, truth: Neighbours) -> SampleCheck:
        exists = truth.ids != MISSING
        there = (truth.ids[:, :, None] == found.ids[:, None, :]).any(2) & exists
        means = truth.means()
        lacking = np.divide(means - found.means(), np.abs(means), out=np.zeros(len(means)), where=means != 0)
        return cls(
            rows=int(exists[:, 0].sum()) if len(exists) else 0,
            hits=int(there.sum()),
            total=int(exists.sum()),
            nearest=int(there[:, 0].sum()) if len(there) else 0,
            mean_error=float(np.abs(lacking).sum()),
        )

    def __add__(self, other: SampleCheck) -> SampleCheck:
        pairs = zip(self.model_dump().items(), other.model_dump().values(), strict=True)
        return SampleCheck(**{name: ours + theirs for (name, ours), theirs in pairs})

    def measures(self, direction: str) -> dict[str, float]:
        found = {f"{direction}_probe_pairs_found": self.probes_found / self.probes} if self.probes else {}
        if not self.total:
            return found
        return found | {
            f"{direction}_recall": self.hits / self.total,
            f"{direction}_recall_at_1": self.nearest / self.rows,
            f"{direction}_mean_error": self.mean_error / self.rows,
        }


class MergedShard(BaseModel):
    """A finished shard of the graph, and how many true neighbours of its sample it has."""

    model_config = ConfigDict(frozen=True)

    shard: Shard
    check: SampleCheck


def finished_shard(work: Work, direction: Direction, number: int) -> MergedShard | None:
    return read_model(_note(work, direction, number), MergedShard)


def write_shard(
    work: Work, direction: Direction, number: int, index: int, ids: np.ndarray, found: Neighbours, check: SampleCheck
) -> MergedShard:
    """`number` counts the shards of a side, `index` those of both."""
    name = new_name(number, "parquet", f"{direction}-")
    write_neighbours(work.place(name), ids, found, {"direction": direction})
    digest = fingerprint(ids.tobytes(), found.ids.tobytes(), found.scores.tobytes())
    shard = work.sealed(Shard(index=index, name=name, rows=len(ids), digest=digest, role=direction))
    merged = MergedShard(shard=shard, check=check)
    write_model(_note(work, direction, number), merged)
    return merged


def complete_graph(work: Work, merged: list[MergedShard], also: dict[str, float] | None = None) -> list[Shard]:
    """The manifest, with the recall of both directions; `also` adds measures of the search itself."""
    measures: dict[str, float] = dict(also or {})
    for direction in ("forward", "backward"):
        parts = [part.check for part in merged if part.shard.role == direction]
        measures |= sum(parts, SampleCheck()).measures(direction)
    rows = sum(part.shard.rows for part in merged)
    return work.complete([part.shard for part in merged], Counters(rows_in=rows, kept=rows), measures).shards


def _note(work: Work, direction: Direction, number: int) -> str:
    return work.scratch("merged", f"{direction}-{number:05d}.json")
