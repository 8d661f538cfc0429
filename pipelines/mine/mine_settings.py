"""Settings of a mine, from corpora to threshold. Nothing heavy is imported: commands derive options from them."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from encoder.languages import canonical
from encoder.settings import ComputeType
from mining.filters import FilterSettings
from mining.margin import Margin
from mining.retrieval import Retrieval
from pipelines.datasets import ROWS_PER_SHARD
from pipelines.datasets.side_folders import SideFolders
from pipelines.embed.embed_settings import COMPUTE_DTYPE, default_encoder
from pipelines.graph.graph_settings import CODEBOOK, COPIES, MEMORY, SEARCH, MemorySize, Search
from pipelines.prepare.readers import ReadSettings

EDGES_AT_ONCE = 20_000_000
ONE_WORKER_TEXT = 1 << 30
Rescoring = Literal["auto", "on", "off"]
RESCORE = "score candidates again by the encoder's pair classifier before matching; auto: where it has one"


def _known_device(name: str) -> str:
    if re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", name) is None:
        raise ValueError(f"{name} is no device; choose auto, cpu, mps, cuda, or cuda:1 and so on")
    return name


Device = Annotated[str, AfterValidator(_known_device)]


class ThresholdSettings(BaseModel):
    """At most one of these; with none of them every matched pair is kept."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at_least: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="keep pairs that score at least this: a margin, or with --rescore on the classifier's log odds",
    )
    top: int | None = Field(default=None, ge=0, description="keep this many pairs, the best")
    gold: str | None = Field(
        default=None, description="tune the threshold on true pairs: two columns, ids or sentences"
    )
    precision: float | None = Field(
        default=None, gt=0, le=1, description="choose the threshold for this precision, estimated by probe pairs"
    )

    in_doubt: Literal["refuse", "classifier"] = Field(
        default="refuse",
        description="where probe pairs cannot tell: an error if no threshold reaches the precision, or the pairs that "
        "the classifier finds more likely right than wrong (every matched pair where candidates are not scored again)",
    )

    @model_validator(mode="after")
    def _one(self) -> ThresholdSettings:
        if sum(value is not None for value in (self.at_least, self.top, self.gold, self.precision)) > 1:
            raise ValueError("give only one of a threshold, a number of pairs, gold pairs and a target precision")
        return self


class RescoreSettings(BaseModel):
    """Score candidates by a pair classifier before they are matched."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: str = Field(description="the encoder of the vectors, for vectors of words")
    classifier: str = Field(description="the folder of its pair classifier")
    version: str = Field(description="a hash of the classifier")
    threads: int | None = Field(default=None, ge=1, description="CPU threads of each worker; default: all cores")


class MineSettings(BaseModel):
    """Which graph and sentences, and how pairs are chosen.

    Everything but `edges_at_once`, `text_memory`, `min_ram` and threads decides the result.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    graph: str = Field(description="the folder of a graph dataset")
    source: SideFolders = Field(description="sentences of the source side")
    target: SideFolders = Field(description="sentences of the target side")
    out: str = Field(description="the folder of the pairs dataset")
    margin: Margin = Field(default=Margin.ratio, description="how a cosine is compared with those of the neighbours")
    retrieval: Retrieval = Field(default=Retrieval.max, description="which candidates become pairs")
    threshold: ThresholdSettings = ThresholdSettings()
    filters: FilterSettings = FilterSettings()
    rescore: RescoreSettings | None = None
    rows_per_shard: int = Field(default=ROWS_PER_SHARD, ge=1, description="pairs in each shard")
    edges_at_once: int = Field(default=EDGES_AT_ONCE, ge=1, description="edges that one process sorts at once")
    text_memory: int = Field(default=ONE_WORKER_TEXT, ge=0, description="bytes of text that one process holds at once")
    min_ram: bool = Field(default=False, description="resource hint: ask for the memory that workers take")

    @model_validator(mode="after")
    def _probes(self) -> MineSettings:
        needed = self.threshold.precision is not None and self.threshold.in_doubt == "refuse"
        if needed and None in (self.source.probes, self.target.probes):
            raise ValueError("a target precision needs probe pairs on both sides to calibrate the threshold with")
        if self.rescore is not None and self.retrieval != Retrieval.max:
            raise ValueError("candidates that are scored again are matched one to one: retrieval must be max")
        return self


