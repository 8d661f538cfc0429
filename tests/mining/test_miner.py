"""The budget covers the table of pairs."""

from pathlib import Path

import numpy as np
import pytest

from mining.errors import InputError
from mining.miner import MineSettings, mine_sides
from mining.neighbours import Graph, Neighbours
from mining.sides import open_side


def test_a_table_of_pairs_beyond_the_budget_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.eye(50, dtype=np.float32))
    (tmp_path / "a.txt").write_text("".join(f"{number:02d} {'x' * 996}\n" for number in range(50)))
    side = open_side(str(tmp_path / "a.npy"), str(tmp_path / "a.txt"), dim=None, dtype=None)
    same = Neighbours(np.arange(50)[:, None], np.ones((50, 1), np.float32))
    graph = Graph(same, same)
    with pytest.raises(
        InputError, match=r"the table of 50 pairs with their texts needs about 0 MB, and --memory is 0 MB"
    ):
        mine_sides(side, side, graph, MineSettings(memory=200_000))
    assert mine_sides(side, side, graph, MineSettings(memory=220_000))[1].pairs.num_rows == 50
