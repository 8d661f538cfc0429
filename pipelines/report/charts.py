"""The charts as Vega-Lite specifications; colours that depend on the theme are the page's business."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from pipelines.report.figures import Stage
from pipelines.report.hubs import SideHubs

Rows = list[dict[str, Any]]
Spec = dict[str, Any]

RIGHT, WRONG, KEPT, FILTERED, BELOW = "kept, right", "kept, wrong", "kept", "dropped by filters", "below threshold"
_COLOURS = {KEPT: "#2f7fd8", RIGHT: "#2f9e6e", WRONG: "#e0603a", FILTERED: "#e3a83b", BELOW: "#9aa5b1"}
_REASONS = [
    "#e3a83b", "#e0603a", "#b46ad6", "#5fb3b3", "#c98f6b", "#9aa5b1", "#d66a94", "#8a9a3c", "#6a7fd6", "#7a4b2a",
    "#2f9e6e", "#a3324f", "#c9c13b", "#3b5a7a", "#e79ac0", "#5a8f29",
]  # fmt: skip
THEME_COLOURS = 20  # of the page's category range, see charts.js
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
_HEIGHT = 230
_LEGEND_WIDTH = 380  # of the narrowest panel on a wide screen


class ThresholdCurve(NamedTuple):
    """A curve over thresholds, with bounds where they are known; thresholds may come in any order."""

    name: str
    threshold: Sequence[float]
    value: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def histogram(edges: Sequence[float], parts: dict[str, np.ndarray], threshold: float | None) -> Spec:
    """Stacked counts of scores by what became of the pairs."""
    rows: Rows = [
        {"from": low, "to": high, "pairs": int(count), "what": name}
        for name, counts in parts.items()
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        if count
    ]
    names = list(parts)
    bars = (
        _chart()
        .mark_bar(binSpacing=1)
        .encode(
            x=alt.X("from:Q", bin="binned", title="score", scale=alt.Scale(zero=False)),
            x2="to:Q",
            y=alt.Y("sum(pairs):Q", title="pairs", stack=True),
            color=_by_name(names, [_COLOURS[name] for name in names]),
            order=alt.Order("what:N", sort="descending"),
            tooltip=["what:N", _number("from", ".3f"), _number("to", ".3f"), _number("pairs", ",")],
        )
    )
    return _spec(bars, rows, now=threshold)


def kept_by_threshold(threshold: Sequence[float], kept: Sequence[int], now: float | None) -> Spec:
    """How many pairs each threshold keeps."""
    rows: Rows = [{"threshold": t, "pairs": k} for t, k in zip(threshold, kept, strict=True)]
    area = (
        _chart()
        .mark_area(line={"color": _COLOURS[KEPT]}, color=_COLOURS[KEPT], fillOpacity=0.18, interpolate="step")
        .encode(
            x=_threshold_axis(),
            y=alt.Y("pairs:Q", title="pairs kept"),
            tooltip=[_number("threshold", ".3f"), _number("pairs", ",")],
        )
    )
    return _spec(area, rows, now=now, pan=True)


def precision_by_threshold(lines: Sequence[ThresholdCurve], now: float | None) -> Spec:
    """Precision of what each threshold keeps: estimates with their bounds, and the truth where it is known."""
    rows: Rows = []
    for line in lines:
        bounds = zip(line.low or line.value, line.high or line.value, strict=True)
        rows += [
            {"threshold": t, "precision": p, "low": low, "high": high, "what": line.name}
            for t, p, (low, high) in zip(line.threshold, line.value, bounds, strict=True)
        ]
    least = _tenth_below(row["low"] for row in rows)
    base = _chart().encode(x=_threshold_axis(), color=_by_name(line.name for line in lines))
    band = base.mark_area(opacity=0.2).encode(y=_share("low", least=least), y2="high:Q", tooltip=alt.value(None))
    line_ = base.mark_line(strokeWidth=2).encode(
        y=_share("precision", least=least),
        tooltip=["what:N", _number("threshold", ".3f"), *(_number(n, ".1%") for n in ("precision", "low", "high"))],
    )
    return _spec(band + line_, rows, now=now, foot=True, pan=True)


def precision_recall(lines: Mapping[str, tuple[Sequence[float], Sequence[float], Sequence[float]]]) -> Spec:
    """Precision over recall: for each name the recalls, the precisions and the thresholds."""
    rows: Rows = [
        {"recall": r, "precision": p, "threshold": t, "what": name, "order": place}
        for name, columns in lines.items()
        for place, (r, p, t) in enumerate(zip(*columns, strict=True))
    ]
    chart = (
        _chart()
        .mark_line(strokeWidth=2)
        .encode(
            x=_share("recall", axis="x"),
            y=_share("precision", least=_tenth_below(row["precision"] for row in rows)),
            order="order:Q",
            color=_by_name(lines),
            tooltip=["what:N", _number("threshold", ".3f"), _number("precision", ".1%"), _number("recall", ".1%")],
        )
    )
    return _spec(chart, rows)


def funnel(stages: Sequence[Stage]) -> Spec:
    """One bar a stage: what stayed, and the reasons of what went."""
    rows: Rows = []
    for place, stage in enumerate(stages):
        parts = {"kept": stage.counters.kept, **stage.counters.dropped}
        rows += [
            {"stage": stage.name, "what": name.replace("_", " "), "rows": count, "order": rank, "place": place}
            for rank, (name, count) in enumerate(parts.items())
            if count
        ]
    names = list(dict.fromkeys(row["what"] for row in rows if row["what"] != KEPT))
    colours = [_COLOURS[KEPT], *(_REASONS[n % len(_REASONS)] for n in range(len(names)))]
    chart = (
        _chart()
        .mark_bar(cornerRadius=2)
        .encode(
            y=alt.Y("stage:N", sort=[stage.name for stage in stages], title=None, axis=alt.Axis(labelLimit=200)),
            x=alt.X("rows:Q", title="rows", stack=True),
            order="order:Q",
            color=_by_name([KEPT, *names], colours),
            tooltip=["stage:N", "what:N", _number("rows", ",")],
        )
    )
    return _spec(chart, rows, height=34 * len(stages))


def length_scatter(points: Rows, names: tuple[str, str]) -> Spec:
    """Characters of one side against those of the other, by score."""
    chart = (
        _chart()
        .mark_circle(size=22, opacity=0.55)
        .encode(
            x=_log("source", f"characters, {names[0]}"),
            y=_log("target", f"characters, {names[1]}"),
            color=alt.Color("score:Q", scale=alt.Scale(range=["#e0603a", "#d9b23b", "#2f7fd8"]), title="score"),
            tooltip=[_number("score", ".3f"), _number("source", ","), _number("target", ",")],
        )
    )
    return _spec(chart, points, pan=True)


def occurrences(sides: Sequence[SideHubs]) -> Spec:
    """How many sentences are a neighbour 0, 1, 2-3, ... times."""
    rows: Rows = [
        {"side": side.side, "times": label, "sentences": count, "order": place}
        for side in sides
        for place, (label, count) in enumerate(side.occurrences)
    ]
    labels = [label for label, _ in max((side.occurrences for side in sides), key=lambda bins: len(bins))]
    chart = (
        _chart()
        .mark_bar()
        .encode(
            x=alt.X("times:N", sort=labels, title="times a neighbour", axis=_LEVEL),
            xOffset="side:N",
            y=alt.Y("sentences:Q", scale=alt.Scale(type="symlog"), title="sentences (log)"),
            color=_by_name((side.side for side in sides), field="side"),
            tooltip=["side:N", "times:N", _number("sentences", ",")],
        )
    )
    return _spec(chart, rows)


def over_rounds(rows: Rows, title: str, percent: bool) -> Spec:
    """A figure of each round of a loop; rows have `round`, `value` and `what`."""
    axis = alt.Axis(format="%" if percent else ",.3~f")
    names = list(dict.fromkeys(row["what"] for row in rows))
    chart = (
        _chart()
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X("round:O", title="round", axis=_LEVEL),
            y=alt.Y("value:Q", title=title, axis=axis, scale=alt.Scale(zero=not percent)),
            color=_by_name(names),
            strokeDash=_dashes(names),
            tooltip=["what:N", "round:O", _number("value", ".1%" if percent else ",")],
        )
    )
    return _spec(chart, rows)


_LEVEL = alt.Axis(labelAngle=0)


def _chart(data: str = "rows") -> alt.Chart:
    return alt.Chart(alt.NamedData(name=data))


def _spec(
    chart: alt.Chart | alt.LayerChart,
    rows: Rows,
    *,
    now: float | None = None,
    foot: bool = False,
    height: int = _HEIGHT,
    pan: bool = False,
) -> Spec:
    """The specification with its rows, put in at last: altair would check thousands of them one by one."""
    layers = chart + _rule(foot) if now is not None else chart
    sized = layers.properties(width="container", height=height)
    # Wheel zoom would catch a reader who scrolls the page: zooming takes the shift key.
    zoom = alt.selection_interval(bind="scales", encodings=["x"], zoom="wheel![event.shiftKey]")
    spec = (sized.add_params(zoom) if pan else sized).to_dict()
    threshold = [{"threshold": now, "label": f"threshold {now:.3f}"}] if now is not None else []
    return spec | {"datasets": {"rows": rows, "now": threshold}}


def _rule(foot: bool) -> alt.LayerChart:
    base = _chart("now").encode(x="threshold:Q")
    rule = base.mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color="#d6336c")
    place = alt.value(_HEIGHT - 12 if foot else 2)
    text = base.mark_text(align="left", dx=5, baseline="top", color="#d6336c").encode(text="label:N", y=place)
    return rule + text


def _by_name(names: Iterable[str], colours: list[str] | None = None, field: str = "what") -> alt.Color:
    """A colour for each name: these, or those of the page's theme in turn."""
    domain = list(dict.fromkeys(names))
    scale = alt.Scale(domain=domain, range=colours) if colours else alt.Scale(domain=domain)
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=_legend(domain))


