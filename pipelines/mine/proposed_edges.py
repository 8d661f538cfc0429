"""Files of edges that are put to the matching."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mining.paths import exists
from mining.score_counts import ScoreCounts
from pipelines.datasets.work import Work
from pipelines.mine.edges import read_array, write_array
from pipelines.mine.score_bands import coarse


class Proposed(NamedTuple):
    """A file of edges: its name, and their coarse scores."""

    name: str
    counts: ScoreCounts


def write_proposals(work: Work, name: str, edges: np.ndarray, lowest: float | None) -> Proposed:
    """Keep edges, but for those that score less than `lowest`."""
    write_array(_url(work, name), edges if lowest is None else edges[edges["score"] >= lowest])
    return proposed(work, name)


def proposed(work: Work, name: str) -> Proposed:
    return Proposed(name, ScoreCounts.of(coarse(read_proposals(work, name)["score"])))


def read_proposals(work: Work, name: str) -> np.ndarray:
    return read_array(_url(work, name))


def are_written(work: Work, name: str) -> bool:
    return exists(_url(work, name))


def _url(work: Work, name: str) -> str:
    return work.scratch("proposals", name)
