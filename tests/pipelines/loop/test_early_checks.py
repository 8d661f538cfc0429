"""Mistakes that a round would stumble over are found before the first training, each as one sentence."""

from pathlib import Path
from typing import Any

import pytest

from encoder.settings import validate_settings
from mining.errors import InputError
from pipelines.evaluation.bucc import PROMISED
from pipelines.loop.early_checks import check_benchmarks, check_text
from pipelines.loop.loop_settings import LoopSettings
from tests.conftest import Refusal
from tests.pipelines.loop.corpora import one_pair, write_configuration, write_world


def check(tree: dict[str, Any], folder: Path) -> list[str]:
    told: list[str] = []
    settings = validate_settings(LoopSettings, tree, "loop")
    check_text(settings, str(folder / "base"), told.append)
    check_benchmarks(settings, folder, told.append)
    return told


def test_what_is_right_passes_and_leaves_nothing(tmp_path: Path) -> None:
    assert check(write_world(tmp_path), tmp_path) == ["check de", "check en", "check fr", "check bucc"]
    assert not (tmp_path / "base").exists()


def test_an_empty_text(tmp_path: Path) -> None:
    tree = write_world(tmp_path)
    (tmp_path / "empty.txt").write_text("")
    tree["text"]["de"] |= {"inputs": [str(tmp_path / "empty.txt")]}
    with pytest.raises(InputError, match=r"text\.de: there is no sentence in .*empty\.txt; the files are empty"):
        check(tree, tmp_path)


def test_a_text_of_another_language(tmp_path: Path) -> None:
    tree = write_world(tmp_path)
    english = "This is quite an ordinary sentence about the weather of today.\n"
    (tmp_path / "text.txt").write_text(english * 3)
    tree["text"]["de"] = {"inputs": [str(tmp_path / "text.txt")]}
    with pytest.raises(InputError, match=r"text\.de: no sentence of the 3 in .*text\.txt is left: language took 3"):
        check(tree, tmp_path)


def test_a_language_that_is_not_detected(tmp_path: Path) -> None:
    tree = write_world(tmp_path)
    tree["text"]["tlh"] = {"inputs": [str(tmp_path / "shared.de")]}
    with pytest.raises(InputError, match=r"text\.tlh: .* does not know tlh; write `lang_filter: assume` there"):
        check(tree | {"pairs": ["tlh-en"], "gold": []}, tmp_path)


def test_a_misspelt_score_names_the_nearest_of_all(tmp_path: Path, refusal: Refusal) -> None:
    tree = one_pair(write_world(tmp_path))
    right = tree["columns"][0]["score"]
    tree["columns"][0]["score"] = right.replace("ratio", "ration")
    message = refusal("loop", write_configuration(tmp_path, tree), "--out", tmp_path / "out")
    assert f"the nearest of its 6 are {right!r}" in message
    assert not list((tmp_path / "out").iterdir())  # so that the loop can begin there with the name mended


def test_a_score_that_needs_a_good_encoder_is_not_refused(tmp_path: Path) -> None:
    tree = write_world(tmp_path)
    tree["columns"][0]["score"] = f"de-en max ratio {PROMISED.format(0.9)}"
    check(tree, tmp_path)


def test_a_benchmark_that_needs_an_encoder_is_left_for_later(tmp_path: Path) -> None:
    tree = write_world(tmp_path)
    tree["benchmarks"][0]["classifier"] = "beside"
    tree["columns"][0]["score"] = "what it may have"
    check(tree, tmp_path)
