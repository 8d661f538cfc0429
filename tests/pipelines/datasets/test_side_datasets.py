"""Sides of a graph or a mine by role."""

from pathlib import Path

import pytest

from encoder.settings import validate_settings
from mining.errors import InputError
from pipelines.datasets.side_datasets import open_side
from pipelines.datasets.side_folders import SideFolders
from pipelines.mine.mine_settings import MineSettings
from tests.pipelines.works import write_sentences


def test_datasets_of_a_side_have_roles(tmp_path: Path) -> None:
    corpus, probes = (write_sentences(tmp_path / name, ["one", "two"], "en") for name in ("corpus", "probes"))
    alone = open_side(SideFolders(corpus=corpus.url), "sentences")
    assert list(alone.by_role("source")) == ["source"] and alone.rows == 2
    both = open_side(SideFolders(corpus=corpus.url, probes=probes.url), "sentences")
    assert [(role, found.url) for role, found in both.by_role("target").items()] == [
        ("target", corpus.url),
        ("target probes", probes.url),
    ]
    assert both.rows == 4 and both.shards == corpus.shards + probes.shards


def test_a_folder_alone_is_that_of_a_corpus() -> None:
    asked = MineSettings(graph="g", source="s", target={"corpus": "t", "probes": "p"}, out="o")  # type: ignore[arg-type]
    assert asked.source == SideFolders(corpus="s") and asked.target.all == ["t", "p"]


def test_a_list_of_folders_says_how_it_is_written_now() -> None:
    tree = {"graph": "g", "source": ["corpus", "probes"], "target": "t", "out": "o"}
    with pytest.raises(InputError, match=r"^here: source: a list of folders is written as `corpus:` and `probes:` now"):
        validate_settings(MineSettings, tree, "here")
