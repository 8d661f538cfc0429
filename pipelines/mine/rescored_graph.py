"""The candidates of a whole graph scored by a pair classifier, as edges for the matching.

One worker holds the graph and the texts of both sides: up to `MOST_ROWS` sentences; larger graphs keep their margins.
"""

from __future__ import annotations

import json

import numpy as np
import xxhash

from encoder.checkpoint import FINGERPRINT
from mining.errors import InputError
from mining.paths import exists, open_url
from mining.retrieval import Retrieval, retrieve
from mining.scoring.classifier import ABOUT, FOLDER, load_classifier
from pipelines.datasets.manifest import Dataset
from pipelines.datasets.sentences import read_shard
from pipelines.datasets.side_datasets import SideDatasets, open_side
from pipelines.embed.loaded_encoders import held_encoder
from pipelines.mine.edges import as_edges, whole_graph, write_array
from pipelines.mine.mine_plan import MinePlan
from pipelines.mine.mine_settings import JobSettings, RescoreSettings
from pipelines.mine.rescoring import SideTexts, rescored_candidates
from pipelines.mine.thresholding import margins_url

MOST_ROWS = 4_000_000  # of both sides: some 10 GB of text, words and features


def rescoring(settings: JobSettings, graph: Dataset) -> RescoreSettings | None:
    """How a job scores its candidates again, or None: `auto` does where the encoder has a classifier of its own.

    A threshold that was given as a number is a margin, so `auto` leaves margins alone then.
    """
    if not _wants_rescoring(settings):
        return None
    found = rescoring_by(settings.encoder, settings.retrieval, graph)
    if isinstance(found, RescoreSettings):
        return found
    if settings.rescore == "on":
        raise InputError(f"--rescore on: {found}")
    return None


def _wants_rescoring(settings: JobSettings) -> bool:
    if settings.rescore == "auto" and settings.threshold.at_least is not None:
        return False  # it was meant for margins
    return settings.rescore != "off"


def may_rescore(settings: JobSettings) -> bool:
    """Whether there will be a use for the encoder when the graph is there, whatever its size."""
    return _wants_rescoring(settings) and not _unfit(_classifier_of(settings.encoder), settings.encoder)


def _classifier_of(encoder: str) -> str:
    return f"{encoder.rstrip('/')}/{FOLDER}"


def rescoring_by(encoder: str, retrieval: Retrieval, graph: Dataset) -> RescoreSettings | str:
    """How the classifier of an encoder scores the candidates of a graph, or why it cannot."""
    folder = _classifier_of(encoder)
    if reason := _unfit(folder, encoder):
        return reason
    if retrieval != Retrieval.max:
        return "candidates that are scored again are matched one to one: leave out --retrieval"
    if graph.rows > MOST_ROWS:
        return f"the graph has {graph.rows:,} rows, and only up to {MOST_ROWS:,} are scored again"
    return RescoreSettings(encoder=encoder, classifier=folder, version=xxhash.xxh3_64_hexdigest(_about(folder)))


def _unfit(folder: str, encoder: str) -> str:
    """Why an encoder's classifier cannot score its candidates, or nothing."""
    if not exists(f"{folder}/{ABOUT}"):
        return f"{encoder} has no pair classifier; make one with train-classifier"
    try:
        made_for = json.loads(_about(folder)).get("encoder")
    except ValueError:
        return f"{folder}/{ABOUT} is damaged; train the classifier again"
    if exists(f"{encoder}/{FINGERPRINT}"):
        with open_url(f"{encoder}/{FINGERPRINT}") as stream:
            fingerprint = stream.read().decode().strip()
        if made_for != fingerprint:
            return (
                f"the pair classifier in {folder} is of another encoder ({made_for}, not {fingerprint}); train it again"
            )
    return ""


def _about(folder: str) -> bytes:
    with open_url(f"{folder}/{ABOUT}") as stream:
        return bytes(stream.read())


def rescored_edges(plan: MinePlan) -> np.ndarray:
    """Every candidate of the graph as an `EDGE` whose score is the classifier's log likelihood ratio.

    Where a precision is wanted, what the margin alone matches is kept aside: its estimate is transferred by rank, since
    shipped probe pairs have no text to be scored by. Candidates among probes serve that estimate only.
    """
    settings = plan.settings.rescore
    assert settings is not None
    graph = whole_graph(plan.sides)
    if plan.settings.threshold.precision is not None:
        by_margin = retrieve(graph, Retrieval.max, plan.settings.margin)
        write_array(margins_url(plan.work), as_edges(by_margin))
    sides = [open_side(folders, "sentences") for folders in (plan.settings.source, plan.settings.target)]
    source, target = (SideTexts(_texts(side), lang) for side, lang in zip(sides, plan.languages, strict=True))
    classifier = load_classifier(settings.classifier)
    found = rescored_candidates(graph, source, target, held_encoder(settings.encoder), classifier)
    ends = [side.corpus.rows for side in sides]
    return as_edges(found.take((found.source < ends[0]) & (found.target < ends[1])))


def _texts(side: SideDatasets) -> list[str]:
    return [
        text
        for dataset in side.all
        for shard in dataset.shards
        for text in read_shard(dataset.place(shard), ["text"], shard.checksum)["text"].to_pylist()
    ]
