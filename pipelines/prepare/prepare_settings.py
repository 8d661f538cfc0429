"""Settings of the first stage. Nothing heavy is imported: commands derive options from them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mining.language_id import LIKELY
from pipelines.datasets import ROWS_PER_SHARD
from pipelines.prepare.readers import ReadSettings


class PrepareSettings(BaseModel):
    """What to read and what to keep; everything here but `block_mb` and `memory_mb` decides the result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    inputs: list[str] = Field(min_length=1, description="files, URLs or globs, in order of precedence for duplicates")
    out: str = Field(description="the folder of the dataset, any fsspec URL")
    read: ReadSettings
    lang_filter: Literal["detect", "assume"] = Field(
        default="detect", description="detect: drop sentences of other languages; assume: trust the language given"
    )
    lang_probability: float = Field(
        default=LIKELY, ge=0, le=1, description="drop sentences that are less likely in the language"
    )
    documents: bool = Field(
        default=False,
        description="for alignment: keep order and repeats, and say of each sentence its document and its place there",
    )
    encoder: str | None = Field(
        default=None, description="an encoder folder; its subword ids become the column `pieces`"
    )
    rows_per_shard: int = Field(default=ROWS_PER_SHARD, ge=1, description="sentences in each shard")
    block_mb: float = Field(
        default=16,
        gt=0,
        allow_inf_nan=False,
        description="work item size: a larger file is cut, a larger archive makes parts",
    )
    memory_mb: int = Field(default=512, ge=1, description="memory that finding duplicates may take in each worker")

    @property
    def block_bytes(self) -> int:
        return max(int(self.block_mb * 2**20), 1)
