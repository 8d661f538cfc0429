"""The whole way from two corpora to pairs: every stage in its folder of one work folder, each resumed or skipped."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from mining.locks import held_folder
from pipelines.datasets.manifest import join, open_dataset
from pipelines.datasets.work import is_complete
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.shard_embedder import facts_of, load_encoder
from pipelines.embed.vector_shards import EncoderIdentity
from pipelines.embed.vector_stage import embed
from pipelines.mine.memory_budget import memory_shares, require_memory
from pipelines.mine.mine_settings import JobSettings, SideSettings
from pipelines.mine.pair_search import JobResult, Report, SideData, search_pairs
from pipelines.mine.probe_pairs import ProbeSide, add_probes
from pipelines.mine.rescored_graph import rescoring
from pipelines.mine.shipped_probes import add_shipped_probes
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.sentence_stage import prepare
from pipelines.runners.runner import Runner, accelerator_of, is_cluster, require_reachable, run, worker_threads


@dataclass
class _Side(SideData):
    """One side on its way."""

    name: str  # of its folders
    settings: SideSettings


def mine_corpora(
    settings: JobSettings,
    runner: Runner | None = None,
    *,
    quiet: bool = True,
    report: Report = lambda stage: None,
) -> JobResult:
    """Prepare and embed both sides, build their graph and mine it; `report` is told the name of each stage."""
    require_reachable(runner, [*settings.source.inputs, *settings.target.inputs, settings.encoder, settings.work])
    settings = settings.model_copy(update={"threads": worker_threads(runner, settings.threads)})
    source, target = _Side("src", settings.source), _Side("tgt", settings.target)
    with held_folder(settings.work):
        if runner is not None and is_cluster(runner) and not _is_begun(settings):
            report("prepare, embed, graph and mine, as one job")
            return _mine_as_one_job(settings, runner)
        _embed_sides(settings, [source, target], runner, quiet, report)
        again = partial(rescoring, settings)
        return search_pairs(settings, source, target, runner, rescoring=again, quiet=quiet, report=report)


def _is_begun(settings: JobSettings) -> bool:
    """Whether something is complete: then stages that are not become jobs of their own, beside others' results."""
    return any(is_complete(join(settings.work, side)) for side in ("src", "tgt"))


def _mine_as_one_job(settings: JobSettings, runner: Runner) -> JobResult:
    from pipelines.mine.text_transform import MineText

    trust = settings.trust_remote_code
    encoder = load_encoder(settings.encoder, settings.device, settings.threads, runner, trust_remote_code=trust)
    run(lambda: MineText(settings, facts_of(encoder), accelerator_of(runner)), runner, workers=1)
    work = settings.work
    return JobResult(
        open_dataset(join(work, "src"), "sentences"),
        open_dataset(join(work, "tgt"), "sentences"),
        open_dataset(join(work, "graph"), "graph"),
        open_dataset(join(work, settings.pairs), "pairs"),
    )


def _embed_sides(settings: JobSettings, sides: list[_Side], runner: Runner | None, quiet: bool, report: Report) -> None:
    """Sentences and vectors of both sides; the encoder is loaded once, and gone again when the graph begins."""
    trust = settings.trust_remote_code
    encoder = load_encoder(settings.encoder, settings.device, settings.threads, runner, trust_remote_code=trust)
    for side in sides:
        report(f"prepare {side.name}")
        asked = prepare_settings(settings, side.settings, join(settings.work, side.name), facts_of(encoder))
        side.sentences.append(prepare(asked, runner, quiet=quiet))
    source, target = (side.sentences[0] for side in sides)
    require_memory(settings.memory, settings.k, encoder.dim, source, target, settings.threads)
    if settings.seed is not None:
        probes_of = add_probes(settings.seed, *(_probe_side(settings.work, side) for side in sides))
        for side, probes in zip(sides, probes_of, strict=True):
            side.sentences.append(probes)
    for side in sides:
        for sentences in side.sentences:
            report(f"embed {sentences.url.rsplit('/', 1)[-1]}")
            request = embed_settings(settings, sentences.url, accelerator_of(runner))
            side.vectors.append(embed(request, runner, encoder=encoder, quiet=quiet))
    if settings.wants_shipped_probes:
        places = _probe_side(settings.work, sides[0]), _probe_side(settings.work, sides[1])
        for side, shipped in zip(sides, add_shipped_probes(*places, facts_of(encoder), settings.dtype), strict=True):
            side.sentences.append(shipped.sentences)
            side.vectors.append(shipped.vectors)


def _probe_side(work: str, side: _Side) -> ProbeSide:
    return ProbeSide(side.sentences[0], side.settings.read.lang, join(work, f"{side.name}-probes"))


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


def embed_settings(settings: JobSettings, sentences: str, accelerator: str | None) -> EmbedSettings:
    """The vectors of the sentences in a folder, beside it."""
    common = settings.model_dump(include={"encoder", "dtype", "device", "threads", "trust_remote_code"})
    return EmbedSettings(sentences=sentences, out=f"{sentences}-vectors", accelerator=accelerator, **common)
