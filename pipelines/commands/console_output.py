"""What commands say to a person: notes, the stage that begins, and a table at the end."""

from __future__ import annotations

from collections.abc import Iterable


def say_notes(notes: list[str]) -> None:
    """What a person should know of a run, on stderr."""
    from rich.console import Console

    for note in notes:
        Console(stderr=True).print(f"note: {note}", style="yellow", highlight=False, soft_wrap=True, markup=False)


def console_report(stage: str) -> None:
    from rich.console import Console

    Console(stderr=True).print(f"[bold]{stage}")


def show(title: str | None, rows: Iterable[tuple[str, str]], *, error: bool = False) -> None:
    """Print a table of names and figures; what is too long for the terminal goes on below, and nothing is cut off.

    With `error` on standard error, where standard output is for something else.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title) if title else None, title_justify="left", show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", justify="right")
    for row in rows:
        table.add_row(*map(Text, row))  # as Text, because names of files may hold what rich takes for markup
    Console(stderr=error).print(table)
