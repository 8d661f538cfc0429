"""What `mine` refuses before it reads any text, and what it says when it is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from mining.errors import InputError
from pipelines.cli import app
from pipelines.commands.console_output import show
from pipelines.commands.mine_summary import known_measures, sentence_rows
from pipelines.datasets.manifest import Counters


@pytest.mark.parametrize(
    ("measures", "rows"),
    [
        ({}, {}),
        ({"threshold": 1.05}, {"threshold": "1.0500"}),
        ({"precision": 0.5, "recall": 0.25, "f1": 1 / 3}, {"precision": "50.0%", "recall": "25.0%", "f1": "33.3%"}),
        (
            {"precision_low": 0.85, "precision_high": 0.95, "precision": 0.9, "recall": 0.7, "true_pairs": 826.28},
            {"estimated precision": "90.0% (85% to 95%)", "estimated recall": "70.0%", "estimated true pairs": "826"},
        ),
        ({"precision_low": 0.2, "precision_high": 0.9}, {"estimated precision": "not known (20% to 90%)"}),
    ],
)
def test_the_summary_claims_what_is_known(measures: dict[str, float], rows: dict[str, str]) -> None:
    assert dict(known_measures(measures)) == rows


def test_the_summary_says_what_became_of_the_lines() -> None:
    counters = Counters(rows_in=300, kept=290, dropped={"empty": 2, "bad_utf8": 8})
    assert list(sentence_rows("source", counters)) == [
        ("source sentences", "290"),
        ("source dropped: bad utf8", "8"),
        ("source dropped: empty", "2"),
    ]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["d.tsv", "e.tsv", "-o", "d.tsv"], "d.tsv: this output would overwrite the input"),
        (["d.tsv", "e.tsv", "-o", "link.tsv"], "link.tsv: this output would overwrite the input"),
        (["d.tsv", "--tgt", "e.tsv", "-o", "p.tsv", "--rejected", "./e.tsv"], "overwrite the input"),
        (["d.tsv", "e.tsv", "-o", "gold.tsv", "--gold", "gold.tsv"], "gold.tsv: this output would overwrite"),
        (["d.tsv", "e.tsv", "-o", "p.tsv", "--rejected", "sub/../p.tsv"], "two outputs have the same name"),
        (["--config", "names.yaml", "-o", "d.tsv"], "d.tsv: this output would overwrite the input"),
    ],
)
def test_nothing_is_overwritten_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("d.tsv", "e.tsv", "gold.tsv"):
        Path(name).write_text("a language that cannot be told\n")
    Path("link.tsv").symlink_to("d.tsv")
    Path("names.yaml").write_text("source: {inputs: [d.tsv]}\ntarget: {inputs: [e.tsv]}\n")
    result = CliRunner().invoke(app, ["mine", *options])
    assert isinstance(result.exception, InputError)
    assert told in str(result.exception)
    assert Path("d.tsv").read_text() == "a language that cannot be told\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("source: d.tsv\ntarget: {inputs: [d.tsv]}", "mine: source: Input should be"),
        ("source: {inputs: d.tsv}\ntarget: {inputs: [d.tsv]}", "mine: source.inputs: Input should be a valid list"),
        ("source: {inputs: [d.tsv], read: en}\ntarget: [d.tsv]", "mine: source.read: Input should be"),
        ("source: {inputs: [d.tsv]}\ntarget: {inputs: [d.tsv]}\nthreshold: 1.1", "mine: threshold: Input should be"),
        ("source: {inputs: [d.tsv]}\ntarget: {inputs: [d.tsv]}\nseed: [1]", "mine: --seed-pairs: Input should be"),
    ],
)
def test_settings_of_the_wrong_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.tsv").write_text("The weather was very good on that day, and all of them were happy about it.\n" * 40)
    Path("job.yaml").write_text(text)
    result = CliRunner().invoke(app, ["mine", "--config", "job.yaml", "-o", "p.tsv"])
    assert isinstance(result.exception, InputError), result.exception
    assert told in str(result.exception)


def test_a_summary_is_whole_in_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    name = f"my [corpus]/{'pairs-of-a-long-name' * 4}.tsv"
    show("in [here]", [(f"pairs in {name}", "1,234,567"), ("load with", f"SentenceTransformer({name!r})")])
    output = capsys.readouterr().out
    assert "…" not in output and all(len(line) <= 60 for line in output.splitlines())
    assert "in [here]" in output and "1,234,567" in output
    letters = "".join(letter for letter in output if letter not in " │┌┬┐└┴┘─\n")
    assert letters.count("pairs-of-a-long-name") >= 1 and "[corpus]" in letters
    assert sum(output.count(letter) for letter in "-") == 2 * 16
