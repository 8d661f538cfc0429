"""The candidates of a whole graph scored by a pair classifier, as edges for the matching.

One worker holds the graph and the texts of both sides: up to `MOST_ROWS` sentences; larger graphs keep their margins.
"""

from __future__ import annotations

import numpy as np
import xxhash

from encoder.inference import Encoder
from mining.errors import InputError
from mining.neighbours import Graph, Neighbours
from mining.paths import exists, open_url
from mining.retrieval import Retrieval
from mining.scoring.classifier import ABOUT, FOLDER, load_classifier
from pipelines.datasets.manifest import Dataset, open_dataset
from pipelines.datasets.sentences import read_shard
from pipelines.mine.edges import EDGE, GraphShard
from pipelines.mine.mine_plan import MinePlan
from pipelines.mine.mine_settings import JobSettings, RescoreSettings
from pipelines.mine.rescoring import SideTexts, rescored_candidates

MOST_ROWS = 4_000_000  # of both sides: some 10 GB of text, words and features


def rescoring(settings: JobSettings, graph: Dataset) -> RescoreSettings | None:
    """How a job scores its candidates again, or None: `auto` does where the encoder has a classifier of its own."""
    if settings.rescore == "off":
        return None
    folder = f"{settings.encoder.rstrip('/')}/{FOLDER}"
    reason = ""
    if not exists(f"{folder}/{ABOUT}"):
        reason = f"{settings.encoder} has no pair classifier; make one with train-classifier"
    elif settings.retrieval != Retrieval.max:
        reason = "candidates that are scored again are matched one to one: leave out --retrieval"
    elif settings.wants_shipped_probes:
        reason = "the probe pairs that come with the encoder are vectors without text; give --seed-pairs"
    elif graph.rows > MOST_ROWS:
        reason = f"the graph has {graph.rows:,} rows, and only up to {MOST_ROWS:,} are scored again"
    if reason:
        if settings.rescore == "on":
            raise InputError(f"--rescore on: {reason}")
        return None
    with open_url(f"{folder}/{ABOUT}") as stream:
        version = xxhash.xxh3_64_hexdigest(stream.read())
    return RescoreSettings(encoder=settings.encoder, classifier=folder, version=version)


def rescored_edges(plan: MinePlan) -> np.ndarray:
    """Every candidate of the graph as an `EDGE` whose score is the classifier's log odds."""
    settings = plan.settings.rescore
    assert settings is not None
    graph = Graph(_neighbours(plan.sides.forward), _neighbours(plan.sides.backward))
    source, target = (
        SideTexts(_texts(urls), lang)
        for urls, lang in zip((plan.settings.source, plan.settings.target), plan.languages, strict=True)
    )
    classifier = load_classifier(settings.classifier)
    found = rescored_candidates(graph, source, target, Encoder.load(settings.encoder), classifier)
    edges = np.zeros(len(found), EDGE)
    edges["source"], edges["target"], edges["score"] = found.source, found.target, found.scores
    edges["cosine"], edges["directions"] = found.cosines, found.directions
    return edges


def _neighbours(shards: list[GraphShard]) -> Neighbours:
    """One direction whole; rows that the graph leaves out have no neighbours."""
    whole: Neighbours | None = None
    for shard in shards:
        ids, part = shard.read()
        whole = whole or Neighbours.none(shards[-1].end, part.ids.shape[1])
        whole.ids[ids], whole.scores[ids] = part.ids, part.scores
    return whole or Neighbours.none(0, 1)


def _texts(urls: list[str]) -> list[str]:
    datasets = [open_dataset(url, "sentences") for url in urls]
    return [
        text
        for dataset in datasets
        for shard in dataset.shards
        for text in read_shard(dataset.place(shard), ["text"], shard.checksum)["text"].to_pylist()
    ]
