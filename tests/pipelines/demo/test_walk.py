"""The whole demo on wheels made here: pip fetches them, and the commands that it prints do what it did."""

import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from encoder import Encoder
from encoder.default import folder as installation
from encoder.default.language_card import CARD, Card
from encoder.training.observation import unobserved
from encoder.training.session import train
from mining.scoring.classifier import FOLDER, is_classifier
from pipelines.cli import app
from pipelines.demo.demo_plan import FULL, QUICK
from pipelines.demo.hand import program
from pipelines.demo.packages import Package
from pipelines.mine.score_curve import ScoreCurve
from tests.conftest import Refusal
from tests.encoder.training.conftest import make_settings
from tests.pipelines.demo.wheels import catalog, messages, write_wheel

TINY = QUICK._replace(
    languages=("de",),
    seed=(Package("demo-seed", "1.0"),),
    mined=(Package("demo-mined", "2.0"),),
    epochs=30,
    minutes=60,  # epochs decide: a busy machine must not change the result
    sure=0.8,
    probes=100,
    precision=0.5,
    judged_pairs=400,
    trees=10,
)


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose registry is a folder, and an empty cache."""
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "registry"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("pipelines.demo.demo_plan.QUICK", TINY)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "registry").mkdir()
    return tmp_path


def install_encoder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A default encoder that has learned these words, with another verb."""
    corpus = root / "en-de.tsv"
    corpus.parent.mkdir()
    corpus.write_text("".join(f"{english}\t{german}\n" for english, german in messages("rent", "miete")))
    settings = make_settings(
        corpus,
        subword={"model": "unigram", "vocabulary": 60},
        model={"kind": "bag", "dim": 64, "bigrams": 1024, "words": 1024, "sparse": True},
        objective={"kind": "ems", "temperature": 0.08, "projection_dim": 0, "xtr": 0},
        optimizer={"kind": "lazy_adam", "lr": 5e-3, "weight_decay": 0},
        batch={"pairs": 256},
        limits={"steps": 60},
    )
    train(settings, root / "run", unobserved)
    (root / "run" / "best").rename(root / "model")
    fingerprint = Encoder.load(root / "model").fingerprint
    card = Card(name="twinlode-2/1", fingerprint=fingerprint, files={}, trained={"en": 0, "de": 336}, figures={})
    (root / CARD).write_text(card.model_dump_json())
    monkeypatch.setattr(installation, "ROOT", root)


def made(folder: Path) -> dict[Path, int]:
    """Everything that takes time to make, and when it was made."""
    parts = [
        place / name for place in (folder, folder / "round-1") for name in ("work", "encoder/best", "encoder/data")
    ]
    return {path: path.stat().st_mtime_ns for part in parts for path in part.rglob("[!.]*") if path.is_file()}


def write_wheels(registry: Path) -> None:
    seed = messages("buy", "kaufe") + messages("lend", "leihe")  # enough for a classifier
    for name, pairs in {"demo_seed-1.0": seed, "demo_mined-2.0": messages("sell", "verkaufe")}.items():
        files = {"app/locale/de/LC_MESSAGES/app.mo": bytes(catalog(pairs).to_binary())}
        write_wheel(registry, *name.split("-"), files)


def test_text_alone(offline: Path) -> None:
    write_wheels(offline / "registry")
    result = CliRunner().invoke(app, ["demo", "--quick", "--text", "--out", "text"], catch_exceptions=False)
    assert result.exit_code == 0
    written = {str(path.relative_to("text")) for path in Path("text").rglob("*") if path.is_file()}
    assert written == {
        *("seed/en-de.tsv", "probes/en-de.tsv"),
        *(f"mine/en-de/{name}" for name in ("en.txt", "de.txt", "gold.tsv")),
    }


