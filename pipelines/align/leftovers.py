"""What alignment leaves over goes to mining: sentences that are in no bead of two sides."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from mining.files import atomic_text
from mining.filters import FilterSettings
from mining.pairs import SCHEMA, rebatch
from pipelines.align.align_job import AlignResult
from pipelines.align.align_settings import AlignSettings
from pipelines.align.documents import Corpus, DocumentText
from pipelines.datasets.manifest import join
from pipelines.embed.embed_settings import default_encoder
from pipelines.mine.mine_settings import JobSettings, SideSettings, ThresholdSettings
from pipelines.mine.pair_stage import pair_batches
from pipelines.mine.rescored_graph import rescoring_of
from pipelines.mine.text_job import mine_corpora
from pipelines.prepare.readers import ReadSettings
from pipelines.runners.runner import Runner

# Leftovers seldom have a counterpart at all, so only clear pairs are kept. Among few sentences margins are large by
# chance, so that the encoder's pair classifier decides where it has one.
_LEAST_PROBABILITY = 0.9
_LEAST_MARGIN = 1.2
_Place = tuple[str, int]  # document, line


def mine_leftovers(
    settings: AlignSettings, result: AlignResult, work: str, runner: Runner | None = None
) -> list[pa.RecordBatch]:
    """Pairs mined from the leftovers of both sides, with the documents and lines they come from.

    Their score is the classifier's probability, as beads have one, or, of an encoder without classifier, a margin.
    """
    sides, places = [], []
    work = join(work, f"leftovers-{settings.beads}-{settings.confidence:g}")
    for number, corpus in enumerate((result.source, result.target)):
        url = join(work, f"leftovers.{number}.txt")
        places.append(_write(url, leftovers(result, number)))
        if not places[-1]:
            return []
        sides.append(SideSettings(inputs=[url], read=ReadSettings(lang=corpus.lang), lang_filter="assume"))
    rescored = has_classifier(settings)
    likely = math.log(_LEAST_PROBABILITY / (1 - _LEAST_PROBABILITY))
    job = JobSettings(
        source=sides[0],
        target=sides[1],
        encoder=settings.encoder or default_encoder(),
        work=join(work, "mine"),
        threshold=ThresholdSettings(at_least=likely if rescored else _LEAST_MARGIN),
        rescore="on" if rescored else "off",
        # The languages were checked, or trusted, when the documents were read.
        filters=FilterSettings(language=None),
        device=settings.device,
        threads=settings.threads,
    )
    mined = mine_corpora(job, runner).pairs
    rows = _rows(pair_batches(mined), places[0], places[1], probabilities=rescored)
    return list(rebatch(rows, SCHEMA))


def has_classifier(settings: AlignSettings) -> bool:
    """Whether the encoder's pair classifier judges leftovers; one that cannot be read is refused."""
    return rescoring_of("auto", settings.encoder or default_encoder()) is not None


def leftovers(result: AlignResult, side: int) -> Iterator[tuple[DocumentText, int]]:
    """Every sentence of one side (0 or 1) that is in no bead of two sides."""
    corpus: Corpus = (result.source, result.target)[side]
    aligned: dict[str, np.ndarray] = {}
    for pair in result.pairs:
        document = (pair.source, pair.target)[side]
        covered = np.zeros(len(document.texts), bool)
        for bead in pair.alignment.beads[pair.alignment.two_sided]:
            covered[bead[2 * side] : bead[2 * side + 1]] = True
        aligned[document.name] = covered
    for document in corpus.documents:
        covered = aligned.get(document.name, np.zeros(len(document.texts), bool))
        for place in np.flatnonzero(~covered).tolist():
            yield document, place


def _write(url: str, rows: Iterator[tuple[DocumentText, int]]) -> list[_Place]:
    places = []
    with atomic_text(url) as stream:
        for document, place in rows:
            stream.write(" ".join(document.texts[place].split()) + "\n")
            places.append((document.name, document.lines[place]))
    return places


def _rows(
    batches: Iterator[pa.RecordBatch], source: list[_Place], target: list[_Place], *, probabilities: bool
) -> Iterator[dict[str, object]]:
    for batch in batches:
        for row in batch.to_pylist():
            if probabilities:
                row["score"] = 1 / (1 + math.exp(-row["score"]))
            for side, places in (("src", source), ("tgt", target)):
                row[f"{side}_source"], row[f"{side}_line"] = places[row[f"{side}_line"] - 1]
                row[f"{side}_also"] = None
            yield row
