"""What a paper says of two rows of a comparison, and whether our figures say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from encoder.settings import Settings
from pipelines.evaluation.finished_rows import Finished, summary
from pipelines.evaluation.samples import Difference, compare

Verdict = Literal["replicated", "not replicated: the opposite", "cannot tell", "not run"]


class Claim(Settings):
    """`row` is higher (or lower) than `to` in `column`."""

    claim: str = Field(description="What the paper says, in a few words.")
    paper: str = Field(description="Its figures, and where they stand.")
    row: str = Field(description="The row that the claim is about.")
    to: str = Field(description="The row that it is held against.")
    column: str = Field(description="Title of the column.")
    expect: Literal["higher", "lower"] = Field("higher", description="What the paper's figures are.")


class Judged(NamedTuple):
    """A claim with our two figures and their difference."""

    claim: Claim
    row: float | None
    to: float | None
    difference: Difference | None
    verdict: Verdict


def judge(claim: Claim, rows: Sequence[Finished]) -> Judged:
    """A claim is replicated, or its opposite found, where the 95% interval of the difference leaves out zero."""
    row, to = (summary(rows, name, claim.column) for name in (claim.row, claim.to))
    if row is None or to is None:
        return Judged(claim, row and row.mean, to and to.mean, None, "not run")
    if row.replicas is None or to.replicas is None:
        return Judged(claim, row.mean, to.mean, None, "cannot tell")
    difference = compare(to.replicas, row.replicas, row.mean - to.mean)
    low, high = difference.interval
    if low <= 0 <= high:
        return Judged(claim, row.mean, to.mean, difference, "cannot tell")
    as_expected = (low > 0) == (claim.expect == "higher")
    return Judged(claim, row.mean, to.mean, difference, "replicated" if as_expected else "not replicated: the opposite")
