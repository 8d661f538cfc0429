"""Codes of errors and their sections are the same."""

import re
from typing import NoReturn

import pytest

from mining.errors import UnreachablePrecision
from tests.pipelines.test_cli import run
from tests.site.pages import DOCS, ROOT


def test_every_code_has_a_section_and_every_section_a_code() -> None:
    sources = [path.read_text() for room in ("mining", "encoder", "pipelines") for path in (ROOT / room).rglob("*.py")]
    given = set(re.findall(r'code(?:: str)? ?= ?"(T\d\d)"', "\n".join(sources)))
    told = re.findall(r"^## (T\d\d)$", (DOCS / "reference" / "errors.md").read_text(), re.MULTILINE)
    assert told == sorted(given)


def test_the_command_line_names_the_page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refused() -> NoReturn:
        raise UnreachablePrecision("no threshold")

    assert run(monkeypatch, refused) == 2
    assert capsys.readouterr().err == "twinlode: no threshold [T01: docs/reference/errors.md#t01]\n"
