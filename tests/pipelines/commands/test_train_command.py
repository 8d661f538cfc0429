"""`twinlode train` from the command line."""

import json
from pathlib import Path

import pytest

from encoder import Encoder
from tests.conftest import Refusal, RunTwinlode

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


def test_trains_an_encoder_that_loads(
    config: Path, tmp_path: Path, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert twinlode("train", config, "--out", out, "--set", "limits.steps=7", "--tensorboard") == 0
    assert Encoder.load(out / "best").encode(["one and two"], lang="en").shape == (1, 8)
    metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert metrics[-1]["step"] == 7
    assert "held_out_p_at_1" in metrics[-1]
    assert list((out / "tensorboard").iterdir())
    capsys.readouterr()
    assert twinlode("train", config, "--out", out, "--set", "limits.steps=9") == 0
    assert "note: goes on from step 7 with another limits.steps (7, now 9)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "modle.dim=4"), "unknown key modle; did you mean model?"),
        (("--exclude", "nowhere/*.txt"), "--exclude nowhere/*.txt: no such file"),
        (("--set", "data.corpora.0.path=none.tsv"), "none.tsv: no such file"),
    ],
)
def test_bad_input_is_one_sentence(
    config: Path, tmp_path: Path, refusal: Refusal, arguments: tuple[str, ...], message: str
) -> None:
    assert message in refusal("train", config, "--out", tmp_path / "run", *arguments)
