"""One HTML page about an alignment: documents found, dot plots, beads by kind, the worst beads first."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from typing import NamedTuple

import jinja2
import numpy as np

from mining.files import atomic_text
from pipelines.align.align_job import AlignResult, DocumentPair
from pipelines.align.outputs import join_sentences

PLOTS, WORST, LISTED = 12, 100, 500
_SIZE = 220  # of a plot, in pixels


class PlottedBead(NamedTuple):
    """A bead in a plot: its corner, its sides, and how sure it is."""

    x: float
    y: float
    width: float
    height: float
    confidence: float


class Plot(NamedTuple):
    title: str
    marks: list[PlottedBead]


class WorstBead(NamedTuple):
    score: float
    kind: str
    document: str
    line: int
    source: str
    target: str


def write_page(url: str, result: AlignResult) -> None:
    """The page, complete in itself; it opens from disk and needs no network."""
    template = files("pipelines.align").joinpath("page.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    largest = sorted(result.pairs, key=lambda pair: -len(pair.alignment.beads))[:PLOTS]
    page = environment.from_string(template).render(
        result=result,
        pairs=sorted(result.pairs, key=lambda pair: pair.score)[:LISTED],
        unmatched=result.unmatched[:LISTED],
        kinds=kinds(result).most_common(),
        plots=[plot(pair) for pair in largest],
        worst=worst_beads(result),
        size=_SIZE,
    )
    with atomic_text(url) as stream:
        stream.write(page)


def kinds(result: AlignResult) -> Counter[str]:
    """How many beads there are of each kind, such as 1-2."""
    return Counter(f"{b - a}-{d - c}" for pair in result.pairs for a, b, c, d in pair.alignment.beads.tolist())


def plot(pair: DocumentPair) -> Plot:
    """Sentences of the source from left to right, of the target from top to bottom."""
    beads, two = pair.alignment.beads, pair.alignment.two_sided
    across, down = _SIZE / max(len(pair.source.texts), 1), _SIZE / max(len(pair.target.texts), 1)
    marks = [
        PlottedBead(a * across, c * down, max((b - a) * across, 1.5), max((d - c) * down, 1.5), float(sure))
        for (a, b, c, d), sure in zip(beads[two].tolist(), pair.alignment.confidence[two], strict=True)
    ]
    return Plot(f"{pair.source.name} – {pair.target.name}", marks)


def worst_beads(result: AlignResult, count: int = WORST) -> list[WorstBead]:
    """The beads of two sides that are least sure, the worst first."""
    places = [
        (pair.score * float(pair.alignment.confidence[k]), number, int(k))
        for number, pair in enumerate(result.pairs)
        for k in np.flatnonzero(pair.alignment.two_sided)
    ]
    rows = []
    for score, number, k in sorted(places)[:count]:
        pair = result.pairs[number]
        a, b, c, d = pair.alignment.beads[k].tolist()
        texts = [
            join_sentences(document.texts[first:last], corpus.lang)
            for document, corpus, first, last in (
                (pair.source, result.source, a, b),
                (pair.target, result.target, c, d),
            )
        ]
        rows.append(WorstBead(score, f"{b - a}-{d - c}", pair.source.name, pair.source.lines[a], texts[0], texts[1]))
    return rows
