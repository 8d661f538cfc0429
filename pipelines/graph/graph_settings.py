"""Settings of a graph. Nothing heavy is imported: commands derive options from them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ByteSize, ConfigDict, Field

from pipelines.datasets.side_folders import SideFolders

Search = Literal["exact", "partitioned", "approximate", "auto"]
SEARCH = (
    "exact; partitioned, at a cost that grows linearly; approximate, by FAISS on one machine; or auto: exact up to "
    "10^12 comparisons, partitioned beyond"
)
COPIES = "partitioned: most cells of a vector. Default: as few as find 98.2% of the k nearest and 99% of probe pairs"
CODEBOOK = "partitioned: folder of a graph of the same encoder, to use its codebook again"
MEMORY = ByteSize(4 << 30)


def _enough(size: ByteSize) -> ByteSize:
    if size < 1 << 20:
        raise ValueError("give 1MiB or more")
    return size


MemorySize = Annotated[ByteSize, AfterValidator(_enough)]


class GraphSettings(BaseModel):
    """Which vectors of each side and how many neighbours."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: SideFolders = Field(description="vectors of the source side")
    target: SideFolders = Field(description="vectors of the target side")
    out: str = Field(description="the folder of the graph dataset")
    k: int = Field(default=4, ge=1, description="neighbours of each sentence")
    search: Search = Field(default="auto", description=SEARCH)
    copies: int | None = Field(default=None, ge=1, description=COPIES)
    codebook: str | None = Field(default=None, description=CODEBOOK)
    device: str = Field(default="auto", description="device: auto, cpu, cuda, or cuda:1 and so on")
    threads: int | None = Field(default=None, ge=1, description="CPU threads of each worker; default: all cores")
    memory: MemorySize = Field(
        default=MEMORY,
        description="memory of a worker, besides mapped files",
    )
    accelerator: str | None = Field(default=None, description="resource hint, such as type:nvidia-l4;count:1")
    min_ram: bool = Field(default=False, description="resource hint: ask for the memory that workers take")
