"""`twinlode compare`: a table from a few toy rows, once; and the configurations that come with the product."""

import json
from pathlib import Path

import pytest
import yaml

from encoder.settings import load_settings
from encoder.training.settings import TrainSettings
from mining.errors import InputError
from pipelines.cli import main
from pipelines.evaluation.comparison import CompareSettings, row_settings, slug

CONFIGS = Path(__file__).resolve().parents[3] / "configs"
WORDS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    pairs = [(f"{a} and {b}", f"{WORDS[a]} und {WORDS[b]}") for a in WORDS for b in WORDS]
    (tmp_path / "en-de.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in pairs), encoding="utf-8")
    (tmp_path / "tatoeba").mkdir()
    for side, lines in zip(("eng", "deu"), zip(*pairs[:9], strict=True), strict=True):
        (tmp_path / "tatoeba" / f"tatoeba.deu-eng.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tree = {
        "minutes": 0.01,
        "train": {
            "data": {"corpora": [{"path": str(tmp_path / "en-de.tsv")}]},
            "subword": {"vocabulary": 60, "character_coverage": 1.0},
            "model": {"kind": "bag", "dim": 8},
            "batch": {"pairs": 16},
            "evaluation": {"pairs": 0},
        },
        "rows": [
            {"name": "EMS", "change": {"objective": {"kind": "ems", "xtr": 0, "projection_dim": 0}}},
            {"name": "mSimCSE", "change": {"objective": {"kind": "msimcse"}}},
        ],
        "data": str(tmp_path),
        "benchmarks": [{"benchmark": "tatoeba", "data": "tatoeba"}],
        "columns": [{"title": "Tatoeba", "benchmark": "tatoeba", "score": "deu P@1"}],
    }
    (tmp_path / "compare.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")
    return tmp_path / "compare.yaml"


def twinlode(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["twinlode", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    return int(stop.value.code or 0)


def test_rows_are_trained_evaluated_and_not_done_twice(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert twinlode(monkeypatch, "compare", config, "--out", out, "--row", "mSimCSE") == 0
    assert "1 of 2 rows" in (out / "compare.md").read_text()
    made = (out / "msimcse" / "scores.json").stat().st_mtime_ns
    assert twinlode(monkeypatch, "compare", config, "--out", out) == 0
    assert (out / "msimcse" / "scores.json").stat().st_mtime_ns == made
    report = json.loads((out / "compare.json").read_text())
    assert [row["name"] for row in report["rows"]] == ["EMS", "mSimCSE"]
    for row in report["rows"]:
        assert row["steps"] > 0
        assert 0 <= row["scores"]["tatoeba"]["deu P@1"] <= 100
    assert "| mSimCSE |" in (out / "compare.md").read_text()
    captured = capsys.readouterr()
    assert "Tatoeba" in captured.out
    assert "mSimCSE: finished before" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--row", "XYZ"), "there is no row 'XYZ'; rows are EMS, mSimCSE"),
        (("--set", "columns.0.benchmark=sts"), "no benchmark is called sts"),
        (("--set", "rows.1.name=ems"), "two rows would share the folder ems"),
        (("--set", "benchmarks.0.data=nowhere"), "there is no folder"),
        (("--set", "rows.1.change.objective.kind=simcse"), "row mSimCSE: objective"),
    ],
)
def test_mistakes_are_found_before_any_training(
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    message: str,
) -> None:
    assert twinlode(monkeypatch, "compare", config, "--out", tmp_path / "out", *arguments) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_missing_score_names_those_there_are(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pipelines.evaluation.comparison import _require_columns

    settings = load_settings(CompareSettings, config, ["columns.0.score=deu F1"])
    with pytest.raises(InputError, match=r"tatoeba has no score 'deu F1'; it has \['deu P@1'\]"):
        _require_columns(settings, "tatoeba", {"deu P@1": 50.0})


def test_the_comparison_of_the_papers_is_valid() -> None:
    settings = load_settings(CompareSettings, CONFIGS / "compare.yaml")
    plans = {row.name: row_settings(settings, row, Path("cache")) for row in settings.rows}
    assert len(plans) == 13
    models = {name: plan.model for name, plan in plans.items() if not name.startswith("bag")}
    assert len({repr(model) for model in models.values()}) == 1
    for part in ("data", "optimizer", "schedule", "batch", "limits", "subword"):
        assert len({repr(getattr(plan, part)) for plan in plans.values()}) == 1, part


@pytest.mark.parametrize(
    "path", sorted(CONFIGS.glob("m*.yaml")) + sorted(CONFIGS.glob("[ev]*.yaml")), ids=lambda p: p.stem
)
def test_training_configurations_are_valid(path: Path) -> None:
    try:
        load_settings(TrainSettings, path)
    except InputError as error:
        pytest.fail(str(error))


def test_names_of_folders() -> None:
    assert slug("+ Single") == "+-single"
    assert slug("mSimCSE NLI (en, es)") == "msimcse-nli-en-es"
