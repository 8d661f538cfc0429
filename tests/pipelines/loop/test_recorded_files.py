"""What a loop rests on is recorded by content: the held-out tests, what they are tuned on, and gold too."""

from pathlib import Path
from typing import Any

import pytest

from encoder.settings import validate_settings
from pipelines.datasets.manifest import Input
from pipelines.loop.loop_settings import LoopSettings
from pipelines.loop.recorded_files import recorded_files
from pipelines.loop.round_scores import evaluation_files
from tests.pipelines.loop.corpora import write_world


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Any]:
    tree = write_world(tmp_path)
    (tmp_path / "tune" / "de-en").mkdir(parents=True)
    (tmp_path / "tune" / "de-en" / "de-en.de").write_text("de-1\tijk\n")
    (tmp_path / "known.de-en").write_text("ijk\tabc\n")
    (tmp_path / "more.txt").write_text("abc\n")
    tree["benchmarks"][0] |= {"train": "tune", "seed_pairs": "../known.{source}-{target}"}
    return tree | {"exclude": [str(tmp_path / "more.txt")]}


def recorded(tree: dict[str, Any]) -> list[Input]:
    settings = validate_settings(LoopSettings, tree, "loop")
    return recorded_files(settings, evaluation_files(settings))


@pytest.mark.parametrize(
    ("file", "role"),
    [
        ("de-en.tsv", "seed bitext"),
        ("test/de-en/de-en.gold", "evaluation"),
        ("more.txt", "evaluation"),
        ("tune/de-en/de-en.de", "tuning"),
        ("known.de-en", "tuning"),
        ("mined/fr-en/fr-en.gold", "gold"),
    ],
)
def test_a_changed_file_is_seen(tmp_path: Path, tree: dict[str, Any], file: str, role: str) -> None:
    before = recorded(tree)
    with (tmp_path / file).open("a") as stream:
        stream.write("x\ty\n")
    after = recorded(tree)
    changed = [old for old, new in zip(before, after, strict=True) if old != new]
    assert [(Path(old.name).resolve(), old.role) for old in changed] == [((tmp_path / file).resolve(), role)]
