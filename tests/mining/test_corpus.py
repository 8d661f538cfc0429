from pathlib import Path

import numpy as np
import pytest

from mining.corpus import find_repeats, read_id_pairs, scan, texts_at
from mining.errors import InputError


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_the_first_of_repeated_lines_stands_for_all(tmp_path: Path) -> None:
    lines = scan(write(tmp_path / "a", ["x", "y", "x", "", "x"]))
    repeats = find_repeats(lines.hashes)
    assert lines.blank.tolist() == [False, False, False, True, False]
    assert repeats.first.tolist() == [0, 1, 0, 3, 0]
    assert repeats.again.tolist() == [False, False, True, False, True]
    assert repeats.positions(np.array([1, 0, 3])) == [[], [3, 5], []]


def test_texts_come_in_the_order_asked_for(tmp_path: Path) -> None:
    url = write(tmp_path / "a", ["zero", "one", "two", "three"])
    assert texts_at(url, np.array([3, 0, 3])).to_pylist() == ["three", "zero", "three"]
    assert texts_at(url, np.array([], int)).to_pylist() == []


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(["1\t2", "3\t1"], [[0, 1], [2, 0]]), (["a\tB", "c\tA"], [[0, 1], [2, 0]])],
    ids=["line numbers", "sentences"],
)
def test_pairs_by_line_number_or_by_sentence(tmp_path: Path, rows: list[str], expected: list[list[int]]) -> None:
    source, target = scan(write(tmp_path / "s", ["a", "b", "c"])), scan(write(tmp_path / "t", ["A", "B"]))
    assert read_id_pairs(write(tmp_path / "gold", rows), source, target).tolist() == expected


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no pairs in it"),
        (["1\t1", "1"], "line 2: 1 columns where two"),
        (["1\t1", "1\t9"], "gold, line 2: .*t has no line 9, only 2 lines"),
        (["0\t1"], "has no line 0"),
        (["1\t99999999999999999999"], "has no line"),
        (["a\tA", "a\tnowhere"], "gold, line 2: this sentence is not in .*t"),
    ],
)
def test_bad_pair_files_name_the_line(tmp_path: Path, rows: list[str], message: str) -> None:
    source, target = scan(write(tmp_path / "s", ["a", "b", "c"])), scan(write(tmp_path / "t", ["A", "B"]))
    with pytest.raises(InputError, match=message):
        read_id_pairs(write(tmp_path / "gold", rows), source, target)


def test_an_empty_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the text is empty"):
        scan(write(tmp_path / "a", []))
