"""Bands of scores with round borders, and samples that show each band equally well."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_STEPS = np.array([1.0, 2.0, 2.5, 5.0])


class RoundBands(NamedTuple):
    """Borders of bands, lowest first; everything below the first belongs to the first band, and above the last too."""

    borders: np.ndarray  # (bands + 1,)
    counts: np.ndarray  # (bands,)

    def of(self, scores: np.ndarray) -> np.ndarray:
        """The number of the band of each score."""
        return np.clip(np.searchsorted(self.borders[1:-1], scores, side="right"), 0, len(self.counts) - 1)

    def label(self, band: int) -> str:
        low, high = self.borders[band : band + 2]
        return f"from {low:g}" if band == len(self.counts) - 1 else f"{low:g} – {high:g}"


def score_bands(scores: np.ndarray, most: int = 10, fewest: int = 1) -> RoundBands:
    """At most `most` bands (and one more by rounding) of at least `fewest` scores each; thin ones join a neighbour."""
    if not len(scores):
        return RoundBands(np.zeros(1), np.zeros(0, np.int64))
    low, high = np.quantile(scores.astype(np.float64), [0.005, 0.995])
    step = _round_step(max(high - low, 1e-6) / most)
    first, last = np.floor(low / step), max(np.ceil(high / step), np.floor(low / step) + 1)
    borders = np.round(step * np.arange(first, last + 1), 10)
    bands = RoundBands(borders, np.zeros(len(borders) - 1, np.int64))
    counts = np.bincount(bands.of(scores), minlength=len(borders) - 1)
    return _merged(borders, counts, fewest)


def _round_step(step: float) -> float:
    power = 10.0 ** np.floor(np.log10(step))
    fits = _STEPS[_STEPS * power >= step - 1e-12]
    return float(fits[0] * power if len(fits) else 10 * power)


def _merged(borders: np.ndarray, counts: np.ndarray, fewest: int) -> RoundBands:
    kept, sizes = [borders[0]], []
    waiting = 0
    for border, count in zip(borders[1:], counts, strict=True):
        waiting += int(count)
        if waiting >= fewest:
            kept.append(border)
            sizes.append(waiting)
            waiting = 0
    if not sizes:
        kept.append(borders[-1])
        sizes.append(0)
    sizes[-1] += waiting
    kept[-1] = max(kept[-1], borders[-1])
    return RoundBands(np.array(kept), np.array(sizes, np.int64))


def sample_bands(numbers: np.ndarray, bands: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """At most `most` rows, in order, as many of each band as possible: what a small band leaves goes to the others."""
    groups = [rng.permutation(np.flatnonzero(numbers == band)) for band in range(bands)]
    chosen: list[np.ndarray] = []
    left = most
    for place, group in enumerate(sorted(groups, key=len)):
        share = left // (bands - place)
        chosen.append(group[:share])
        left -= len(chosen[-1])
    return np.sort(np.concatenate([np.empty(0, np.int64), *chosen]))
