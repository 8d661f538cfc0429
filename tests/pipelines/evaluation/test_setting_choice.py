"""Settings chosen one after another."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from pipelines.evaluation.setting_choice import best_combination, changed, combinations

GRID = {"objective.temperature": (0.05, 0.1), "optimizer.lr": (1e-3, 3e-3, 1e-2)}


def test_combinations_are_in_the_order_of_their_numbers() -> None:
    found = combinations(GRID)
    assert len(found) == 6 and found[4] == {"objective.temperature": 0.1, "optimizer.lr": 3e-3}
    assert combinations({}) == [{}]


@pytest.mark.parametrize(
    ("choose", "figures", "best", "asked"),
    [
        (GRID, [3, 1, 2, 4, 6, 5], 4, [0, 3, 4, 5]),  # the temperature at the first rate, then the rate
        (GRID, [3, 1, 2, 1, 9, 1], 0, [0, 3, 1, 2]),  # what no step leads to is not found
        ({"optimizer.lr": (1, 2)}, [1, 1], 0, [0, 1]),  # of equals the first
        ({"a": (1,), "b": (1,)}, [7], 0, [0]),
    ],
)
def test_each_setting_in_turn(
    choose: Mapping[str, Sequence[float]], figures: list[float], best: int, asked: list[int]
) -> None:
    seen: list[int] = []

    def figure(number: int) -> float:
        seen.append(number)
        return figures[number]

    assert best_combination(choose, figure) == best and seen == asked


def test_settings_that_do_not_depend_on_each_other_are_found() -> None:
    first, second = np.random.default_rng(0).normal(size=(2, 4))
    sums = first[:, None] + second
    found = best_combination({"a": range(4), "b": range(4)}, lambda number: float(sums.flat[number]))
    assert found == sums.argmax()


def test_a_change_leaves_the_rest_and_the_original() -> None:
    tree = {"optimizer": {"kind": "adam", "lr": 1}, "model": {"dim": 8}}
    assert changed(tree, "optimizer.lr", 2) == {"optimizer": {"kind": "adam", "lr": 2}, "model": {"dim": 8}}
    assert changed({}, "a.b", 1) == {"a": {"b": 1}} and tree["optimizer"]["lr"] == 1