class SideSettings(BaseModel):
    """One language: its files and how to read them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    inputs: list[str] = Field(min_length=1, description="files, URLs or globs")
    read: ReadSettings
    lang_filter: Literal["detect", "assume"] = Field(
        default="detect", description="detect: drop sentences of other languages; assume: trust the language given"
    )


class PairSearchSettings(BaseModel):
    """How pairs are found and which are kept, whatever the vectors come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    work: str = Field(description="folder of all intermediate datasets; the same folder continues the same job")
    k: int = Field(default=4, ge=1, description="neighbours that a margin is measured against")
    search: Search = Field(default="auto", description=SEARCH)
    copies: int | None = Field(default=None, ge=1, description=COPIES)
    codebook: str | None = Field(default=None, description=CODEBOOK)
    margin: Margin = Field(default=Margin.ratio, description="how a cosine is compared with those of the neighbours")
    retrieval: Retrieval = Field(default=Retrieval.max, description="which candidates become pairs")
    threshold: ThresholdSettings = ThresholdSettings()
    seed: str | None = Field(
        default=None, description="known translations (source TAB target) to calibrate the precision with, 80 or more"
    )
    pairs: str = Field(default="pairs", description="folder of the pairs within the work folder")
    filters: FilterSettings = FilterSettings()
    rows_per_shard: int = Field(default=ROWS_PER_SHARD, ge=1, description="sentences, vectors and pairs in each shard")
    device: Device = Field(default="auto", description="device: auto, cpu, cuda, or cuda:1 and so on")
    threads: int | None = Field(
        default=None, ge=1, description="CPU threads of each worker. Default: all cores; one on a cluster"
    )
    memory: MemorySize = Field(
        default=MEMORY, description="memory of each worker, besides the encoder and mapped files"
    )


class JobSettings(PairSearchSettings):
    """Everything that a mine from text to pairs needs."""

    source: SideSettings
    target: SideSettings
    encoder: str = Field(
        default_factory=default_encoder,
        description="encoder: a folder, a URL, or a Hugging Face model. Default: the one that comes with twinlode",
    )
    trust_remote_code: bool = Field(default=False, description="run Python code that comes with the encoder")
    dtype: Literal["float32", "float16"] = Field(
        default="float32", description="type of stored vectors; float16 takes half the disk"
    )
    compute_dtype: ComputeType = Field(default="float32", description=COMPUTE_DTYPE)
    rescore: Rescoring = Field(default="auto", description=f"{RESCORE} and --threshold is not given")
    classifier: str | None = Field(
        default=None, description="folder of a pair classifier that scores them. Default: the encoder's"
    )
    probes: Literal["seed", "encoder", "none"] = Field(
        default="seed", description="where probe pairs come from: the seed bitext, the default encoder's own, nowhere"
    )

    @property
    def wants_shipped_probes(self) -> bool:
        return self.probes == "encoder"

    @property
    def has_probes(self) -> bool:
        return self.seed is not None or self.wants_shipped_probes

    @model_validator(mode="after")
    def _precision(self) -> JobSettings:
        wanted = self.threshold.precision is not None
        if wanted and self.probes == "none" and self.threshold.in_doubt == "refuse":
            raise ValueError("a target precision needs probe pairs, or in_doubt: classifier")
        if wanted and self.seed is None and self.probes == "seed":
            raise ValueError("a target precision and seed pairs to calibrate it with go together")
        return self


class VectorFileSettings(BaseModel):
    """One side whose vectors exist: a file of them, and the text, one sentence a line in the same order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    vectors: str = Field(description="vectors of the lines: .arrow, .npy, or LASER's raw floats")
    text: str = Field(description="text, one sentence a line (gz, bz2, xz, zst by extension)")
    lang: str | None = Field(default=None, description="language, for filters, TMX and Moses")
    seed_vectors: str | None = Field(
        default=None, description="vectors of the seed pairs' sentences, unless these stand in the text"
    )

    @field_validator("lang")
    @classmethod
    def _canonical(cls, lang: str | None) -> str | None:
        return canonical(lang) if lang else None


class VectorJobSettings(PairSearchSettings):
    """Everything that a mine of vectors that exist needs."""

    source: VectorFileSettings
    target: VectorFileSettings
    dim: int | None = Field(default=None, ge=1, description="dimension of raw vectors")
    dtype: Literal["float32", "float16"] | None = Field(
        default=None, description="type of raw vectors: float32 or float16"
    )
    filters: FilterSettings = FilterSettings.none()

    @model_validator(mode="after")
    def _seed(self) -> VectorJobSettings:
        if (self.threshold.precision is None) != (self.seed is None):
            raise ValueError("a target precision and seed pairs to calibrate it with go together")
        given = self.source.seed_vectors is not None, self.target.seed_vectors is not None
        if given[0] != given[1] or (any(given) and self.seed is None):
            raise ValueError("vectors of the seed are needed for both sides, beside the seed pairs themselves")
        return self
