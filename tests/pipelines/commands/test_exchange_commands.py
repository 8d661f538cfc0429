"""`twinlode export` and `twinlode import`, end to end."""

import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from encoder import Encoder
from encoder.models import BagSettings, TransformerSettings
from encoder.text import TextSettings
from pipelines.cli import app
from tests.encoder.fixtures import write_checkpoint, write_tiny_xlm_roberta


def test_export_then_import(tmp_path: Path) -> None:
    settings = TransformerSettings(dim=32, layers=1, heads=2, ffn=32)
    best = write_checkpoint(tmp_path / "best", settings, text=TextSettings(segment=False))
    out, back = str(tmp_path / "hf"), str(tmp_path / "back")
    exported = CliRunner().invoke(app, ["export", str(best), "--format", "huggingface", "--out", out])
    assert exported.exit_code == 0 and "bert" in exported.output and "AutoModel" in exported.output
    imported = CliRunner().invoke(app, ["import", out, "--out", back])
    assert imported.exit_code == 0 and "32" in imported.output
    fingerprint = (tmp_path / "back" / "fingerprint").read_text()
    other = write_tiny_xlm_roberta(tmp_path / "other")
    refused = CliRunner().invoke(app, ["import", str(other), "--out", back])
    assert refused.exit_code != 0 and "exists already; choose a new folder" in str(refused.exception)
    assert (tmp_path / "back" / "fingerprint").read_text() == fingerprint


def test_export_says_how_a_language_is_given(tmp_path: Path) -> None:
    for name, segment in (("segmented", True), ("plain", False)):
        best = write_checkpoint(tmp_path / name, BagSettings(dim=8), text=TextSettings(segment=segment))
        exported = CliRunner().invoke(app, ["export", str(best), "--out", str(tmp_path / f"{name}-st")])
        assert exported.exit_code == 0 and ('lang="zh"' in exported.output) == segment


def test_refusal_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    best = write_checkpoint(tmp_path / "best", BagSettings(dim=8))
    command = [sys.executable, "-m", "pipelines.cli", "export", str(best), "--format", "huggingface"]
    result = subprocess.run([*command, "--out", str(tmp_path / "hf")], capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stderr.startswith("twinlode: ") and len(result.stderr.splitlines()) == 1


def test_export_a_smaller_encoder(tmp_path: Path) -> None:
    best = write_checkpoint(tmp_path / "best", BagSettings(dim=32, bigrams=64))
    command = ["export", str(best), "--quantize", "--dim", "16", "--megabytes", "1", "--out", str(tmp_path / "small")]
    made = CliRunner().invoke(app, command)
    assert made.exit_code == 0 and "16" in made.output
    assert Encoder.load(tmp_path / "small").dim == 16
