"""What several commands share: filters by name, and those of a file of settings where nobody names any."""

from pathlib import Path

import pytest

from mining.errors import InputError
from mining.filters import FilterSettings
from pipelines.commands.derived import settings_tree
from pipelines.commands.options import chosen_filters


def test_filters_that_are_not_chosen_leave_those_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("filters: {length: {min_chars: 7}}\n")
    tree = settings_tree(chosen_filters(None), tmp_path / "mine.yaml")
    assert tree == {"filters": {"length": {"min_chars": 7}}}


def test_a_single_filter_is_set_on_top_of_a_choice() -> None:
    tree = settings_tree(chosen_filters("none"), None, ["filters.length.min_chars=7"])
    assert tree["filters"].pop("length") == {"min_chars": 7}
    assert FilterSettings.model_validate(tree["filters"] | {"length": None}) == FilterSettings.none()
    assert FilterSettings.model_validate(chosen_filters("standard")["filters"]) == FilterSettings()


def test_a_file_of_filters_is_read(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_text("length: {min_chars: 7}\n")
    assert chosen_filters(str(tmp_path / "f.yaml"))["filters"]["length"]["min_chars"] == 7
    with pytest.raises(InputError, match=r"nowhere\.yaml: cannot be read"):
        chosen_filters("nowhere.yaml")
