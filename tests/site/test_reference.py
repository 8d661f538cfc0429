"""The reference has every command, option, key and public name, because it is made from them."""

import re
from importlib import import_module

import pytest

from tests.pipelines.command_tree import all_commands
from tests.site import reference
from tests.site.pages import DOCS


def test_every_command_with_every_option() -> None:
    text = reference.commands()
    for name, command in all_commands().items():
        section = text.partition(f"## {name}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            for option in parameter.opts:
                assert (f"`{option}`" in section) if option.startswith("-") else (parameter.name.upper() in section)


def test_keys_have_values_defaults_and_descriptions() -> None:
    text = reference.configuration()
    assert "| `k` | integer | `4` | Neighbours that a margin is measured against. |" in text
    assert "| `memory` | bytes, such as 2GiB | `4.0GiB` | Memory of each worker" in text
    assert "[BagSettings](#train-bag)" in text
    assert "### BagSettings { #train-bag }" in text


def test_every_key_is_described() -> None:
    assert list(reference.undescribed()) == []


def test_every_public_name() -> None:
    text = reference.python_api()
    for package in reference.PACKAGES:
        for name in import_module(package).__all__:
            assert name == "__version__" or f"### {package}.{name} " in text
    assert "ForwardRef" not in text


def test_every_filter_and_format() -> None:
    assert "| `length` |" in reference.filters()
    assert "| `repeated_target` |" in reference.filters()
    assert "| `warc` | `.warc` |" in reference.input_formats()
    assert "| `src_also` | list&lt;item: int64> |" in reference.pair_columns()


@pytest.mark.parametrize("page", [path for path in sorted(DOCS.rglob("*.md")) if "<!-- gen" in path.read_text()])
def test_pages_ask_for_what_there_is(page) -> None:
    asked = re.findall(r"<!-- generated: (\w+) -->", page.read_text())
    assert asked and set(asked) <= set(reference.GENERATED)


def test_all_that_is_generated_is_shown() -> None:
    text = "".join(path.read_text() for path in DOCS.rglob("*.md"))
    assert all(f"<!-- generated: {name} -->" in text for name in reference.GENERATED)
