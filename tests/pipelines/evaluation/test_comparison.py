"""`twinlode compare`: a table from a few toy rows, once; and the configurations that come with the product."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from encoder import Encoder
from encoder.settings import load_settings
from encoder.training.training_settings import TrainSettings
from mining.errors import InputError
from pipelines.evaluation import comparison
from pipelines.evaluation.benchmark import Score
from pipelines.evaluation.claims import Claim, judge
from pipelines.evaluation.comparison import CompareSettings, row_settings, slug
from pipelines.evaluation.finished_rows import Finished, MeanColumn, SampledScore, column_scores, summary, with_means
from pipelines.evaluation.setting_choice import combinations
from tests.conftest import Refusal, RunTwinlode
from tests.encoder.fixtures import write_tiny_xlm_roberta

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


def test_rows_are_trained_evaluated_and_not_done_twice(
    config: Path,
    tmp_path: Path,
    twinlode: RunTwinlode,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked: list[str] = []
    monkeypatch.setattr(comparison, "require_scores", lambda columns, benchmark, root: checked.append(benchmark.label))
    out = tmp_path / "out"
    assert twinlode("compare", config, "--out", out, "--row", "mSimCSE") == 0
    assert "1 of 2 rows" in (out / "compare.md").read_text()
    made = (out / "msimcse/seed-0/scores.json").stat().st_mtime_ns
    assert twinlode("compare", config, "--out", out) == 0
    assert (out / "msimcse/seed-0/scores.json").stat().st_mtime_ns == made
    report = json.loads((out / "compare.json").read_text())
    assert [row["name"] for row in report["rows"]] == ["EMS", "mSimCSE"]
    for row in report["rows"]:
        assert row["steps"] > 0
        assert 0 <= row["figures"]["Tatoeba"] <= 100
    assert "| mSimCSE |" in (out / "compare.md").read_text()
    captured = capsys.readouterr()
    assert "Tatoeba" in captured.out
    assert "mSimCSE, seed 0: finished before" in captured.err
    assert checked == ["tatoeba"], "once: a finished row has shown that there are the scores"


def test_rows_are_not_made_longer(config: Path, tmp_path: Path, twinlode: RunTwinlode, refusal: Refusal) -> None:
    """They would not be as rows that were to be so long."""
    out = tmp_path / "out"
    assert twinlode("compare", config, "--out", out, "--row", "EMS") == 0
    assert "holds a run with another limits.minutes (0.01, now 0.02)" in refusal(
        "compare", config, "--out", out, "--row", "EMS", "--minutes", "0.02"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--row", "XYZ"), "there is no row 'XYZ'; rows are EMS, mSimCSE"),
        (("--set", "columns.0.benchmark=sts"), "no benchmark is called sts; did you mean tatoeba?"),
        (("--set", "columns.0.score=deu P@10"), "tatoeba has no score 'deu P@10'; the nearest of its 6 are 'deu P@1'"),
        (("--set", "columns.0.minus=eng-deu P1"), "tatoeba has no score 'eng-deu P1'; the nearest of its 6 are"),
        (
            ("--set", "claims=[{claim: c, paper: p, row: EMT, to: mSimCSE, column: Tatoeba}]"),
            "there is no row EMT; did",
        ),
        (("--set", "claims=[{claim: c, paper: p, row: EMS, to: SimCSE, column: Tatoeba}]"), "did you mean mSimCSE?"),
        (("--set", "claims=[{claim: c, paper: p, row: EMS, to: mSimCSE, column: EMS}]"), "there is no column EMS; did"),
        (("--set", "means=[{title: M, of: [Tatoeba, STS]}]"), "mean M: there is no column STS before it"),
        (("--set", "rows.1.name=ems"), "two rows would share the folder ems"),
        (("--set", "benchmarks.0.data=nowhere"), "there is no folder"),
        (
            ("--set", "train.evaluation.task={benchmark: {benchmark: tatoeba, data: nowhere}, score: x}"),
            "evaluation.task: there is no folder nowhere",
        ),
        (("--set", "rows.1.change.objective.kind=simcse"), "row mSimCSE: objective"),
    ],
)
def test_mistakes_are_found_before_any_training(
    config: Path, tmp_path: Path, refusal: Refusal, arguments: tuple[str, ...], message: str
) -> None:
    assert message in refusal("compare", config, "--out", tmp_path / "out", *arguments)
    assert not (tmp_path / "out").exists()


def test_a_missing_score_names_those_there_are(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(CompareSettings, config, ["columns.0.score=deu F1"])
    with pytest.raises(InputError, match=r"tatoeba has no score 'deu F1'; the nearest of its 1 are 'deu P@1'"):
        column_scores(settings.columns, "tatoeba", [Score("deu", "P@1", 50.0)])


def test_examples_seeds_and_choices(config: Path, tmp_path: Path, twinlode: RunTwinlode) -> None:
    """Equal examples, two seeds, of which the first chooses the learning rate; a row that others start from."""
    tree = yaml.safe_load(config.read_text())
    del tree["minutes"]
    tree |= {"examples": 64, "seeds": 2}
    tree["train"]["evaluation"] = {"pairs": 1}
    tree["rows"] = [
        {"name": "base", "only_start": True},
        {
            "name": "grown",
            "change": {"start": {"encoder": "row:base"}, "objective": {"kind": "msimcse"}},
            "choose": {"optimizer.lr": [1e-9, 0.05]},
        },
        {"name": "as it is", "encoder": str(tmp_path / "out/base/seed-0/best")},
    ]
    tree["claims"] = [{"claim": "c", "paper": "p", "row": "grown", "to": "as it is", "column": "Tatoeba"}]
    config.write_text(yaml.safe_dump(tree))
    out = tmp_path / "out"
    assert twinlode("compare", config, "--out", out) == 0
    report = json.loads((out / "compare.json").read_text())
    assert [(row["name"], row["seed"]) for row in report["rows"]] == [("grown", 0), ("grown", 1), ("as it is", 0)]
    trained = report["rows"][:2]
    assert all(64 <= row["examples"] < 64 + 16 for row in trained)  # to the end of a batch
    assert trained[0]["chosen"] == trained[1]["chosen"]
    assert (out / "grown/seed-0/choice-0").is_dir() and (out / "grown/seed-0/choice-1").is_dir()
    assert len(list((out / "grown/seed-1").glob("choice-*"))) == 1
    assert 0 <= report["claims"][0]["difference"]["p_value"] <= 1
    assert "| c (Tatoeba: grown higher than as it is)" in (out / "compare.md").read_text()


def test_a_pretrained_model_as_it_comes(config: Path, tmp_path: Path, twinlode: RunTwinlode) -> None:
    tree = yaml.safe_load(config.read_text())
    tree["rows"] = [{"name": "as it comes", "untrained": True}]
    config.write_text(yaml.safe_dump(tree))
    assert twinlode("compare", config, "--out", tmp_path / "no") == 2  # a bag
    model = {"kind": "pretrained", "source": str(write_tiny_xlm_roberta(tmp_path / "hf")), "max_tokens": 4}
    tree["train"]["model"] = model
    config.write_text(yaml.safe_dump(tree))
    assert twinlode("compare", config, "--out", tmp_path / "out") == 0
    assert Encoder.load(tmp_path / "out/as-it-comes/seed-0/best").model.max_tokens == 4
    assert json.loads((tmp_path / "out/compare.json").read_text())["rows"][0]["steps"] == 0


def finished(name: str, *values: float, spread: float = 1.0) -> list[Finished]:
    draws = np.random.default_rng(0).normal(size=1000)  # the same items for every row
    return [
        Finished(name, seed, 1, 1, 1.0, None, 0, {"T": SampledScore(value, (value + spread * draws).tolist())})
        for seed, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "expect", "verdict"),
    [
        ([60, 61], [50, 52], "higher", "replicated"),
        ([60, 61], [50, 52], "lower", "not replicated: the opposite"),
        ([60, 40], [50, 52], "higher", "cannot tell"),  # seeds differ more than rows
        ([60], [50], "higher", "replicated"),
        ([60], [], "higher", "not run"),
    ],
)
def test_a_claim_is_judged_by_the_interval(ours: list, theirs: list, expect: str, verdict: str) -> None:
    claim = Claim(claim="c", paper="p", row="a", to="b", column="T", expect=expect)
    assert judge(claim, [*finished("a", *ours), *finished("b", *theirs)]).verdict == verdict


def test_shared_items_are_paired() -> None:
    """Rows that differ by a constant on every draw do so for sure, however wide their own intervals are."""
    rows = [*finished("a", 51, spread=20), *finished("b", 50, spread=20)]
    judged = judge(Claim(claim="c", paper="p", row="a", to="b", column="T"), rows)
    assert judged.verdict == "replicated" and judged.difference is not None
    assert judged.difference.interval == pytest.approx((1, 1))
    own = summary(rows, "a", "T")
    assert own is not None and own.interval is not None and own.interval.high - own.interval.low > 50


def test_means_of_columns_keep_draws_apart_and_rows_paired() -> None:
    """Of two columns with the same draws the mean varies less than either; a constant difference stays for sure."""
    rows = []
    for row in [*finished("a", 51, 52), *finished("b", 50, 51)]:
        figure = row.figures["T"]
        assert figure.replicas is not None
        other = SampledScore(figure.value + 2, [value + 2 for value in figure.replicas])
        rows.append(with_means(row._replace(figures={"T": figure, "U": other}), [MeanColumn(title="M", of=("T", "U"))]))
    assert [row.figures["M"].value for row in rows] == [52, 53, 51, 52]
    draws = {title: np.std(rows[0].figures[title].replicas or []) for title in ("T", "M")}
    assert draws["M"] == pytest.approx(draws["T"] / 2**0.5, rel=0.1)
    one_seed = [row for row in rows if row.seed == 0]
    judged = judge(Claim(claim="c", paper="p", row="a", to="b", column="M"), one_seed)
    assert judged.difference is not None and judged.difference.interval == pytest.approx((1, 1))
    assert judged.difference.p_value == pytest.approx(2 / 1001)
    lacking = with_means(rows[0]._replace(figures={"T": rows[0].figures["T"]}), [MeanColumn(title="M", of=("T", "U"))])
    assert lacking.figures.keys() == {"T"}


def test_the_comparison_of_the_papers_is_valid() -> None:
    settings = load_settings(CompareSettings, CONFIGS / "compare.yaml")
    plans = {row.name: row_settings(settings, row, Path("out")) for row in settings.rows}
    assert len(plans) == 13
    models = {name: plan.model for name, plan in plans.items() if not name.startswith("bag")}
    assert len({repr(model) for model in models.values()}) == 1
    for part in ("data", "optimizer", "schedule", "batch", "limits", "subword"):
        assert len({repr(getattr(plan, part)) for plan in plans.values()}) == 1, part


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("claims-*.yaml")), ids=lambda p: p.stem)
def test_the_claims_are_valid(path: Path) -> None:
    settings = load_settings(CompareSettings, path)
    assert settings.claims and settings.examples
    for row in settings.rows:
        for change in combinations(row.choose):
            plan = row_settings(settings, row, Path("out"), change=change)
            assert plan.data.cache == "out/data"


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
