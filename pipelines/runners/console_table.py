"""Tables for a terminal of any width: what does not fit beside each other goes below, and nothing is cut off."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

_FRAME = 3  # of a column: its padding and one line
_LONGEST = 24  # what is longer is text, and may be wrapped


def show_table(
    lines: Sequence[Sequence[str]],
    console: Console,
    title: str | None = None,
    *,
    texts: bool = False,
    keys: int = 1,
    end: int = 0,
) -> None:
    """Header and rows. All columns but the first are figures, unless they are `texts`; `end` last rows are set apart.

    Where the terminal is too narrow, several tables one below the other, each with the first columns, the `keys`.
    """
    header, *rows = lines
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(header)
    needs = [max(map(_need, [_longest_word(name), *cells])) for name, cells in zip(header, columns, strict=True)]
    wishes = [max(map(cell_len, [name, *cells])) for name, cells in zip(header, columns, strict=True)]
    for number, places in enumerate(_fitting(needs, console.width, keys)):
        table = Table(title=None if number else title, title_justify="left")
        widths = _widths([needs[place] for place in places], [wishes[place] for place in places], console.width)
        for place, width in zip(places, widths, strict=True):
            justify: JustifyMethod = "right" if place and not texts else "left"
            table.add_column(Text(header[place]), justify=justify, overflow="fold", width=width)
        for count, row in enumerate(rows, 1):
            table.add_row(*(Text(row[place]) for place in places), end_section=count == len(rows) - end)
        console.print(table)


def _longest_word(head: str) -> str:
    """Heads may be wrapped, but not inside of a word."""
    return max(head.split(), key=cell_len, default="")


def _need(cell: str) -> int:
    """How many columns of the terminal a cell takes at least."""
    longest = max(map(cell_len, cell.split()), default=0)
    return cell_len(cell) if cell_len(cell) <= _LONGEST else min(longest, _LONGEST)


def _fitting(needs: Sequence[int], width: int, keys: int) -> list[list[int]]:
    """The columns of each table; the first `keys` are in all of them."""
    tables: list[list[int]] = [list(range(keys))]
    for column in range(keys, len(needs)):
        taken = 1 + sum(needs[place] + _FRAME for place in [*tables[-1], column])
        if taken > width and len(tables[-1]) > keys:
            tables.append(list(range(keys)))
        tables[-1].append(column)
    return tables


def _widths(needs: Sequence[int], wishes: Sequence[int], width: int) -> list[int]:
    """What each column needs, and as much of what it wishes as there is, the first columns first."""
    spare = width - 1 - sum(need + _FRAME for need in needs)
    widths = []
    for need, wish in zip(needs, wishes, strict=True):
        more = max(0, min(spare, wish - need))
        widths.append(need + more)
        spare -= more
    return widths
