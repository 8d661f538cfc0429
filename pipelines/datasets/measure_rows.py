"""The measures of a manifest, as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_COUNTS = {"cells", "copies", "probe_pairs", "true_pairs"}  # stored as floats, as all measures are


def measure_rows(measures: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Names and figures."""
    for name, value in measures.items():
        yield name.replace("_", " "), f"{value:,.0f}" if name in _COUNTS else f"{value:,.4f}"
