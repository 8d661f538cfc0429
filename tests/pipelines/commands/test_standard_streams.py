"""`-` in place of files: the same results, and nothing but results on standard output."""

import io
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from encoder import Encoder
from mining.errors import InputError
from pipelines.cli import app
from pipelines.commands.encoder_figures import encoder_row
from tests.pipelines.corpora import write_corpora
from tests.pipelines.installed import ENGLISH, install

MADE_UP = ["--src-lang", "en", "--tgt-lang", "de", "--lang-filter", "assume", "--filters", "none"]


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "installed", monkeypatch)
    monkeypatch.chdir(tmp_path)


def test_mine_reads_and_writes_streams() -> None:
    write_corpora(Path())
    aim = [*MADE_UP, "--precision", "0.5"]
    files = CliRunner().invoke(app, ["mine", "src.txt", "tgt.txt", "-o", "pairs.tsv", *aim], catch_exceptions=False)
    before = set(Path().iterdir())
    text = Path("src.txt").read_text()
    streamed = CliRunner().invoke(app, ["mine", "-", "tgt.txt", "-o", "-", *aim], input=text, catch_exceptions=False)
    assert (files.exit_code, streamed.exit_code) == (0, 0)
    assert streamed.stdout == Path("pairs.tsv").read_text() != ""
    assert "twinlode-2/1 (de: Tatoeba P@1 41.0)" in files.stdout and "pairs in standard output" in streamed.stderr
    assert "twinlode report pairs.work" in files.stderr and "twinlode report" not in streamed.stderr
    assert set(Path().iterdir()) == before


def test_input_that_is_the_same_is_not_mined_again() -> None:
    write_corpora(Path())
    command = ["mine", "src.txt", "-", "-o", "pairs.tsv", *MADE_UP, "--top", "5"]
    made = []
    for text in (Path("tgt.txt").read_text(), Path("tgt.txt").read_text(), "another text\n"):
        result = CliRunner().invoke(app, command, input=text)
        made.append(Path("pairs.work/standard-input.txt").stat().st_mtime_ns)
    assert made[0] == made[1] < made[2]
    assert isinstance(result.exception, InputError) and "pairs.work" in str(result.exception)


def test_one_stream_for_two_sides_or_two_files_is_refused() -> None:
    with pytest.raises(InputError, match="`-` is there twice, but there is one standard input"):
        CliRunner().invoke(app, ["mine", "-", "-", "-o", "pairs.tsv"], catch_exceptions=False)
    Path("en.txt").write_text(ENGLISH)
    moses = ["mine", "en.txt", "-", "-o", "-", *MADE_UP, "--pair-format", "moses"]
    with pytest.raises(InputError, match="--pair-format moses makes several files; name them"):
        CliRunner().invoke(app, moses, input=ENGLISH, catch_exceptions=False)


def test_embed_lines() -> None:
    lines = [*ENGLISH.splitlines(), "", "Ende"]
    text = "\n".join(lines) + "\n"
    expected = Encoder.load().encode(lines, "en")
    Path("en.txt").write_text(text)
    for source, out in (("-", "-"), ("-", "rows.npy"), ("en.txt", "rows.npy")):
        command = ["embed", source, "--lang", "en", "-o", out]
        result = CliRunner().invoke(app, command, input=text, catch_exceptions=False)
        stored = io.BytesIO(result.stdout_bytes) if out == "-" else Path(out)
        np.testing.assert_array_equal(np.load(stored), expected)
        assert "twinlode-2/1" in (result.stderr if out == "-" else result.stdout)
    with pytest.raises(InputError, match="lines of text need --lang"):
        CliRunner().invoke(app, ["embed", "-", "-o", "-"], catch_exceptions=False)
    with pytest.raises(InputError, match=r"vectors of lines go into a \.npy file"):
        CliRunner().invoke(app, ["embed", "-", "--lang", "de", "-o", "folder"], catch_exceptions=False)


def test_a_summary_names_the_encoder_and_its_figures() -> None:
    assert encoder_row(None, ["en", "de", "fr"]) == ("encoder", "twinlode-2/1 (de: Tatoeba P@1 41.0)")
    assert encoder_row(str(Path("installed/model")), ["en"]) == ("encoder", "twinlode-2/1")
    assert encoder_row("runs/best", ["de"]) == ("encoder", "runs/best")
