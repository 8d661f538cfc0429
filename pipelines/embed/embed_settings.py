"""Settings of the second stage. Nothing heavy is imported: commands derive options from them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from encoder.settings import ComputeType

COMPUTE_DTYPE = (
    "type that the encoder computes in; float16 and bfloat16 are faster on an accelerator, bfloat16 on some CPUs, too, "
    "and refused on others"
)


def default_encoder() -> str:
    """The folder of the encoder in the package."""
    from encoder import default

    return str(default.model_folder())


class EmbedSettings(BaseModel):
    """Which sentences, with which encoder; `device`, `threads` and resource hints do not decide the result."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sentences: str = Field(description="the folder of a sentences dataset, any fsspec URL")
    encoder: str = Field(
        default_factory=default_encoder,
        description="an encoder folder or URL that every worker can read. Default: the one that comes with twinlode",
    )
    out: str = Field(description="the folder of the vectors dataset")
    dtype: Literal["float32", "float16"] = Field(
        default="float32", description="type of stored vectors; float16 takes half the disk"
    )
    compute_dtype: ComputeType = Field(default="float32", description=COMPUTE_DTYPE)
    device: str = Field(default="auto", description="device: auto, cpu, cuda, or cuda:1 and so on")
    threads: int | None = Field(default=None, ge=1, description="CPU threads of each worker; default: all cores")
    accelerator: str | None = Field(default=None, description="resource hint, such as type:nvidia-l4;count:1")
    min_ram: bool = Field(default=False, description="resource hint: ask for the memory that workers take")
    trust_remote_code: bool = Field(default=False, description="run Python code that comes with the encoder")
