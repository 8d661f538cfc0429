"""Alignment as stages on any runner: prepare, embed, graph, edges, candidates, documents joined and aligned.

Each stage is a dataset in its folder of one work folder, resumed or skipped; workers hold a group of document pairs at
a time. The process that starts them holds the texts and, of vectors and edges, what is known of pairs of documents.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

import numpy as np

from encoder.inference import Encoder
from mining.alignment_words import PROJECTED_TEXTS, WordProjection, word_projection
from mining.document_pairs import Trials, trials, voted_candidates, with_same_keys
from mining.filters import FilterSettings
from mining.paths import exists
from mining.retrieval import Retrieval
from mining.threads import core_count
from pipelines.align.align_job import AlignResult, JudgedPairs, two_books
from pipelines.align.align_settings import AlignSettings
from pipelines.align.bead_pairs import store_beads
from pipelines.align.document_groups import Extents, SideShard, extents, in_groups, side_shards
from pipelines.align.documents import Corpus, document_files, document_keys, read_prepared
from pipelines.align.group_work import read_alignments, read_scores, scores_url
from pipelines.datasets.manifest import SOURCE, TARGET, Counters, Dataset, Request, join
from pipelines.datasets.side_folders import SideFolders
from pipelines.datasets.work import Work, begin, identity
from pipelines.embed.embed_settings import EmbedSettings, default_encoder
from pipelines.embed.loaded_encoders import load_encoder
from pipelines.embed.vector_stage import embed
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph
from pipelines.mine.mine_settings import MineSettings
from pipelines.mine.pair_stage import mine, pair_batches
from pipelines.mine.word_texts import find_words
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.sentence_stage import prepare
from pipelines.runners.runner import Runner, hints_of, is_cluster, require_reachable, run

VERSION = "4"  # to be raised with every change of the code that changes alignments
_NAMES = "source", "target"
_WAYS = Retrieval.forward, Retrieval.backward


class _Sides(NamedTuple):
    """Both sides as datasets and as documents."""

    sentences: list[Dataset]
    vectors: list[Dataset]
    corpora: tuple[Corpus, Corpus]
    extents: tuple[Extents, Extents]

    @property
    def shards(self) -> list[SideShard]:
        return [shard for side in range(2) for shard in side_shards(side, self.sentences[side], self.vectors[side])]


def align_on_runner(
    settings: AlignSettings, work: str, runner: Runner, report: Callable[[str], None] = lambda stage: None
) -> AlignResult:
    """Pair the documents of two collections and align each pair, by stages in the folder `work`."""
    encoder_url = settings.encoder or default_encoder()
    given = [url for side in (settings.source, settings.target) for url in side.inputs]
    require_reachable(runner, [*given, encoder_url, work])
    device = "cpu" if is_cluster(runner) else settings.device
    encoder = load_encoder(encoder_url, device, settings.threads)
    sides = _embedded(settings, work, encoder_url, encoder, runner, report)
    report("align")
    begun = begin(join(work, "alignment"), _request(settings, sides, join(work, "alignment"), encoder))
    found = _trials(settings, work, sides, begun, runner)
    couples = np.stack([found.source, found.target], 1)
    if isinstance(begun, Work):
        with begun.alone():
            begun = _align(settings, sides, begun, couples, encoder_url, encoder, runner)
    aligned = read_alignments(begun)
    judged = [aligned[a, b] for a, b in couples.tolist()]
    result = JudgedPairs(*sides.corpora, found, judged).result(settings.confidence)
    store_beads(result, sides.sentences, begun, settings.confidence, join(work, f"pairs-{settings.confidence:g}"))
    return result


def _embedded(
    settings: AlignSettings,
    work: str,
    encoder_url: str,
    encoder: Encoder,
    runner: Runner,
    report: Callable[[str], None],
) -> _Sides:
    sentences, vectors = [], []
    report("prepare")
    for name, side in zip(_NAMES, (settings.source, settings.target), strict=True):
        wanted = PrepareSettings(
            inputs=document_files(side.inputs),
            out=join(work, name),
            read=side.read,
            lang_filter="assume",  # a document is judged as a whole, when it is read below
            documents=True,
        )
        sentences.append(prepare(wanted, runner))
    report("embed")
    for name, dataset in zip(_NAMES, sentences, strict=True):
        where = EmbedSettings(
            sentences=dataset.url,
            encoder=encoder_url,
            out=join(work, f"{name}-vectors"),
            device=settings.device,
            threads=settings.threads,
            **hints_of(runner)._asdict(),
        )
        vectors.append(embed(where, runner, encoder=encoder))
    corpora = [
        read_prepared(dataset, side.read.lang, side.lang_filter)
        for dataset, side in zip(sentences, (settings.source, settings.target), strict=True)
    ]
    return _Sides(sentences, vectors, (corpora[0], corpora[1]), (extents(corpora[0]), extents(corpora[1])))


def _request(settings: AlignSettings, sides: _Sides, out: str, encoder: Encoder) -> Request:
    inputs = [dataset.as_input(role, out) for role, dataset in zip((SOURCE, TARGET), sides.vectors, strict=True)]
    filters = [settings.source.lang_filter, settings.target.lang_filter]
    configuration = {"beads": settings.beads, "candidates": settings.candidates, "lang_filter": "/".join(filters)}
    versions = {"align": VERSION, "encoder": encoder.fingerprint}
    return Request(kind="alignment", configuration=dict(configuration), inputs=inputs, versions=versions)


def _trials(settings: AlignSettings, work: str, sides: _Sides, begun: Work | Dataset, runner: Runner) -> Trials:
    """Which documents are to be aligned; what decides it is kept beside the alignments."""
    sizes = [len(corpus.documents) for corpus in sides.corpora]
    if sizes == [1, 1]:
        return two_books()
    pairs = with_same_keys(_voted(settings, work, sides, runner), document_keys(*sides.corpora))
    request = begun.request if isinstance(begun, Work) else begun.manifest.request
    keep = Work(join(work, f"documents-{identity(request)[:8]}"), request)
    return trials(pairs, _scores(sides, in_groups(np.stack(pairs[:2], 1)), keep, runner), *sizes)


def _voted(settings: AlignSettings, work: str, sides: _Sides, runner: Runner) -> np.ndarray:
    """Candidates by the edges of the graph of sentences, summed by document pair.

    Each sentence has an edge to its best neighbour. To ask that they be mutual would leave one of two documents that
    say the same without any, and all of a document where a copy of it, in another language, is among the other side's.
    """
    graph = build_graph(
        GraphSettings(
            source=SideFolders(corpus=sides.vectors[0].url),
            target=SideFolders(corpus=sides.vectors[1].url),
            out=join(work, "graph"),
            search="auto",
            device=settings.device,
            threads=settings.threads,
            **hints_of(runner)._asdict(),
        ),
        runner,
    )
    votes: list[tuple[np.ndarray, ...]] = []
    for batch in chain.from_iterable(pair_batches(_edges(graph, work, sides, way, runner)) for way in _WAYS):
        ids = (batch[f"{side}_id"].to_numpy().astype(np.int64) for side in ("src", "tgt"))
        source, target = (extent.owner(column) for extent, column in zip(sides.extents, ids, strict=True))
        known = (source >= 0) & (target >= 0)
        votes.append((source[known], target[known], batch["score"].to_numpy()[known]))
    if not votes:
        return np.empty((0, 2), np.int64)
    source, target, margins = (np.concatenate(column) for column in zip(*votes, strict=True))
    return voted_candidates(source, target, margins, settings.candidates)


def _edges(graph: Dataset, work: str, sides: _Sides, way: Retrieval, runner: Runner) -> Dataset:
    """Sentences and the nearest of the other side, with their margins."""
    settings = MineSettings(
        graph=graph.url,
        source=SideFolders(corpus=sides.sentences[0].url),
        target=SideFolders(corpus=sides.sentences[1].url),
        out=join(work, f"edges-{way}"),
        retrieval=way,
        filters=FilterSettings.none(),
        min_ram=hints_of(runner).min_ram,
    )
    return mine(settings, runner)


def _scores(sides: _Sides, groups: list[np.ndarray], keep: Work, runner: Runner) -> np.ndarray:
    from pipelines.align.align_transform import JoinDocuments, ScoreDocuments

    if not all(exists(scores_url(keep, number)) for number in range(len(groups))):
        joined = JoinDocuments(sides.shards, sides.extents, groups)
        run(lambda: ScoreDocuments(joined, groups, keep), runner, workers=_workers(groups))
    return read_scores(keep, groups)


def _align(
    settings: AlignSettings,
    sides: _Sides,
    work: Work,
    couples: np.ndarray,
    encoder_url: str,
    encoder: Encoder,
    runner: Runner,
) -> Dataset:
    from pipelines.align.align_transform import AlignDocuments, AlignerSettings, JoinDocuments

    groups = in_groups(couples)
    if not all(work.finished(number) for number in range(len(groups))):
        languages = sides.corpora[0].lang, sides.corpora[1].lang
        projection = _projection(sides.corpora, encoder)
        aligner = AlignerSettings(encoder_url, settings.device, languages, projection, settings.beads)
        joined = JoinDocuments(sides.shards, sides.extents, groups)
        run(lambda: AlignDocuments(joined, groups, work, aligner), runner, workers=_workers(groups))
    shards = [shard for number in range(len(groups)) if (shard := work.finished(number)) is not None]
    return work.complete(shards, sum((shard.counters for shard in shards), Counters()))


def _projection(corpora: tuple[Corpus, Corpus], encoder: Encoder) -> WordProjection:
    """As in memory: by the words of the first texts of both sides."""
    samples = []
    for corpus in corpora:
        words = find_words(corpus.texts[:PROJECTED_TEXTS], corpus.lang)
        samples.append(encoder.encode(words.vocabulary.to_pylist(), corpus.lang))
    return word_projection(*samples)


def _workers(groups: list[np.ndarray]) -> int:
    return min(core_count(), len(groups))
