"""The commands of README and pages, run as they stand in a folder where small files bear the names that they use."""

import shlex
import subprocess
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from encoder import default
from tests.pipelines.demo.wheels import messages
from tests.pipelines.installed import install
from tests.site.pages import blocks, commands, page_names, python
from tests.site.stand_ins import SHUFFLED, review, run, write_contextual_encoder, write_lines, write_stand_ins

# Those that need a cluster have no command to run here; `make test-flink` does what the one says.
TUTORIALS = ("mine-two-files", "clean-a-bitext", "align-a-book", "train-for-your-domain", "low-resource")
FOREWORD = "twinlode demo --text "  # fetches packages; the stand-ins are what it would write
# Settings by which a configuration of a page fits the stand-ins and is quick; all else is as it stands.
QUICKER = {
    "classifier.yaml": ["trees=10"],
    "domain.yaml": ["limits.epochs=1"],
    "scratch.yaml": ["subword.vocabulary=90", "limits.epochs=4", "batch.pairs=128"],
    "loop.yaml": [
        "train.subword.vocabulary=75",
        "updates=40",
        "rounds.0.updates=10",
        "max_rounds=1",
        "train.batch.pairs=128",
    ],
}


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = write_stand_ins(tmp_path)
    if not default.has_default():
        install(tmp_path / "installed", monkeypatch)
    monkeypatch.chdir(here)
    return here


def run_line(line: str) -> None:
    """A line of a page: our commands in this process, which is quicker, the others by the shell."""
    if not line.startswith("twinlode "):
        subprocess.run(["bash", "-euo", "pipefail", "-c", line], check=True)
        return
    arguments = shlex.split(line, comments=True)[1:]
    if arguments[0] == "review":
        review(arguments[1], float(arguments[arguments.index("--precision") + 1]))
    else:
        run([*arguments, *(word for setting in QUICKER.get(arguments[1], []) for word in ("--set", setting))])


def test_every_command_of_readme_and_guides_runs(stand_ins: Path) -> None:
    (train,) = [line for line in commands("docs/tutorials/train-for-your-domain.md") if "ems-small" in line]
    run_line(train)  # first, because the others use its encoder
    write_contextual_encoder(Path("sentence-transformers/LaBSE"))
    guides = [page for page in page_names() if "/tutorials/" not in page]
    for line in dict.fromkeys(line for page in guides for block in blocks(page) for line in block.commands):
        if line.startswith("twinlode ") and not line.startswith(FOREWORD):
            run_line(line)
    (example,) = python("README.md")
    exec(example, {})
    pairs = [tuple(line.split("\t")[1:]) for line in Path("laser.tsv").read_text().splitlines()]
    assert len(set(pairs) & set(SHUFFLED)) > 0.9 * 160, "mined from vectors that are equal for true pairs"
    for made in (
        "pairs.tsv",
        "all.tsv",
        "good.tsv",
        "work/report.html",
        "out.json",
        "runs/loop/best/model.safetensors",
        "mined-en-de/data/train-00000-of-00001.parquet",
        "mined-en-de/README.md",
    ):
        assert Path(made).stat().st_size > 0
    assert "## Loop\n\nThe encoder of round " in Path("runs/loop/best/README.md").read_text()


@pytest.fixture
def demo_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what `twinlode demo --text --quick --out text` writes, of made-up messages."""
    verbs = {"buy": "kaufe", "paint": "male", "carry": "trage", "see": "sehe", "find": "finde", "count": "zähle"}
    seed = [pair for verb, translated in verbs.items() for pair in messages(verb, translated)]
    for name, pairs in (
        ("seed/en-de.tsv", [*seed, *SHUFFLED[:40]]),
        ("probes/en-de.tsv", SHUFFLED[40:140]),
        ("mine/en-de/gold.tsv", SHUFFLED[140:240]),
    ):
        write_lines(tmp_path / "text" / name, ["\t".join(pair) for pair in pairs])
    write_lines(tmp_path / "text/mine/en-de/en.txt", [pair[0] for pair in SHUFFLED[140:290]])
    write_lines(tmp_path / "text/mine/en-de/de.txt", [pair[1] for pair in SHUFFLED[140:240] + SHUFFLED[290:]][::-1])
    if not default.has_default():
        install(tmp_path / "installed", monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorial_from_start_to_finish(name: str, demo_text: Path) -> None:
    """In a folder where there is nothing but the text: whoever follows the page needs nothing else."""
    page = f"docs/tutorials/{name}.md"
    for block in blocks(page):
        if block.file:
            Path(block.file).write_text(block.text)
        for line in block.commands:
            run_line(line)
        if block.kind == "python":
            exec(block.text, {})
    if name == "clean-a-bitext":
        kept = len(Path("clean.tsv").read_text().splitlines())
        assert pq.read_table("clean-dataset/data").num_rows == kept > 0
        assert "| encoder | " in Path("clean-dataset/README.md").read_text()
    if name == "align-a-book":
        true = {tuple(line.split("\t")) for line in Path("text/seed/en-de.tsv").read_text().splitlines()[:300]}
        for made in ("book.tsv", "books.tsv"):
            aligned = [tuple(line.split("\t")[1:]) for line in Path(made).read_text().splitlines()]
            assert len(set(aligned) & true) > 100, f"{made}: {len(aligned)} pairs"
