"""Settings of a row that held-out figures choose: one after another, which costs a sum of trainings, not a product."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

Values = Mapping[str, Sequence[Any]]  # of a setting, by its path such as `optimizer.lr`


def combinations(choose: Values) -> list[dict[str, Any]]:
    """All of them, each with a value for every path; one without any where there is nothing to choose."""
    return [dict(zip(choose, values, strict=True)) for values in product(*choose.values())]


def changed(tree: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """`tree` with one value at `path`; the original stays as it is."""
    first, _, rest = path.partition(".")
    return {**tree, first: changed(tree.get(first, {}), rest, value) if rest else value}


def best_combination(choose: Values, figure: Callable[[int], float]) -> int:
    """The number of a combination: each setting in turn takes its best value, later ones being at their first.

    `figure` is asked once for each number that is tried: of two settings with two values each, three of four.
    """
    sizes = [len(values) for values in choose.values()]
    known: dict[int, float] = {}
    best = [0] * len(sizes)
    for axis, size in enumerate(sizes):
        tried = {}
        for value in range(size):
            place = [*best[:axis], value, *best[axis + 1 :]]
            number = int(np.ravel_multi_index(place, sizes))
            if number not in known:
                known[number] = figure(number)
            tried[value] = known[number]
        best[axis] = max(tried, key=lambda value: tried[value])
    return int(np.ravel_multi_index(best, sizes))
