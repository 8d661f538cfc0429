"""Configurations: those that come with the product are valid, mistakes are one sentence before any work."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from encoder.settings import apply_override, load_settings, validate_settings
from encoder.training.training_settings import TrainSettings
from mining.errors import InputError
from pipelines.loop.engine import run_loop
from pipelines.loop.loop_settings import LoopSettings, training_settings
from tests.pipelines.loop.corpora import write_world

CONFIGS = Path(__file__).resolve().parents[3] / "configs"


def test_the_configuration_on_real_data_is_valid() -> None:
    settings = load_settings(LoopSettings, CONFIGS / "loop-shared.yaml")
    plan = training_settings(settings, {}, [{"path": "seed.tsv"}], 7)
    assert plan.limits.steps == 7
    assert plan.data.assemble is not None
    assert plan.data.assemble.pivots == ("en",)
    assert [settings.round(number).precision for number in (1, 2, 3, 9)] == [0.6, 0.7, 0.8, 0.8]


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Any]:
    return write_world(tmp_path)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("pairs=[de-xx]", "de-xx: a language pair is two of those in `text`: en, de, fr"),
        ("pairs=[de-de]", "de-de: a language pair is two"),
        ("pairs=[de-en, de-en]", "a language pair is listed twice"),
        ("columns.0.benchmark=sts", "no benchmark is called sts"),
        ("columns.0.decides=false", "no column decides which round is best"),
        ("train.limits.minutes=3", "train.limits is for the loop to fill in"),
        ("train.data.corpora=[]", "train.data.corpora is for the loop to fill in"),
        ("train.start.encoder=nowhere", "train.start.encoder: nowhere is not the folder of a trained encoder"),
        ("rounds.0.change.start.encoder=x", "change.start: a round begins with the one before it"),
        ("train.model.kind=bags", "train: model"),
        ("rounds.0.change.objective.kind=emss", "train: objective"),
        ("selection.hard_negatives.below=1", "hard_negatives are for objectives on triples"),
        ("benchmarks.0.data=nowhere", "bucc: there is no folder"),
        ("exclude=[nowhere.txt]", "exclude nowhere.txt: no such file"),
        ("seed.corpora.0.path=nowhere.tsv", "nowhere.tsv: no such file"),
        ("text.xq.inputs=[a.txt]", "'xq' is not a language code"),
        ("rouns=[]", "unknown key rouns; did you mean rounds?"),
    ],
)
def test_mistakes_are_found_before_any_work(tree: dict[str, Any], tmp_path: Path, override: str, message: str) -> None:
    apply_override(tree, override)
    with pytest.raises(InputError) as error:
        run_loop(validate_settings(LoopSettings, tree, "loop.yaml"), tmp_path / "out", None, None)  # type: ignore[arg-type]
    assert message in str(error.value)
    assert not (tmp_path / "out").exists()


def test_a_plan_survives_the_file_that_torchrun_gets(tree: dict[str, Any]) -> None:
    settings = validate_settings(LoopSettings, tree, "loop.yaml")
    start = {"encoder": "round-0/encoder", "weights": False}
    plan = training_settings(settings, {}, [{"path": "seed.tsv", "weight": 2}], 7, start=start)
    assert validate_settings(TrainSettings, yaml.safe_load(yaml.safe_dump(plan.model_dump(mode="json"))), "") == plan


def test_a_classifier_is_not_left_out_silently(tree: dict[str, Any]) -> None:
    apply_override(tree, "classifier.pairs=400")
    validate_settings(LoopSettings, tree, "loop.yaml")
    apply_override(tree, "mining.retrieval=intersect")
    with pytest.raises(InputError, match=r"mining\.retrieval must be max"):
        validate_settings(LoopSettings, tree, "loop.yaml")
