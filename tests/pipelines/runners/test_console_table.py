"""Tables in a narrow terminal: heads and figures whole, whatever the width."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from pipelines.runners.console_table import show_table

LOOP = [
    ["round", "pairs mined", "precision: estimated", "in gold", "Tatoeba-36", "BUCC F1", "STS", "updates", "minutes"],
    ["0", "-", "-", "-", "71.24", "63.90", "88.10", "12,000", "11.2"],
    ["1 (best)", "1,234,567", "91.3", "90.8", "74.02", "66.18", "89.33", "24,000", "25.7"],
]  # fmt: skip
ROUND = [["", "mined", "right", "precision"], ["en-de", "12,345 → 13,456", "11,345 → 12,456", "91.9 → 92.6"]]
TEXTS = [["id", "text"], ["1", "word " * 40], ["2", "x" * 100]]


def shown(lines: list[list[str]], width: int, **how: Any) -> str:
    console = Console(file=StringIO(), width=width)
    show_table(lines, console, "title", **how)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("lines", [LOOP, ROUND], ids=["loop", "round"])
def test_heads_and_figures_are_whole(lines: list[list[str]], width: int) -> None:
    output = shown(lines, width)
    assert "…" not in output
    assert all(len(line) <= width for line in output.splitlines())
    for word in " ".join(lines[0]).split():
        assert word in output
    for cell in (cell for line in lines[1:] for cell in line):
        assert f" {cell} " in output


def test_as_many_tables_as_it_takes_each_with_its_first_column() -> None:
    assert shown(LOOP, 200).count("1 (best)") == 1
    assert shown(LOOP, 80).count("1 (best)") == 2
    assert shown(LOOP, 80).count("title") == 1


def test_all_keys_are_in_each_of_the_tables() -> None:
    lines = [["benchmark", "score", "one", "two", "three"], ["bucc", "P@1", *(letter * 24 for letter in "xyz")]]
    output = shown(lines, 80, texts=True, keys=2)
    assert [output.count(text) for text in ("benchmark", "score", "bucc", "P@1")] == [2] * 4
    assert [output.count(letter * 24) for letter in "xyz"] == [1] * 3


def test_long_texts_are_wrapped_and_markup_is_text() -> None:
    output = shown([*TEXTS, ["[red]3", "[bold]"]], 60, texts=True)
    assert output.count("word") == 40 and output.count("x") >= 100
    assert "[red]3" in output and "[bold]" in output


def test_last_rows_are_set_apart() -> None:
    lines = [["", "a"], ["x", "1"], ["y", "2"], ["mean", "1.5"]]
    console = Console(file=StringIO(), width=80)
    show_table(lines, console, end=1)
    kept = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert kept[-3].startswith("├") and "mean" in kept[-2]
