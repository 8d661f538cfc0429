"""The table at the end of a run that a person watches, and its warnings."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from encoder.training.observation import unobserved
from encoder.training.session import train
from encoder.training.watched import train_watched
from tests.encoder.training.conftest import make_settings

HELD_OUT = {"pairs": 10, "every": 5}


def summary(printed: str) -> dict[str, str]:
    """The rows of the table."""
    return {name.strip(): value.strip() for name, value in re.findall(r"│([^│]+)│([^│]+)│", printed)}


def watch(corpus: Path, out: Path, capsys: pytest.CaptureFixture[str], **changes: Any) -> str:
    train_watched(make_settings(corpus, **changes), out)
    return capsys.readouterr().err


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_figures_are_true(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = summary(watch(corpus, tmp_path / "run", capsys, evaluation=HELD_OUT))
    assert rows["pairs in the corpora"] == "64 (3 held out of the 10 wanted: at most 5% of each language pair)"
    assert rows["examples to train on"] == "61"
    assert "held-out P@1 at the start" not in rows
    rows = summary(watch(corpus, tmp_path / "all", capsys, evaluation={"pairs": 3}))
    assert rows["pairs in the corpora"] == "64 (3 held out)"


def test_a_repeated_text_is_not_trained_on(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus.write_text(corpus.read_text() * 2)
    rows = summary(watch(corpus, tmp_path / "run", capsys, evaluation={"pairs": 1}))
    assert rows["pairs in the corpora"] == "128 (1 held out)"
    assert rows["examples to train on"] == "126"


def test_a_run_with_a_start_shows_what_it_started_at(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = train(make_settings(corpus, evaluation=HELD_OUT), tmp_path / "first", unobserved)
    assert first.result.best is not None and first.result.start is None
    start = {"encoder": str(first.folder)}
    printed = watch(corpus, tmp_path / "second", capsys, start=start, evaluation=HELD_OUT)
    assert summary(printed)["held-out P@1 at the start"] == f"{100 * first.result.best:.2f}"
    lines = [json.loads(line) for line in (tmp_path / "second" / "metrics.jsonl").read_text().splitlines()]
    assert (lines[0]["step"], lines[0]["held_out_p_at_1"]) == (0, first.result.best)
    again = watch(corpus, tmp_path / "second", capsys, start=start, evaluation=HELD_OUT, limits={"steps": 25})
    assert summary(again)["held-out P@1 at the start"] == f"{100 * first.result.best:.2f}"
    subwords = watch(corpus, tmp_path / "third", capsys, start={**start, "weights": False}, evaluation=HELD_OUT)
    assert "at the start" not in subwords


def test_a_run_that_diverges_says_so(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = iter([0.9, 0.8, 0.5, 0.3])
    monkeypatch.setattr("encoder.training.validation.evaluate", lambda model, batch: next(values))
    printed = watch(corpus, tmp_path / "run", capsys, evaluation=HELD_OUT)
    assert "warning: held-out P@1 fell from 90.0 at step 5 to 30.0 at the end" in printed
