"""What a review ends in: `review.json` in the work folder, which the report shows and `mine` takes a threshold from."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from pipelines.datasets.manifest import join, read_model, write_model

REVIEW = "review.json"


class ReviewCurve(BaseModel):
    """One point per threshold, highest first: what is kept and how much of that is right, with 90% bounds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    threshold: list[float]
    kept: list[int]
    precision: list[float]
    precision_low: list[float]
    precision_high: list[float]


class ReviewResult(BaseModel):
    """The marks so far, the curve they give, and the threshold for the wanted precision; None where none reaches it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pairs: str = Field(description="the fingerprint of the pairs that were sampled")
    right: int
    wrong: int
    skipped: int
    wanted: float = Field(gt=0, le=1, description="the precision that is asked for")
    threshold: float | None
    precision: float | None = None
    precision_low: float | None = None
    precision_high: float | None = None
    kept: int | None = None
    curve: ReviewCurve

    def write(self, folder: str) -> None:
        write_model(join(folder, REVIEW), self)

    @classmethod
    def read(cls, folder: str, pairs: str) -> ReviewResult | None:
        """The review of these very pairs; one of other pairs says nothing about them."""
        found = read_model(join(folder, REVIEW), cls)
        return found if found is not None and found.pairs == pairs else None
