"""`twinlode explain`: what there is to say about an error, from the site's page of errors."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Annotated

import typer

_SECTION = re.compile(r"^## (T\d\d)\n+(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")  # pages of the site, which a terminal cannot open


def command(
    code: Annotated[str | None, typer.Argument(help="The code, such as T01. Default: all, with their titles.")] = None,
) -> None:
    """Say more about an error that ended with a code: what it means and what to do.

    \b
    Example:
      twinlode explain T01
    """
    from rich.console import Console
    from rich.markdown import Markdown

    from mining.errors import InputError
    from pipelines.commands.console_output import show

    told = sections()
    if code is None:
        show("errors", [(name, _title(text)) for name, text in told.items()])
    elif code.upper() in told:
        Console().print(Markdown(_LINK.sub(r"\1", told[code.upper()])))
    else:
        raise InputError(f"{code}: there is no such error; the codes are {', '.join(told)}")


def sections() -> dict[str, str]:
    """The Markdown below each code of the page."""
    return dict(_SECTION.findall((files("mining") / "errors.md").read_text(encoding="utf-8")))


def _title(section: str) -> str:
    return section.split("**")[1].rstrip(".")
