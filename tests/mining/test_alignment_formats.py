"""Alignment files in and out."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from mining.alignment_formats import Link, LinkGroup, beads_of, read_links, write_links, write_xces
from mining.errors import InputError

PLACES = np.array([[0, 1, 0, 2], [1, 1, 2, 3], [1, 3, 3, 4]])


def test_vecalign_lines_come_back(tmp_path: Path) -> None:
    file = tmp_path / "out"
    with file.open("w") as stream:
        write_links(stream, beads_of(PLACES), np.array([0.25, np.nan, 0.5]))
    assert file.read_text().splitlines()[0] == "[0]:[0, 1]:0.250000"
    assert read_links(str(file)) == [Link((0,), (0, 1), 0.25), Link((), (2,), 0.0), Link((1, 2), (3,), 0.5)]


def test_gold_without_costs_and_ladders(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("[0]:[0, 1]\n\n[]:[2]\n")
    (tmp_path / "ladder").write_text("0\t0\t0.3\n1\t2\t0.5\n1 3 0\n")
    gold, ladder = ([link[:2] for link in read_links(str(tmp_path / name))] for name in ("gold", "ladder"))
    assert gold == ladder == [((0,), (0, 1)), ((), (2,))]


@pytest.mark.parametrize(
    ("text", "told"),
    [("[0]:[0]\nnonsense\n", "line 2"), ("[0]:[0]:x\n", "line 1"), ("0 0\n3 3\n2 4\n", "line 3: the ladder goes back")],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "bad").write_text(text)
    with pytest.raises(InputError, match=told):
        read_links(str(tmp_path / "bad"))


def test_xces_links_count_sentences_from_one() -> None:
    stream = io.StringIO()
    assert write_xces(stream, [LinkGroup("en/a&b.txt", "de/a.txt", beads_of(PLACES), np.array([0.9, 0.8, 0.7]))]) == 3
    root = ElementTree.fromstring(stream.getvalue())
    group = root.find("linkGrp")
    assert group is not None
    assert group.get("fromDoc") == "en/a&b.txt"
    assert [link.get("xtargets") for link in group] == ["1;1 2", ";3", "2 3;4"]
