"""The whole way from two corpora to pairs: every stage in its folder of one work folder, each resumed or skipped.

The graph and the pairs of other settings lie beside the first ones: choosing again reuses all that it can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from encoder import default
from encoder.inference import Encoder
from pipelines.datasets.contents import content_hash
from pipelines.datasets.locks import held
from pipelines.datasets.manifest import SEED, Dataset, join
from pipelines.datasets.work import place_for, request_of
from pipelines.embed.vector_stage import EmbedSettings, embed, facts_of, load_encoder
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph, graph_request
from pipelines.mine.memory_budget import memory_shares, require_memory
from pipelines.mine.mine_plan import mine_request, open_corpora
from pipelines.mine.mine_settings import JobSettings, MineSettings, SideSettings
from pipelines.mine.pair_stage import mine
from pipelines.mine.probe_pairs import ProbeSide, add_probes
from pipelines.mine.rescored_graph import rescoring
from pipelines.mine.shipped_probes import add_shipped_probes
from pipelines.prepare.sentence_stage import PrepareSettings, prepare
from pipelines.runners.runner import Runner, accelerator_of, require_reachable

LOCK = ".lock"


class JobResult(NamedTuple):
    """The datasets that a job leaves in its work folder."""

    source: Dataset
    target: Dataset
    graph: Dataset
    pairs: Dataset


@dataclass
class _Side:
    """One side on its way: the corpus and the probes behind it, as sentences and then as vectors."""

    name: str  # of its folders
    settings: SideSettings
    sentences: list[Dataset] = field(default_factory=list)
    vectors: list[Dataset] = field(default_factory=list)


def mine_corpora(
    settings: JobSettings,
    runner: Runner | None = None,
    *,
    quiet: bool = True,
    report: Callable[[str], None] = lambda stage: None,
) -> JobResult:
    """Prepare and embed both sides, build their graph and mine it; `report` is told the name of each stage."""
    require_reachable(runner, [*settings.source.inputs, *settings.target.inputs, settings.encoder, settings.work])
    source, target = _Side("src", settings.source), _Side("tgt", settings.target)
    with held(join(settings.work, LOCK), settings.work):
        _embed_sides(settings, [source, target], runner, quiet, report)
        report("graph")
        graph = build_graph(_graph_settings(settings, source, target, runner), runner, quiet=quiet)
        report("mine")
        pairs = mine(_mine_settings(settings, graph, source, target), runner, quiet=quiet)
    return JobResult(source.sentences[0], target.sentences[0], graph, pairs)


def _embed_sides(
    settings: JobSettings, sides: list[_Side], runner: Runner | None, quiet: bool, report: Callable[[str], None]
) -> None:
    """Sentences and vectors of both sides; the encoder is loaded once, and gone again when the graph begins."""
    trust = settings.trust_remote_code
    encoder = load_encoder(settings.encoder, settings.device, settings.threads, runner, trust_remote_code=trust)
    for side in sides:
        report(f"prepare {side.name}")
        side.sentences.append(prepare(_prepare_settings(settings, side, encoder), runner, quiet=quiet))
    require_memory(settings.memory, settings.k, encoder.dim, *(side.sentences[0] for side in sides))
    if settings.seed is not None:
        content = content_hash(settings.seed)
        probes_of = add_probes(settings.seed, *(_probe_side(settings.work, side, content) for side in sides))
        for side, probes in zip(sides, probes_of, strict=True):
            side.sentences.append(probes)
    for side in sides:
        for sentences in side.sentences:
            report(f"embed {sentences.url.rsplit('/', 1)[-1]}")
            request = _embed_settings(settings, sentences, runner)
            side.vectors.append(embed(request, runner, encoder=encoder, quiet=quiet))
    if settings.wants_shipped_probes:
        _add_shipped_probes(settings, sides, encoder, runner)


def _add_shipped_probes(settings: JobSettings, sides: list[_Side], encoder: Encoder, runner: Runner | None) -> None:
    """Behind each corpus the probe vectors that come with the encoder."""
    content = default.probes_fingerprint()
    request = _embed_settings(settings, sides[0].sentences[0], runner)
    source, target = (_probe_side(settings.work, side, content) for side in sides)
    for side, probes in zip(sides, add_shipped_probes(source, target, facts_of(encoder), request), strict=True):
        side.sentences.append(probes.sentences)
        side.vectors.append(probes.vectors)


def _probe_side(work: str, side: _Side, content: str) -> ProbeSide:
    folder = _probes_folder(join(work, f"{side.name}-probes"), content)
    return ProbeSide(side.sentences[0], side.settings.read.lang, folder)


def _probes_folder(url: str, content: str) -> str:
    """The folder of the probes of this content, beside those of another one."""
    known = request_of(url)
    same = known is None or [given.fingerprint for given in known.given(SEED)] == [content]
    return url if same else f"{url}-{content[:8]}"


def _prepare_settings(settings: JobSettings, side: _Side, encoder: Encoder) -> PrepareSettings:
    return PrepareSettings(
        inputs=side.settings.inputs,
        out=join(settings.work, side.name),
        read=side.settings.read,
        lang_filter=side.settings.lang_filter,
        encoder=settings.encoder if facts_of(encoder).text else None,
        rows_per_shard=settings.rows_per_shard,
        memory_mb=memory_shares(settings.memory).duplicates_mb,
    )


def _embed_settings(settings: JobSettings, sentences: Dataset, runner: Runner | None) -> EmbedSettings:
    common = settings.model_dump(include={"encoder", "dtype", "device", "threads", "trust_remote_code"})
    out = f"{sentences.url}-vectors"
    return EmbedSettings(sentences=sentences.url, out=out, accelerator=accelerator_of(runner), **common)


def _graph_settings(settings: JobSettings, source: _Side, target: _Side, runner: Runner | None) -> GraphSettings:
    asked = GraphSettings(
        source=[dataset.url for dataset in source.vectors],
        target=[dataset.url for dataset in target.vectors],
        out=join(settings.work, "graph"),
        accelerator=accelerator_of(runner),
        **settings.model_dump(include={"k", "search", "device", "threads"}),
    )
    return asked.model_copy(update={"out": place_for(asked.out, graph_request(asked))})


def _mine_settings(settings: JobSettings, graph: Dataset, source: _Side, target: _Side) -> MineSettings:
    asked = MineSettings(
        graph=graph.url,
        source=[dataset.url for dataset in source.sentences],
        target=[dataset.url for dataset in target.sentences],
        out=join(settings.work, settings.pairs),
        margin=settings.margin,
        retrieval=settings.retrieval,
        threshold=settings.threshold,
        filters=settings.filters,
        rescore=rescoring(settings, graph),
        rows_per_shard=settings.rows_per_shard,
        one_worker_edges=memory_shares(settings.memory).edges,
    )
    return asked.model_copy(update={"out": place_for(asked.out, mine_request(asked, open_corpora(asked)))})
