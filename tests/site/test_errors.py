"""Codes of errors and their sections are the same, and `twinlode explain` shows them."""

import re
from typing import NoReturn

import pytest
from typer.testing import CliRunner

from mining.errors import InputError, UnreachablePrecision
from pipelines.cli import app
from pipelines.commands.explain import sections
from tests.pipelines.test_cli import run
from tests.site.pages import ROOT


def explain(*code: str) -> str:
    result = CliRunner().invoke(app, ["explain", *code])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_every_code_has_a_section_and_every_section_a_code() -> None:
    sources = [path.read_text() for room in ("mining", "encoder", "pipelines") for path in (ROOT / room).rglob("*.py")]
    given = set(re.findall(r'code(?:: str)? ?= ?"(T\d\d)"', "\n".join(sources)))
    assert list(sections()) == sorted(given)


def test_the_command_line_says_how_to_read_more(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused() -> NoReturn:
        raise UnreachablePrecision("no threshold")

    assert run(monkeypatch, refused) == 2
    assert capsys.readouterr().err == "twinlode: no threshold [more: twinlode explain T01]\n"


@pytest.mark.parametrize("code", ["T06", "t06"])
def test_a_section_alone_and_without_links(code: str) -> None:
    told = explain(code)
    assert told.startswith("The language cannot be told. Give --src-lang")
    assert "in use" not in told
    assert ".md" not in explain("T01") and "twinlode review gives a threshold" in explain("T01")


def test_all_codes_with_their_titles() -> None:
    told = explain()
    assert all(code in told for code in sections())
    assert "The folder is in use" in told


def test_an_unknown_code() -> None:
    result = CliRunner().invoke(app, ["explain", "T99"])
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith("T99: there is no such error; the codes are T01, ")
