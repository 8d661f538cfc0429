"""Hard negatives for bitext: near sentences of the other side by the graph, and edits of the English side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pydantic import Field

from encoder.data.corpora import DataSettings
from encoder.inference import Encoder
from encoder.settings import Settings
from mining.errors import InputError
from mining.knn import knn_graph
from mining.neighbours import KnnGraph, Neighbours
from mining.scoring.edits import Edit, EditMaker
from mining.scoring.tasks import NEAR, Bitext
from mining.top_k import MISSING
from mining.vectors import from_array
from pipelines.clean.bitext_sample import sample_bitexts
from pipelines.loop.graph_negatives import negative_path, write_triple_texts

TripleTexts = tuple[str, str, str]  # anchor, positive, negative
_ENGLISH = "en"


class BitextNegativeSettings(Settings):
    """Which negatives, and of what."""

    data: DataSettings
    graph: bool = Field(True, description="The nearest sentence of the other side that is no translation.")
    edits: bool = Field(True, description="An edit of the English side: a number, a name, an antonym, a negation.")
    pairs: int = Field(
        50_000, ge=2, description="Most sentence pairs of two languages; the graph compares all of them."
    )
    share: float = Field(NEAR, gt=0, description="Highest similarity of a neighbour, as a share of its pair's.")
    k: int = Field(8, ge=1, description="Neighbours that are looked at.")
    random_seed: int = Field(0, description="For everything that is drawn.")


class Written(NamedTuple):
    path: Path
    kind: str
    triples: int
    pairs: int


def write_negatives(settings: BitextNegativeSettings, encoder: Encoder | None, folder: Path) -> Iterator[Written]:
    """Triples as NLI, a file for each direction of two languages; `encoder` is for the graph."""
    rng = np.random.default_rng(settings.random_seed)
    for sample in sample_bitexts(settings.data, None, settings.pairs, rng, fewest=2):
        bitext = sample.mixed
        langs = bitext.src_lang, bitext.tgt_lang
        if settings.graph:
            if encoder is None:
                raise InputError("neighbours by the graph need an encoder")
            graph = _graph(bitext, encoder, settings.k)
            for anchor, other, found in (
                (*langs, neighbour_triples(bitext, graph, settings.share)),
                (*langs[::-1], neighbour_triples(_turned(bitext), KnnGraph(*graph[::-1]), settings.share)),
            ):
                path = negative_path(folder, anchor, other)
                yield Written(path, "graph", write_triple_texts(path, found, (anchor, other)), len(bitext))
        if settings.edits and _ENGLISH in langs:
            towards = bitext if bitext.tgt_lang == _ENGLISH else _turned(bitext)
            path = folder / f"edits-{towards.src_lang}-{_ENGLISH}.tsv"
            found = edit_triples(towards, settings.random_seed)
            yield Written(path, "edits", write_triple_texts(path, found, (towards.src_lang, _ENGLISH)), len(bitext))


def neighbour_triples(bitext: Bitext, graph: KnnGraph, share: float) -> Iterator[TripleTexts]:
    """For each source the nearest target that is not known to translate it, at most `share` as similar as its own."""
    known: dict[str, set[str]] = {}
    for source, target in zip(bitext.source, bitext.target, strict=True):
        known.setdefault(source, set()).add(target)
    for row, source in enumerate(bitext.source):
        own = _similarity(graph.forward, row)
        for other, similarity in zip(graph.forward.ids[row].tolist(), graph.forward.scores[row].tolist(), strict=True):
            if other == MISSING or own is None or similarity > share * own or bitext.target[other] in known[source]:
                continue
            yield source, bitext.target[row], bitext.target[other]
            break


def edit_triples(bitext: Bitext, seed: int) -> Iterator[TripleTexts]:
    """For each English target an edit of a kind that it can have, each kind as likely."""
    maker = EditMaker(bitext.target, seed)
    originals = {text.casefold() for text in bitext.target}
    rng = np.random.default_rng([seed, len(bitext)])
    for source, target in zip(bitext.source, bitext.target, strict=True):
        for kind in rng.permutation(np.array(Edit)).tolist():
            made = maker.make(target, Edit(kind))
            if made and made[0].casefold() not in originals:
                yield source, target, made[0]
                break


def _similarity(neighbours: Neighbours, row: int) -> float | None:
    """That of the pair itself; None where its translation is not even among the neighbours."""
    place = np.flatnonzero(neighbours.ids[row] == row)
    return float(neighbours.scores[row, place[0]]) if len(place) else None


def _graph(bitext: Bitext, encoder: Encoder, k: int) -> KnnGraph:
    sides = ((bitext.source, bitext.src_lang), (bitext.target, bitext.tgt_lang))
    vectors = [encoder.encode(texts, lang, normalize=True) for texts, lang in sides]
    return knn_graph(from_array(vectors[0]), from_array(vectors[1]), min(k, len(bitext)))


def _turned(bitext: Bitext) -> Bitext:
    return Bitext(bitext.tgt_lang, bitext.src_lang, bitext.target, bitext.source)
