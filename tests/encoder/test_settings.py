"""YAML settings: overrides, and sentences for mistakes."""

from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from encoder.settings import Settings, load_settings
from encoder.training.training_settings import TrainSettings
from mining.errors import InputError


class Circle(Settings):
    kind: Literal["circle"] = "circle"
    radius: float = 1.0


class Square(Settings):
    kind: Literal["square"] = "square"
    side: float = 1.0


class Item(Settings):
    name: str


class Drawing(Settings):
    shape: Annotated[Circle | Square, Field(discriminator="kind")] = Circle()
    items: tuple[Item, ...] = ()
    width: int = 3


def load(tmp_path: Path, text: str, *overrides: str) -> Drawing:
    path = tmp_path / "drawing.yaml"
    path.write_text(text)
    return load_settings(Drawing, path, overrides)


def test_overrides_reach_sections_lists_and_new_keys(tmp_path: Path) -> None:
    drawing = load(tmp_path, "items: [{name: a}, {name: b}]", "items.1.name=c", "shape.kind=square", "shape.side=2.5")
    assert [item.name for item in drawing.items] == ["a", "c"]
    assert drawing.shape == Square(side=2.5)


def test_a_name_with_a_placeholder_is_text_and_a_mapping_is_not(tmp_path: Path) -> None:
    drawing = load(tmp_path, "items: [{name: a}]", "items.0.name={lang}/train.txt", "shape={kind: square, side: 2}")
    assert drawing.items[0].name == "{lang}/train.txt"
    assert drawing.shape == Square(side=2)


def test_an_empty_file_is_all_defaults(tmp_path: Path) -> None:
    assert load(tmp_path, "") == Drawing()


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        ("widht: 3", (), r"drawing.yaml: unknown key widht; did you mean width\?"),
        ("shape: {kind: circle, radios: 2}", (), r"did you mean radius\?"),
        ("items: [{name: a, nmae: b}]", (), r"items.0.nmae; did you mean name\?"),
        ("width: wide", (), "width: .*integer"),
        ("shape: {kind: cube}", (), "shape: .*'circle', 'square'"),
        ("[1, 2]", (), "not a list"),
        ("a: [", (), "not valid YAML"),
        ("", ("width",), "section.key=value"),
        ("items: [{name: a}]", ("items.3.name=b",), "count from 0"),
    ],
)
def test_mistakes_are_sentences(tmp_path: Path, text: str, overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(tmp_path, text, *overrides)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml: cannot be read"):
        load_settings(Drawing, tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("section", "old", "new"),
    [
        ("", "optimiser", "optimizer"),
        ("text", "normalise", "normalize"),
        ("batch", "alike", "homogeneous"),
        ("batch", "kindred", "hard_negatives: lexical"),
        ("", "seed", "random_seed"),
        ("subword", "seed", "random_seed"),
    ],
)
def test_an_old_key_is_told_its_new_name(tmp_path: Path, section: str, old: str, new: str) -> None:
    path = tmp_path / "train.yaml"
    path.write_text("data: {corpora: [{path: en-de.tsv}]}\nlimits: {steps: 1}\n")
    key = f"{section}.{old}".lstrip(".")
    with pytest.raises(InputError, match=rf"train.yaml: the key {key} is called {new} now"):
        load_settings(TrainSettings, path, [f"{key}=1"])