def test_demo_from_packages_to_scores_and_by_hand(offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_wheels(offline / "registry")
    install_encoder(offline / "installed", monkeypatch)
    result = CliRunner().invoke(app, ["demo", "--quick"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "mined pairs against the true alignment" in result.output
    folder = Path("runs/demo-quick")
    pairs_file = folder / "pairs" / "en-de.tsv"
    lines = pairs_file.read_text().splitlines()
    mined = [tuple(line.split("\t")[1:]) for line in lines]
    gold = {tuple(line.split("\t")) for line in (folder / "mine/en-de/gold.tsv").read_text().splitlines()}
    right = len(gold & set(mined))
    assert right > 0.3 * len(mined) > 10
    row, last = (
        next(line for line in result.output.split(title)[1].splitlines() if "en-de" in line)
        for title in ("against the true alignment", "before and after training")
    )
    assert f"{100 * right / len(mined):.1f}" in row
    again = [tuple(line.split("\t")[1:]) for line in (folder / "round-1/pairs/en-de.tsv").read_text().splitlines()]
    assert f"{len(mined):,} → {len(again):,}" in last
    assert f"{100 * right / len(mined):.1f} → {100 * len(gold & set(again)) / len(again):.1f}" in last
    learned = [tuple(line.split("\t")) for line in (folder / "round-1/mined/en-de.tsv").read_text().splitlines()]
    curve = ScoreCurve.read(str(folder / "work/en-de/pairs"))
    assert curve is not None
    surest = curve.reaching(TINY.sure)
    scored = [(float(line.split("\t")[0]), pair) for line, pair in zip(lines, mined, strict=True)]
    assert learned and set(learned) <= {pair for score, pair in scored if score >= surest - 1e-6}

    before = made(folder)
    assert shutil.which(program()), "what is printed can be run"
    commands = [line for line in result.output.splitlines() if line.startswith(f"  {program()} ")]
    printed = [shlex.split(line)[1:] for line in commands]
    names = [arguments[0] for arguments in printed]
    order = [
        names.index(name)
        for name in ("mine", "train", "train-classifier", "prepare", "embed", "graph", "report", "inspect", "review")
    ]
    assert order == sorted(order), "each after those that make what it needs"
    assert names.count("prepare") == names.count("embed") == 2
    assert (folder / "report.html").resolve().as_uri() in result.output
    # A review waits for marks, own files are not there, and a report is written by the demo itself. A classifier that
    # is trained again says how long it took, and is another one for the mine.
    left_out = ("review", "report", "train-classifier")
    given = dict.fromkeys(tuple(command) for command in printed if command[0] not in left_out)
    ours = [command for command in given if not any(part.startswith("yours.") for part in command)]
    assert len(ours) == len(given) - 1
    for arguments in ours:
        assert CliRunner().invoke(app, arguments, catch_exceptions=False).exit_code == 0
    assert made(folder) == before

    for path in (offline / "registry").iterdir():
        path.unlink()
    repeated = CliRunner().invoke(app, ["demo", "--quick"], catch_exceptions=False)
    assert is_classifier(str(folder / "round-1/encoder/best" / FOLDER))
    assert row in repeated.output and last in repeated.output
    assert made(folder) == before


def test_no_registry_is_one_sentence_and_exit_code_2(offline: Path, refusal: Refusal) -> None:
    said = refusal("demo", "--quick")
    assert said.startswith("twinlode: demo-seed 1.0 could not be fetched by pip (No matching distribution")
    assert "\n" not in said
    assert not list((offline / "runs").rglob("[!.]*.*")), "nothing but the folder that was held"
    assert list((offline / "cache/twinlode/catalogs").iterdir()) == []


def test_the_quick_demo_is_part_of_the_whole_and_no_package_is_both_known_and_mined() -> None:
    assert set(QUICK.packages) < set(FULL.packages)
    assert set(QUICK.languages) < set(FULL.languages)
    for plan in (QUICK, FULL):
        assert not {package.name for package in plan.seed} & {package.name for package in plan.mined}
