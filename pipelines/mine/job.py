"""The whole way from two corpora to pairs: every stage in its folder of one work folder, each resumed or skipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

from mining.filters import FilterSettings
from mining.margin import Margin
from mining.retrieval import Retrieval
from pipelines.datasets import ROWS_PER_SHARD
from pipelines.datasets.manifest import Dataset, join
from pipelines.embed.vector_stage import EmbedSettings, describe_encoder, embed
from pipelines.graph.graph_stage import GraphSettings, build_graph
from pipelines.graph.grid_cells import Mode
from pipelines.mine.pair_stage import MineSettings, mine
from pipelines.mine.probe_pairs import plant, read_seed_pairs
from pipelines.mine.thresholding import ThresholdSettings
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.sentence_stage import PrepareSettings, prepare
from pipelines.runners.runner import Runner, accelerator_of, require_reachable


class SideSettings(BaseModel):
    """One language: its files and how to read them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    inputs: list[str] = Field(min_length=1)
    read: ReadSettings
    lang_filter: str = "detect"


class JobSettings(BaseModel):
    """Everything that a mine from text to pairs needs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: SideSettings
    target: SideSettings
    encoder: str
    work: str = Field(description="folder of all intermediate datasets; the same folder continues the same job")
    dtype: str = "float32"
    k: int = Field(default=4, ge=1)
    mode: Mode = "exact"
    margin: Margin = Margin.ratio
    retrieval: Retrieval = Retrieval.max
    threshold: ThresholdSettings = ThresholdSettings()
    seed: str | None = Field(default=None, description="known translations for a target precision")
    pairs: str = Field(default="pairs", description="folder of the pairs within the work folder")
    filters: FilterSettings = FilterSettings()
    rows_per_shard: int = Field(default=ROWS_PER_SHARD, ge=1)
    device: str = "auto"
    threads: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _seed(self) -> JobSettings:
        if self.threshold.precision is not None and self.seed is None:
            raise ValueError("a target precision and seed pairs to calibrate it with go together")
        return self


class JobResult(NamedTuple):
    """The datasets that a job leaves in its work folder."""

    source: Dataset
    target: Dataset
    graph: Dataset
    pairs: Dataset


def mine_corpora(
    settings: JobSettings,
    runner: Runner | None = None,
    *,
    quiet: bool = True,
    report: Callable[[str], None] = lambda stage: None,
) -> JobResult:
    """Prepare and embed both sides, build their graph and mine it; `report` is told the name of each stage."""
    require_reachable(runner, [*settings.source.inputs, *settings.target.inputs, settings.encoder, settings.work])
    facts = describe_encoder(settings.encoder)
    sentences: list[Dataset] = []
    vectors: list[Dataset] = []
    plants: list[Dataset] = []
    for name, side in (("src", settings.source), ("tgt", settings.target)):
        report(f"prepare {name}")
        prepare_settings = PrepareSettings(
            inputs=side.inputs,
            out=join(settings.work, name),
            read=side.read,
            lang_filter=side.lang_filter,
            encoder=settings.encoder if facts.text else None,
            rows_per_shard=settings.rows_per_shard,
        )
        sentences.append(prepare(prepare_settings, runner, quiet=quiet))
    for number, (name, side) in enumerate((("src", settings.source), ("tgt", settings.target))):
        if settings.seed is not None:
            folder = join(settings.work, f"{name}-seed")
            plants.append(plant(settings.seed, number, sentences[number], side.read.lang, folder))
    for dataset in (*sentences, *plants):
        report(f"embed {dataset.url.rsplit('/', 1)[-1]}")
        vectors.append(embed(_embed_settings(settings, dataset, runner), runner, facts=facts, quiet=quiet))
    report("graph")
    graph_settings = GraphSettings(
        source=[dataset.url for dataset in vectors[0::2]],
        target=[dataset.url for dataset in vectors[1::2]],
        out=join(settings.work, "graph"),
        accelerator=accelerator_of(runner),
        **settings.model_dump(include={"k", "mode", "device", "threads"}),
    )
    graph = build_graph(graph_settings, runner, quiet=quiet)
    report("mine")
    pairs = mine(_mine_settings(settings, sentences, plants), runner, quiet=quiet)
    return JobResult(sentences[0], sentences[1], graph, pairs)


def _embed_settings(settings: JobSettings, sentences: Dataset, runner: Runner | None) -> EmbedSettings:
    common = settings.model_dump(include={"encoder", "dtype", "device", "threads"})
    out = f"{sentences.url}-vectors"
    return EmbedSettings(sentences=sentences.url, out=out, accelerator=accelerator_of(runner), **common)


def _mine_settings(settings: JobSettings, sentences: list[Dataset], plants: list[Dataset]) -> MineSettings:
    threshold = settings.threshold
    if settings.seed is not None:
        threshold = threshold.model_copy(update={"seed_pairs": len(read_seed_pairs(settings.seed))})
    everything = [dataset.url for dataset in (*sentences, *plants)]
    return MineSettings(
        graph=join(settings.work, "graph"),
        source=everything[0::2],
        target=everything[1::2],
        out=join(settings.work, settings.pairs),
        margin=settings.margin,
        retrieval=settings.retrieval,
        threshold=threshold,
        filters=settings.filters,
        rows_per_shard=settings.rows_per_shard,
    )
