"""The commands of README and pages, run as they stand in a folder where small files bear the names that they use."""

import gzip
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import yaml
import zstandard
from typer.testing import CliRunner

from encoder import default
from encoder.models import TransformerSettings
from encoder.text import TextSettings
from pipelines.cli import app
from pipelines.review.review_session import Session
from tests.encoder.fixtures import write_checkpoint
from tests.pipelines.demo.wheels import messages
from tests.pipelines.installed import ENGLISH, GERMAN, install
from tests.pipelines.loop.corpora import write_world
from tests.site.pages import blocks, commands, page_names, python

# Those that need a cluster have no command to run here; `make test-flink` does what the one says.
TUTORIALS = ("mine-two-files", "clean-a-bitext", "align-a-book", "train-for-your-domain", "low-resource")
FOREWORD = "twinlode demo --text "  # fetches packages; the stand-ins are what it would write
# Settings by which a configuration of a page fits the stand-ins and is quick; all else is as it stands.
QUICKER = {
    "classifier.yaml": ["trees=10"],
    "domain.yaml": ["subword.vocabulary=90", "limits.epochs=4", "batch.pairs=128"],
    "loop.yaml": [
        "train.subword.vocabulary=75",
        "updates=40",
        "rounds.0.updates=10",
        "max_rounds=1",
        "train.batch.pairs=128",
    ],
}
KNOWN, TORN = messages("buy", "kaufe"), messages("sell", "verkaufe")
TRAINING = {
    "data": {"corpora": [{"path": "known/en-de.tsv"}]},
    "subword": {"vocabulary": 80, "character_coverage": 1.0},
    "model": {"kind": "bag", "dim": 32},
    "objective": {"kind": "ems", "xtr": 0, "projection_dim": 0, "temperature": 0.1},
    "optimizer": {"lr": 0.02, "weight_decay": 0},
    "batch": {"pairs": 64},
    "evaluation": {"pairs": 20, "every": 20, "patience": 3},  # it ends when it has learned
    "limits": {"epochs": 30},
}


def write_lines(path: Path, lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    packed = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, bytes)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(text))


def write_tree(path: Path, tree: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(tree))


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that the commands read, and `shared/data` beside it."""
    here, shared = tmp_path / "main", tmp_path / "shared" / "data"
    write_lines(here / "known" / "en-de.tsv", [f"{english}\t{german}" for english, german in KNOWN])
    write_lines(here / "eval" / "test.txt", [KNOWN[0][0]])
    english, german = ([pair[side] for pair in TORN[side * 40 : side * 40 + 200]] for side in (0, 1))
    write_lines(here / "en.txt.gz", english)
    write_lines(here / "en" / "a.txt", english)
    write_lines(here / "en.txt", ENGLISH.splitlines())
    write_lines(here / "de.txt", GERMAN.splitlines())
    if not default.has_default():
        install(tmp_path / "installed", monkeypatch)
    for path in ("de.txt.gz", "de/a.txt.zst"):
        write_lines(here / path, german[::-1])
    vectors = np.random.default_rng(0).normal(size=(len(TORN), 1024)).astype(np.float32)
    vectors[:200].tofile(here / "en.bin")
    vectors[239:39:-1].tofile(here / "de.bin")
    for folder in (here / "tatoeba" / "v1", shared / "eval" / "tatoeba-v1"):
        for side, code in enumerate(("eng", "deu")):
            write_lines(folder / f"tatoeba.deu-eng.{code}", [pair[side] for pair in TORN[:50]])
    write_tree(here / "configs" / "ems-small.yaml", TRAINING)
    suite = {"benchmarks": [{"benchmark": "tatoeba", "data": "eval/tatoeba-v1"}]}
    write_tree(here / "configs" / "suite-shared.yaml", suite)
    sizes = TransformerSettings(dim=32, layers=1, heads=2, ffn=32)
    write_checkpoint(here / "another", sizes, text=TextSettings(segment=False))
    (tmp_path / "world").mkdir()
    loop = write_world(tmp_path / "world") | {"max_rounds": 1, "updates": 60}
    write_tree(here / "configs" / "loop-shared.yaml", loop)
    monkeypatch.chdir(here)
    return here


def run(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, f"{shlex.join(arguments)}: {result.output} {result.exception!r}"


def review(work: str, precision: float) -> None:
    """What a person does on the page that `review` serves: all pairs are marked, most of them as right."""
    session = Session(work, 60, precision)
    for number, pair in enumerate(session.sample.sampled):
        session.mark(pair.key, "wrong" if number % 50 == 49 else "right")


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
    run(["export", "another", "--format", "sentence-transformers", "--out", "sentence-transformers/LaBSE"])
    guides = [page for page in page_names() if "/tutorials/" not in page]
    for line in dict.fromkeys(line for page in guides for block in blocks(page) for line in block.commands):
        if line.startswith("twinlode ") and not line.startswith(FOREWORD):
            run_line(line)
    (example,) = python("README.md")
    exec(example, {})
    pairs = [tuple(line.split("\t")[1:]) for line in Path("laser.tsv").read_text().splitlines()]
    assert len(set(pairs) & set(TORN)) > 0.9 * 160, "mined from vectors that are equal for true pairs"
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
        ("seed/en-de.tsv", [*seed, *TORN[:40]]),
        ("probes/en-de.tsv", TORN[40:140]),
        ("mine/en-de/gold.tsv", TORN[140:240]),
    ):
        write_lines(tmp_path / "text" / name, ["\t".join(pair) for pair in pairs])
    write_lines(tmp_path / "text/mine/en-de/en.txt", [pair[0] for pair in TORN[140:290]])
    write_lines(tmp_path / "text/mine/en-de/de.txt", [pair[1] for pair in TORN[140:240] + TORN[290:]][::-1])
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
    if name == "align-a-book":
        true = {tuple(line.split("\t")) for line in Path("text/seed/en-de.tsv").read_text().splitlines()[:300]}
        for made in ("book.tsv", "books.tsv"):
            aligned = [tuple(line.split("\t")[1:]) for line in Path(made).read_text().splitlines()]
            assert len(set(aligned) & true) > 100, f"{made}: {len(aligned)} pairs"
