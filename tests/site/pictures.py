"""The pictures of the site, from real runs: `python -m tests.site.pictures TEXT FOLDER`.

TEXT is the folder that `twinlode demo --text --quick` writes: two shuffled files, of which the true pairs are known.
The objectives are those of the run of `compare` in docs/results.md, which takes hours.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import altair as alt
import numpy as np
import pyarrow as pa

from encoder import Encoder
from mining import Calibration, Edges, Margin, Retrieval, calibrate, from_array, knn_graph, retrieve
from mining.bytewise import round_rows
from mining.codebook import cell_count, train_codebook
from mining.partitioned import key_graph
from mining.probes import plan_probes, probe_rows
from mining.row_cells import cells_of_sides
from mining.threads import thread_pool
from tests.site.pages import DOCS

PRECISION = 0.9
_COLOURS = alt.Scale(domain=["right", "wrong"], range=["#2f9e6e", "#e0603a"])
_SHOWN = 200  # points of a cloud


class Mined(NamedTuple):
    """German and English of the demo, mined together with probe pairs, and what is true of the pairs."""

    source: np.ndarray
    target: np.ndarray
    pairs: Edges
    right: np.ndarray
    calibration: Calibration
    known: tuple[np.ndarray, np.ndarray]  # other translations, line by line


def mine(text: Path) -> Mined:
    folder = text / "mine" / "en-de"
    english, german = (_lines(folder / f"{lang}.txt") for lang in ("en", "de"))
    gold = {tuple(line.split("\t")) for line in _lines(folder / "gold.tsv")}
    seed = _unzip(_lines(text / "probes" / "en-de.tsv"))
    plan = plan_probes(len(seed[0]))
    encoder = Encoder.load()
    source = encoder.encode(english + [seed[0][row] for row in plan.sources()], "en")
    target = encoder.encode(german + [seed[1][row] for row in plan.targets()], "de")
    edges = retrieve(knn_graph(from_array(source), from_array(target), k=4), Retrieval.max, Margin.ratio)
    probes = probe_rows(plan.sources(), plan.targets(), len(english), len(german))
    found = calibrate(edges.source, edges.target, edges.scores, n_src=len(source), n_tgt=len(target), probes=probes)
    pairs = edges.take((edges.source < len(english)) & (edges.target < len(german)))
    right = [(english[a], german[b]) in gold for a, b in zip(pairs.source, pairs.target, strict=True)]
    known = _unzip(_lines(text / "seed" / "en-de.tsv"))
    vectors = encoder.encode(known[0], "en"), encoder.encode(known[1], "de")
    return Mined(source, target, pairs, np.array(right), found, vectors)


def margin(mined: Mined) -> alt.LayerChart:
    threshold = mined.calibration.threshold_for(PRECISION).threshold
    rule = alt.Chart(_rows(x=[threshold])).mark_rule(strokeDash=[5, 3], size=2).encode(x="x:Q")
    label = f"{PRECISION:.0%} by the estimate"
    words = (
        alt.Chart(_rows(x=[threshold], label=[label]))
        .mark_text(align="left", dx=5, y=8)
        .encode(x="x:Q", text="label:N")
    )
    return _histogram(mined, mined.pairs.scores, "margin score (ratio)") + rule + words


def cosine_and_ratio(mined: Mined) -> alt.HConcatChart:
    cosine = _histogram(mined, mined.pairs.cosines, "cosine").properties(width=270)
    ratio = _histogram(mined, mined.pairs.scores, "ratio margin").properties(width=270)
    return cosine | ratio


def calibration(mined: Mined) -> alt.LayerChart:
    curve = mined.calibration.curve
    order = np.argsort(-mined.pairs.scores)
    true = np.cumsum(mined.right[order]) / np.arange(1, len(order) + 1)
    estimate = _rows(x=curve.threshold, y=curve.precision, low=curve.precision_low, high=curve.precision_high)
    truth = _rows(x=mined.pairs.scores[order], y=true)
    x = alt.X("x:Q", title="threshold", scale=alt.Scale(zero=False))
    band = alt.Chart(estimate).mark_area(opacity=0.2, color="#2f7fd8").encode(x, alt.Y("low:Q"), alt.Y2("high:Q"))
    lines = [
        alt.Chart(rows)
        .transform_calculate(what=f"'{name}'")
        .mark_line()
        .encode(x, alt.Y("y:Q", title="precision", axis=alt.Axis(format="%")), alt.Color("what:N", title=None))
        for name, rows in (("estimated", estimate), ("true", truth))
    ]
    return alt.layer(band, *lines).properties(width=560, height=260)


def bound(mined: Mined) -> alt.LayerChart:
    """What int8 products miss of the cosine, and what they can miss at most."""
    (codes, scales, lost), (other, steps, missing) = (_rounded(side) for side in (mined.source, mined.target))
    rng = np.random.default_rng(0)
    a, b = rng.integers(len(codes), size=_SHOWN), rng.integers(len(other), size=_SHOWN)
    exact = np.einsum("ij,ij->i", _unit(mined.source)[a], _unit(mined.target)[b])
    product = np.einsum("ij,ij->i", codes[a].astype(np.int32), other[b].astype(np.int32)) * scales[a] * steps[b]
    most = lost[a] + missing[b] + lost[a] * missing[b]
    rows = _rows(x=exact, gap=product - exact, high=most, low=-most)
    x = alt.X("x:Q", title="exact cosine")
    points = [
        alt.Chart(rows)
        .mark_circle(size=12, color=color)
        .encode(x, alt.Y(f"{name}:Q", title="int8 product minus cosine"))
        for name, color in (("low", "#e3a83b"), ("high", "#e3a83b"), ("gap", "#2f7fd8"))
    ]
    return alt.layer(*points).properties(width=560, height=220)


def partitioned(mined: Mined) -> alt.LayerChart:
    """What is found of the exact graph, and what it takes, by the number of cells that each vector goes to."""
    source, target = (np.unique(_unit(side).astype(np.float32), axis=0) for side in mined.known)
    exact = knn_graph(from_array(source), from_array(target), k=4).forward
    found: dict[str, list] = {"copies": [], "share": [], "found": [], "what": []}
    with thread_pool(1) as pool:
        codebook = train_codebook(np.concatenate([source, target]), cell_count(len(source), len(target), 16), pool)
        for copies in _COPIES:
            cells = cells_of_sides(codebook, (source, target), copies, pool)
            graph, comparisons = key_graph(from_array(source), from_array(target), *cells, 4, pool)
            for place, what in ((0, "nearest"), (-1, "all four nearest")):
                same = graph.forward.scores[:, place] >= exact.scores[:, place]
                row = (copies, comparisons / len(source) / len(target), same.mean(), what)
                for column, value in zip(found.values(), row, strict=True):
                    column.append(value)
    x = alt.X("share:Q", title="comparisons, of all", axis=alt.Axis(format="~%"), scale=alt.Scale(type="log"))
    y = alt.Y("found:Q", title="sentences", axis=alt.Axis(format="%"))
    chart = alt.Chart(_rows(**found)).encode(x, y)
    lines = chart.mark_line(point=True).encode(alt.Color("what:N", title="found"))
    return alt.layer(lines, chart.mark_text(dy=13).encode(text="copies:Q")).properties(width=500, height=240)


def objectives(_: Mined) -> alt.HConcatChart:
    """Translations told apart, and similarity graded, by objective, after equal CPU time."""
    table = (DOCS / "results.md").read_text().partition("\n## Objectives compared\n")[2].partition("\n\n|  |")[2]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.partition("\n\n")[0].splitlines()[2:]]
    names, tatoeba, sts = ([row[column] for row in rows] for column in (0, 1, 4))
    points = alt.Chart(_rows(name=names, tatoeba=np.array(tatoeba, float), sts=np.array(sts, float)))
    y = alt.Y("name:N", sort=None, title=None)
    found = points.mark_bar().encode(alt.X("tatoeba:Q", title="translation found (Tatoeba-10, P@1)"), y)
    graded = points.mark_bar(color="#e3a83b").encode(
        alt.X("sts:Q", title="similarity graded (STS12-16, Spearman)"), y.axis(labels=False, ticks=False)
    )
    return found.properties(width=240) | graded.properties(width=240)


_COPIES = (1, 2, 3, 4, 6, 8)
PICTURES = {
    "margin": margin,
    "cosine-and-ratio": cosine_and_ratio,
    "calibration": calibration,
    "bound": bound,
    "partitioned": partitioned,
    "objectives": objectives,
}


def main(text: str, folder: str) -> None:
    mined = mine(Path(text))
    for name, draw in PICTURES.items():
        chart = draw(mined).configure(background="white").configure_view(stroke=None)
        chart.save(str(Path(folder) / f"{name}.svg"))


def _histogram(mined: Mined, values: np.ndarray, title: str) -> alt.Chart:
    rows = _rows(x=values, what=np.where(mined.right, "right", "wrong"))
    return (
        alt.Chart(rows)
        .mark_bar(binSpacing=0)
        .encode(
            alt.X("x:Q", bin=alt.Bin(maxbins=60), title=title),
            alt.Y("count()", title="pairs"),
            alt.Color("what:N", title=None, scale=_COLOURS),
        )
        .properties(width=560, height=220)
    )


def _rows(**columns: object) -> alt.InlineData:
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    rounded = {name: np.round(values, 4) if values.dtype.kind == "f" else values for name, values in arrays.items()}
    return alt.InlineData(pa.table({name: pa.array(values) for name, values in rounded.items()}).to_pylist())


def _rounded(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes, scales and lost lengths as the int8 search has them."""
    codes = np.empty(vectors.shape, np.int8)
    scales, lost = (np.empty(len(vectors), np.float32) for _ in range(2))
    round_rows(vectors, (1 / np.linalg.norm(vectors, axis=1)).astype(np.float32), codes, scales, lost)
    return codes, scales, lost


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _unzip(lines: list[str]) -> tuple[list[str], list[str]]:
    pairs = [line.split("\t") for line in lines]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    main(*sys.argv[1:])
