"""The checkpoint chosen by the score of another task."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from encoder.settings import validate_settings
from encoder.training.observation import unobserved
from encoder.training.session import train
from encoder.training.training_settings import EvaluationSettings, TrainSettings
from mining.errors import InputError
from pipelines.evaluation.benchmark import evaluate
from pipelines.evaluation.dev_score import measure_of
from pipelines.evaluation.sources import load_source
from pipelines.evaluation.tatoeba import Tatoeba
from tests.conftest import RunTwinlode
from tests.pipelines.evaluation.toys import write

WORDS = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs"}
PAIRS = [(f"{a} and {b}", f"{WORDS[a]} und {WORDS[b]}") for a in WORDS for b in WORDS]


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Any]:
    """A training whose checkpoint Tatoeba chooses."""
    write(tmp_path, "en-de.tsv", *(f"{one}\t{other}" for one, other in PAIRS))
    for side, lines in zip(("eng", "deu"), zip(*PAIRS[::2], strict=True), strict=True):
        write(tmp_path, f"tatoeba/tatoeba.deu-eng.{side}", *lines)
    task = {"benchmark": {"benchmark": "tatoeba", "data": str(tmp_path / "tatoeba")}, "score": "deu P@1"}
    return {
        "data": {"corpora": [{"path": str(tmp_path / "en-de.tsv")}]},
        "subword": {"vocabulary": 60, "character_coverage": 1.0},
        "model": {"kind": "bag", "dim": 8},
        "objective": {"kind": "msimcse"},
        "optimizer": {"lr": 0.05},
        "batch": {"pairs": 16},
        "evaluation": {"every": 2, "task": task},
        "limits": {"steps": 8},
    }


def test_the_best_checkpoint_is_that_of_the_task(
    tree: dict[str, Any], tmp_path: Path, twinlode: RunTwinlode, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.yaml").write_text(yaml.safe_dump(tree))
    assert twinlode("train", tmp_path / "train.yaml", "--out", tmp_path / "run") == 0
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    found = [line["dev_task"] for line in lines if "dev_task" in line]
    best = json.loads((tmp_path / "run/best/metrics.json").read_text())
    assert len(found) == 4 and best["dev_task"] == max(found)
    source = load_source(str(tmp_path / "run/best"))
    scores = {score.name: score.value for score in evaluate(Tatoeba(data="tatoeba"), source, tmp_path).outcome.scores}
    assert scores["deu P@1"] / 100 == pytest.approx(best["dev_task"])
    assert "deu P@1" in capsys.readouterr().err


def test_an_error_is_better_lower(tree: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, "aligned/en.txt", *(one for one, _ in PAIRS))
    write(tmp_path, "aligned/de.txt", *(other for _, other in PAIRS))
    xsim = {"benchmark": "xsim", "data": str(tmp_path / "aligned")}
    tree["evaluation"]["task"] = {"benchmark": xsim, "score": "de-en xsim error both ways", "lower": True}
    settings = validate_settings(TrainSettings, tree, "test")
    trained = train(settings, tmp_path / "run", unobserved, measure=measure_of(settings.evaluation))
    assert trained.result.best is not None and -1 <= trained.result.best <= 0


def test_a_score_that_is_no_number_is_the_worst(tree: dict[str, Any], tmp_path: Path) -> None:
    settings = validate_settings(TrainSettings, tree, "test")
    values = iter([float("nan"), 0.25, float("nan"), 0.125])
    trained = train(settings, tmp_path / "run", unobserved, measure=lambda encoder: next(values))
    assert (trained.result.best, trained.result.best_step) == (0.25, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"score": "fra P@1"}, "tatoeba has no score 'fra P@1'; the nearest of its"),
        ({"benchmark": {"benchmark": "tatoeba", "data": "nowhere"}}, "there is no folder nowhere"),
        ({"benchmark": {"benchmark": "tatoeba", "data": ".", "langauges": []}}, "did you mean languages"),
    ],
)
def test_mistakes_are_found_before_training(tree: dict[str, Any], change: dict[str, Any], message: str) -> None:
    evaluation = {"task": tree["evaluation"]["task"] | change}
    with pytest.raises(InputError, match=message):
        measure_of(EvaluationSettings.model_validate(evaluation))


@pytest.mark.parametrize("other", [{"pairs": 5}, {"sts": "sts-dev.csv"}, {"share": 0.1}])
def test_one_thing_chooses(tree: dict[str, Any], other: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="leave out the others"):
        EvaluationSettings.model_validate(tree["evaluation"] | other)
    assert EvaluationSettings.model_validate(tree["evaluation"]).pairs == 0


def test_the_encoder_alone_knows_no_benchmark(tree: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not encoder\.train alone"):
        train(validate_settings(TrainSettings, tree, "test"), tmp_path / "run", unobserved)
