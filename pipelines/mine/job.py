"""The whole way from two corpora to pairs: every stage in its folder of one work folder, each resumed or skipped."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pipelines.datasets.manifest import Dataset, join
from pipelines.embed.vector_stage import EmbedSettings, describe_encoder, embed
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph
from pipelines.mine.mine_settings import JobSettings, MineSettings
from pipelines.mine.pair_stage import mine
from pipelines.mine.probe_pairs import plant, read_seed_pairs
from pipelines.prepare.sentence_stage import PrepareSettings, prepare
from pipelines.runners.runner import Runner, accelerator_of, require_reachable


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
    probes: list[Dataset] = []
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
            probes.append(plant(settings.seed, number, sentences[number], side.read.lang, folder))
    for dataset in (*sentences, *probes):
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
    pairs = mine(_mine_settings(settings, sentences, probes), runner, quiet=quiet)
    return JobResult(sentences[0], sentences[1], graph, pairs)


def _embed_settings(settings: JobSettings, sentences: Dataset, runner: Runner | None) -> EmbedSettings:
    common = settings.model_dump(include={"encoder", "dtype", "device", "threads"})
    out = f"{sentences.url}-vectors"
    return EmbedSettings(sentences=sentences.url, out=out, accelerator=accelerator_of(runner), **common)


def _mine_settings(settings: JobSettings, sentences: list[Dataset], probes: list[Dataset]) -> MineSettings:
    threshold = settings.threshold
    if settings.seed is not None:
        threshold = threshold.model_copy(update={"seed_pairs": len(read_seed_pairs(settings.seed))})
    everything = [dataset.url for dataset in (*sentences, *probes)]
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
