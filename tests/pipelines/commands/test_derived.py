"""Options derived from settings."""

from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import pytest
import typer
from pydantic import BaseModel, ConfigDict, Field
from typer.testing import CliRunner

from mining.errors import InputError
from pipelines.commands.derived import GivenOptions, key, settings_tree, validated, with_settings


class Colour(StrEnum):
    red = "red"
    blue = "blue"


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size: int = Field(default=3, ge=1, description="how large")
    shape: Literal["round", "square"] | None = Field(default=None, description="its shape")


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    left: Inner = Inner()
    right: Inner = Inner()
    colour: Colour = Field(default=Colour.red, description="its colour")
    limit: float | None = Field(default=None, allow_inf_nan=False, description="at most this")
    strict: bool = Field(default=False, description="no mercy")
    sizes: tuple[int, ...] = Field(default=(1, 2), description="Sizes.")


OPTIONS = {
    "size": key("left.size", "right.size", flags=["--how-large"]),
    "shape": key("left.shape"),
    "colour": key("colour"),
    "limit": key("limit"),
    "strict": key("strict"),
    "sizes": key("sizes"),
}
SEEN: list[Outer] = []


@with_settings(Outer, OPTIONS)
def command(name: str, *, chosen: GivenOptions) -> None:
    """A command."""
    SEEN.append(validated(Outer, OPTIONS, chosen.tree(), name))


APP = typer.Typer()
APP.command()(command)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], Outer()),
        (["--size", "5"], Outer(left=Inner(size=5), right=Inner(size=5))),
        (["--how-large", "5", "--colour", "blue"], Outer(left=Inner(size=5), right=Inner(size=5), colour=Colour.blue)),
        (["--shape", "round", "--set", "right.size=7"], Outer(left=Inner(shape="round"), right=Inner(size=7))),
        (["--limit", "0.5", "--set", "limit=2"], Outer(limit=2)),
        (["--strict"], Outer(strict=True)),
        (["--sizes", "3,5"], Outer(sizes=(3, 5))),
    ],
)
def test_options_become_settings(arguments: list[str], expected: Outer) -> None:
    result = CliRunner().invoke(APP, ["x", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert SEEN.pop() == expected


def test_options_win_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("colour: blue\nstrict: true\nleft: {size: 9, shape: square}\n")
    CliRunner().invoke(APP, ["x", "--config", str(tmp_path / "c.yaml"), "--size", "4"], catch_exceptions=False)
    assert SEEN.pop() == Outer(left=Inner(size=4, shape="square"), right=Inner(size=4), colour=Colour.blue, strict=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "0"], r"x: --size: Input should be greater than or equal to 1"),
        (["--limit", "nan"], r"x: --limit: Input should be a finite number"),
        (["--set", "colr=red"], r"unknown key colr; did you mean colour\?"),
    ],
)
def test_a_mistake_names_the_option(arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CliRunner().invoke(APP, ["x", *arguments], catch_exceptions=False)


def test_help_and_defaults_come_from_the_settings() -> None:
    shown = " ".join(CliRunner().invoke(APP, ["--help"]).output.split())
    for text in (
        "How large. Default: 3.",
        "Its colour. Default: red.",
        "At most this.",
        "Sizes. Default: 1,2.",
    ):
        assert text in shown


def test_an_option_below_a_setting_of_the_wrong_form(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("left: 3\n")
    tree = settings_tree({"left.size": 5}, tmp_path / "a.yaml")
    assert tree == {"left": {"size": 5}}


@pytest.mark.parametrize(("tree", "missing"), [({}, "--lang"), ({"read": {"columns": 2}}, "--lang")])
def test_a_missing_value_is_told_by_its_option(tree: dict[str, Any], missing: str) -> None:
    class Read(BaseModel):
        lang: str
        columns: int = 1

    class Job(BaseModel):
        read: Read

    with pytest.raises(InputError, match=f"^job: {missing} is required$"):
        validated(Job, {"lang": key("read.lang")}, tree, "job")
