"""The mining half of a round: each language embedded once, each language pair mined from those vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from mining.errors import UnreachablePrecision
from pipelines.datasets.manifest import Dataset, join
from pipelines.datasets.side_folders import SideFolders
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.loaded_encoders import load_encoder
from pipelines.embed.shard_embedder import describe_encoder, facts_of
from pipelines.embed.vector_stage import embed
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph
from pipelines.loop.loop_settings import LoopSettings
from pipelines.loop.seed_bitext import probes_path
from pipelines.mine.mine_settings import MineSettings, RescoreSettings, ThresholdSettings
from pipelines.mine.pair_stage import mine
from pipelines.mine.probe_pairs import ProbeSide, add_probes
from pipelines.mine.rescored_graph import rescoring_by
from pipelines.prepare.pieces import has_subwords, pieces_tokenizer
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.sentence_stage import prepare
from pipelines.runners.runner import Runner, hints_of, is_cluster

Report = Callable[[str], None]  # told the name of each stage


class PairProbes(NamedTuple):
    """Known pairs behind the corpora of a language pair."""

    source: Dataset
    target: Dataset


class Text(NamedTuple):
    """The sentences of a loop, made once."""

    languages: dict[str, Dataset]
    probes: dict[str, PairProbes]
    tokenizer: str | None  # that of their `pieces`, where they have some


class MinedCorpora(NamedTuple):
    """The graph of a language pair and its pairs, or why no threshold would do."""

    graph: Dataset
    pairs: Dataset | None
    refused: str | None = None


def prepare_text(
    settings: LoopSettings, base: str, seed: Path, encoder: str, runner: Runner | None, report: Report
) -> Text:
    """Prepare each language with the subwords of `encoder`, which all rounds share, and the probes of each pair."""
    subwords = encoder if has_subwords(encoder) else None
    tokenizer = None if subwords is None else pieces_tokenizer(subwords)
    languages = {}
    for lang in settings.languages:
        report(f"prepare {lang}")
        languages[lang] = prepare(text_settings(settings, base, lang, subwords), runner)
    probes = {}
    for pair in settings.pairs:
        path = str(probes_path(seed, pair))
        places = [
            ProbeSide(languages[lang], lang, join(base, "text", f"probes-{pair}-{lang}")) for lang in pair.split("-")
        ]
        probes[pair] = PairProbes(*add_probes(path, *places))
    return Text(languages, probes, tokenizer)


def text_settings(settings: LoopSettings, base: str, lang: str, subwords: str | None) -> PrepareSettings:
    """How the text of a language is prepared."""
    of_language = settings.text[lang]
    return PrepareSettings(
        inputs=of_language.inputs,
        out=join(base, "text", lang),
        read=of_language.reading(lang),
        lang_filter=of_language.lang_filter,
        encoder=subwords,
        rows_per_shard=settings.mining.rows_per_shard,
    )


def mine_round(
    settings: LoopSettings,
    text: Text,
    base: str,
    encoder: str,
    precision: float,
    runner: Runner | None,
    report: Report,
) -> dict[str, MinedCorpora]:
    """Mine every language pair with `encoder` into the folder `base` of a round."""

    loaded = None if is_cluster(runner) else load_encoder(encoder, settings.device, settings.threads)
    facts = describe_encoder(encoder) if loaded is None else facts_of(loaded)

    def embedded(sentences: Dataset) -> str:
        name = sentences.url.rsplit("/", 1)[-1]
        report(f"embed {name}")
        request = EmbedSettings(
            sentences=sentences.url,
            encoder=encoder,
            out=join(base, "vectors", name),
            dtype=settings.mining.dtype,
            device=settings.device,
            threads=settings.threads,
            **hints_of(runner)._asdict(),
        )
        return embed(request, runner, encoder=loaded, facts=facts).url

    vectors = {lang: embedded(sentences) for lang, sentences in text.languages.items()}
    mined = {}
    for pair in settings.pairs:
        source, target = pair.split("-")
        probes = text.probes[pair]
        sides = (
            SideFolders(corpus=vectors[source], probes=embedded(probes.source)),
            SideFolders(corpus=vectors[target], probes=embedded(probes.target)),
        )
        report(f"graph {pair}")
        graph = build_graph(_graph_settings(settings, join(base, "graph", pair), *sides, runner), runner)
        report(f"mine {pair}")
        out = join(base, "pairs", pair)
        mined[pair] = _mine(settings, text, pair, graph, encoder, out, precision, runner)
    return mined


def _graph_settings(
    settings: LoopSettings, out: str, source: SideFolders, target: SideFolders, runner: Runner | None
) -> GraphSettings:
    return GraphSettings(
        source=source,
        target=target,
        out=out,
        k=settings.mining.k,
        search=settings.mining.search,
        device=settings.device,
        threads=settings.threads,
        **hints_of(runner)._asdict(),
    )


def _mine(
    settings: LoopSettings,
    text: Text,
    pair: str,
    graph: Dataset,
    encoder: str,
    out: str,
    precision: float,
    runner: Runner | None,
) -> MinedCorpora:
    source, target = pair.split("-")
    again = rescoring_by(encoder, settings.mining.retrieval, settings.threads) if settings.classifier else ""
    probes = text.probes[pair]
    request = MineSettings(
        graph=graph.url,
        source=SideFolders(corpus=text.languages[source].url, probes=probes.source.url),
        target=SideFolders(corpus=text.languages[target].url, probes=probes.target.url),
        out=out,
        margin=settings.mining.margin,
        retrieval=settings.mining.retrieval,
        threshold=ThresholdSettings(precision=precision),
        filters=settings.mining.filters,
        rescore=again if isinstance(again, RescoreSettings) else None,
        rows_per_shard=settings.mining.rows_per_shard,
        min_ram=hints_of(runner).min_ram,
    )
    try:
        return MinedCorpora(graph, mine(request, runner))
    except UnreachablePrecision as error:
        # A language that this encoder cannot tell apart yet must not end the loop for the others.
        return MinedCorpora(graph, None, str(error))
