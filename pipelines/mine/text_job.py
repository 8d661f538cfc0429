"""The whole way from two corpora to pairs: every stage in its folder of one work folder, each resumed or skipped."""

from __future__ import annotations

from typing import NamedTuple

from encoder.inference import Encoder
from mining.locks import held_folder
from pipelines.datasets.manifest import Dataset, join, open_dataset
from pipelines.datasets.work import is_complete
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.shard_embedder import describe_encoder, encoder_of, facts_of
from pipelines.embed.vector_shards import EncoderIdentity
from pipelines.embed.vector_stage import embed
from pipelines.mine.memory_budget import memory_shares, require_memory
from pipelines.mine.mine_settings import JobSettings, RescoreSettings, SideSettings
from pipelines.mine.pair_search import EmbeddedText, JobResult, Report, SideData, require_codebook, search_pairs
from pipelines.mine.probe_pairs import ProbeSide, add_probes
from pipelines.mine.rescored_graph import require_fit, rescoring
from pipelines.mine.shipped_probes import add_shipped_probes
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.sentence_stage import prepare
from pipelines.runners.clusters import FlinkSettings
from pipelines.runners.runner import (
    ResourceHints,
    Runner,
    hints_of,
    is_cluster,
    require_reachable,
    run,
    worker_threads,
)


class _PreparedSide(NamedTuple):
    """One side whose sentences are there."""

    name: str  # of its folders
    lang: str
    sentences: Dataset

    def probes_in(self, work: str) -> ProbeSide:
        return ProbeSide(self.sentences, self.lang, join(work, f"{self.name}-probes"))


def mine_corpora(
    settings: JobSettings,
    runner: Runner | None = None,
    *,
    quiet: bool = True,
    report: Report = lambda stage: None,
) -> JobResult:
    """Prepare and embed both sides, build their graph and mine it; `report` is told the name of each stage."""
    given = [settings.encoder, settings.work, *filter(None, [settings.codebook, settings.classifier])]
    require_reachable(runner, [*settings.source.inputs, *settings.target.inputs, *given])
    settings = settings.model_copy(update={"threads": worker_threads(runner, settings.threads)})
    again = rescoring(settings)
    with held_folder(settings.work):
        if runner is not None and is_cluster(runner) and not (_is_begun(settings) or _is_too_deep(again, runner)):
            report("prepare, embed, graph and mine, as one job")
            return _mine_as_one_job(settings, again, runner)
        encoder = None if is_cluster(runner) else encoder_of(embed_settings(settings, "", hints_of(runner)))
        source, target = _embed_sides(settings, again, encoder, runner, quiet, report)
        if again is None:
            encoder = None  # else `held_encoder` finds it when candidates are scored
        return search_pairs(settings, source, target, runner, rescore=again, quiet=quiet, report=report)


def _is_begun(settings: JobSettings) -> bool:
    """Whether something is complete: then stages that are not become jobs of their own, beside others' results."""
    return any(is_complete(join(settings.work, side)) for side in ("src", "tgt"))


def _is_too_deep(again: RescoreSettings | None, runner: Runner) -> bool:
    """Flink reads the graph of a job by recursion, which ends where one with so many steps does not fit its stack."""
    return isinstance(runner, FlinkSettings) and again is not None


def _mine_as_one_job(settings: JobSettings, again: RescoreSettings | None, runner: Runner) -> JobResult:
    from pipelines.mine.text_transform import MineText

    facts = _described(settings, again)
    rescored = again is not None
    run(lambda: MineText(settings, facts, hints_of(runner), rescoring=rescored), runner, workers=1)
    work = settings.work
    return JobResult(
        open_dataset(join(work, "src"), "sentences"),
        open_dataset(join(work, "tgt"), "sentences"),
        open_dataset(join(work, "graph"), "graph"),
        open_dataset(join(work, settings.pairs), "pairs"),
    )


def _embed_sides(
    settings: JobSettings,
    again: RescoreSettings | None,
    encoder: Encoder | None,
    runner: Runner | None,
    quiet: bool,
    report: Report,
) -> tuple[SideData, SideData]:
    """Sentences and vectors of both sides, and probe pairs; `encoder` is None where the runner's workers load it."""
    facts = _described(settings, again, encoder)
    source = _prepare_side(settings, "src", settings.source, facts, runner, quiet, report)
    target = _prepare_side(settings, "tgt", settings.target, facts, runner, quiet, report)
    require_memory(settings.memory, settings.k, facts.dim, source.sentences, target.sentences, settings.threads)
    places = source.probes_in(settings.work), target.probes_in(settings.work)
    seed = add_probes(settings.seed, *places) if settings.seed is not None else None

    def embedded(sentences: Dataset) -> EmbeddedText:
        report(f"embed {sentences.url.rsplit('/', 1)[-1]}")
        request = embed_settings(settings, sentences.url, hints_of(runner))
        return EmbeddedText(sentences, embed(request, runner, encoder=encoder, facts=facts, quiet=quiet))

    corpora = embedded(source.sentences), embedded(target.sentences)
    probes: tuple[EmbeddedText | None, EmbeddedText | None] = (None, None)
    if seed is not None:
        probes = embedded(seed[0]), embedded(seed[1])
    elif settings.wants_shipped_probes:
        probes = add_shipped_probes(*places, facts, settings.dtype)
    return SideData(corpora[0], probes[0]), SideData(corpora[1], probes[1])


def _described(settings: JobSettings, again: RescoreSettings | None, encoder: Encoder | None = None) -> EncoderIdentity:
    """The encoder; a codebook or a classifier of another one is refused before anything is prepared."""
    if encoder is not None:
        facts = facts_of(encoder)
    else:
        facts = describe_encoder(settings.encoder, trust_remote_code=settings.trust_remote_code)
    require_codebook(settings, facts)
    require_fit(again, facts.fingerprint)
    return facts


def _prepare_side(
    settings: JobSettings,
    name: str,
    side: SideSettings,
    facts: EncoderIdentity,
    runner: Runner | None,
    quiet: bool,
    report: Report,
) -> _PreparedSide:
    report(f"prepare {name}")
    asked = prepare_settings(settings, side, join(settings.work, name), facts)
    return _PreparedSide(name, side.read.lang, prepare(asked, runner, quiet=quiet))


def prepare_settings(settings: JobSettings, side: SideSettings, out: str, facts: EncoderIdentity) -> PrepareSettings:
    """The sentences of one side of a job, cut into the subwords of its encoder where that has its own."""
    return PrepareSettings(
        inputs=side.inputs,
        out=out,
        read=side.read,
        lang_filter=side.lang_filter,
        encoder=settings.encoder if facts.text else None,
        rows_per_shard=settings.rows_per_shard,
        memory_mb=memory_shares(settings.memory).duplicates_mb,
    )


def embed_settings(settings: JobSettings, sentences: str, hints: ResourceHints) -> EmbedSettings:
    """The vectors of the sentences in a folder, beside it."""
    common = settings.model_dump(
        include={"encoder", "dtype", "compute_dtype", "device", "threads", "trust_remote_code"}
    )
    return EmbedSettings(sentences=sentences, out=f"{sentences}-vectors", **hints._asdict(), **common)
