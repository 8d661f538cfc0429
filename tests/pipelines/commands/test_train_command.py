"""`twinlode train` from the command line."""

import json
from pathlib import Path

import pytest

from encoder import Encoder
from pipelines.cli import main

CONFIG = """
data: {{corpora: [{{path: {corpus}}}]}}
subword: {{vocabulary: 60, character_coverage: 1.0}}
model: {{kind: bag, dim: 8}}
batch: {{pairs: 16}}
evaluation: {{pairs: 2}}
limits: {{steps: 500}}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    numbers = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"}
    lines = [f"{a} and {b}\t{numbers[a]} und {numbers[b]}\n" for a in numbers for b in numbers]
    (tmp_path / "en-de.tsv").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "config.yaml").write_text(CONFIG.format(corpus=tmp_path / "en-de.tsv"))
    return tmp_path / "config.yaml"


def twinlode(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["twinlode", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_trains_an_encoder_that_loads(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "run"
    assert twinlode(monkeypatch, "train", config, "--out", out, "--set", "limits.steps=7", "--tensorboard") == 0
    assert Encoder.load(out / "best").encode(["one and two"], lang="en").shape == (1, 8)
    metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert metrics[-1]["step"] == 7
    assert "held_out_p_at_1" in metrics[-1]
    assert list((out / "tensorboard").iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "modle.dim=4"), "unknown key modle; did you mean model?"),
        (("--exclude", "nowhere/*.txt"), "--exclude nowhere/*.txt: no such file"),
        (("--set", "data.corpora.0.path=none.tsv"), "none.tsv: no such file"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    assert twinlode(monkeypatch, "train", config, "--out", tmp_path / "run", *arguments) == 2
    assert message in capsys.readouterr().err
