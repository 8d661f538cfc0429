"""Settings of a plan. Nothing heavy is imported: the command derives its options from them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from pipelines.datasets import ROWS_PER_SHARD
from pipelines.embed.embed_settings import default_encoder
from pipelines.graph.graph_settings import MEMORY, SEARCH, MemorySize, Search
from pipelines.mine.mine_settings import RESCORE, Rescoring

USUAL_COPIES = 20  # about as many as partitioned searches choose


class Prices(BaseModel):
    """What a cloud charges, in one currency; the defaults are list prices of a large one, in dollars."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    core_hour: float = Field(default=0.07, ge=0, description="a vCPU for an hour, with its memory")
    shuffled_gb: float = Field(default=0.011, ge=0, description="a gigabyte through the engine's shuffle")
    stored_gb_month: float = Field(default=0.02, ge=0, description="a gigabyte kept for a month")
    thousand_requests: float = Field(default=0.005, ge=0, description="a thousand files opened or written")


class GpuSettings(BaseModel):
    """Which GPUs embed and compare; what is not stated here is measured on that of this machine, or assumed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["auto", "none", "T4", "L4", "V100", "A100"] = Field(
        default="auto", description="GPU that embeds and compares; auto: that of this machine, if it has one"
    )
    count: int = Field(default=1, ge=1, description="GPUs that work at the same time")
    sentences_per_second: float | None = Field(
        default=None, gt=0, description="sentences that one embeds in a second, as measured elsewhere"
    )
    comparisons_per_second: float | None = Field(
        default=None, gt=0, description="vectors that one compares in a second, as measured elsewhere"
    )
    price_per_hour: float | None = Field(
        default=None, ge=0, description="a GPU for an hour. Default: the list price of a large cloud, in dollars"
    )


class PlanSettings(BaseModel):
    """How the mine would be run, and what it may cost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: str = Field(
        default_factory=default_encoder,
        description="encoder: a folder, a URL, or a Hugging Face model. Default: the one that comes with twinlode",
    )
    search: Search = Field(default="auto", description=SEARCH)
    k: int = Field(default=4, ge=1, description="neighbours that a margin is measured against")
    copies: int | None = Field(
        default=None, ge=1, description=f"most cells of a vector in a partitioned search. Default: {USUAL_COPIES}"
    )
    rescore: Rescoring = Field(default="auto", description=RESCORE)
    rows_per_shard: int = Field(default=ROWS_PER_SHARD, ge=1, description="sentences, vectors and pairs in each shard")
    memory: MemorySize = Field(default=MEMORY, description="memory of each worker")
    workers: int = Field(default=2, ge=1, description="cores that work at the same time")
    gpu: GpuSettings = GpuSettings()
    sample: int = Field(default=64_000, ge=200, description="lines of each side that are mined to calibrate the plan")
    budget: float | None = Field(default=None, gt=0, description="refuse a plan that costs more money than this")
    prices: Prices = Prices()

    @property
    def planned_copies(self) -> int:
        """Of a partitioned search: as given, or as usual."""
        return self.copies or USUAL_COPIES