def _dashes(names: list[str]) -> alt.StrokeDash:
    """Other dashes for names that get a colour for the second time."""
    patterns = [_DASHES[place // THEME_COLOURS % len(_DASHES)] for place in range(len(names))]
    scale = alt.Scale(domain=names, range=patterns)
    return alt.StrokeDash("what:N", title=None, scale=scale, legend=_legend(names))


def _legend(names: list[str]) -> alt.Legend:
    """All names above the chart, in as many rows as they take; Vega by itself would cut off what is too wide."""
    takes = [26 + 6.5 * len(name) for name in names]
    columns = len(names) if sum(takes) <= _LEGEND_WIDTH else max(1, int(_LEGEND_WIDTH // max(takes)))
    return alt.Legend(
        orient="top", columns=columns, labelLimit=240, symbolLimit=0, symbolOpacity=1, symbolType="square"
    )


def _threshold_axis() -> alt.X:
    return alt.X("threshold:Q", title="threshold", scale=alt.Scale(zero=False))


def _tenth_below(values: Iterable[float]) -> float:
    """Where an axis of shares starts: at the tenth below the lowest."""
    return float(np.floor(10 * min(values, default=0.0)) / 10)


def _share(field: str, axis: str = "y", least: float = 0.0) -> alt.Y | alt.X:
    channel = alt.X if axis == "x" else alt.Y
    name = "precision" if axis == "y" else field
    return channel(f"{field}:Q", title=name, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[least, 1], clamp=True))


def _log(field: str, title: str) -> alt.X | alt.Y:
    channel = alt.X if field == "source" else alt.Y
    return channel(
        f"{field}:Q", title=title, scale=alt.Scale(type="log", nice=False, padding=8), axis=alt.Axis(tickCount=5)
    )


def _number(field: str, format: str) -> alt.Tooltip:
    return alt.Tooltip(f"{field}:Q", format=format)
