"""Runs that begin with an encoder: where it is found, what comes from it, what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from encoder import default
from encoder.inference import Encoder
from encoder.settings import validate_settings
from encoder.training.observation import unobserved
from encoder.training.session import train
from encoder.training.start import start_folder
from encoder.training.state import STATE_FILE, read_facts
from encoder.training.trainer import Trained
from encoder.training.training_settings import StartSettings, TrainSettings
from mining.errors import InputError
from tests.encoder.fixtures import write_tiny_xlm_roberta
from tests.encoder.training.conftest import make_settings

BAG = {"kind": "bag", "dim": 16, "bigrams": 32}
TEXT = {"normalize": {"lowercase": False}, "max_tokens": 50}


def begun_with(encoder: Path | str, corpus: Path, **changes: Any) -> TrainSettings:
    """Settings that say neither `text` nor `model`."""
    tree = make_settings(corpus, start={"encoder": str(encoder)}, limits={"steps": 1}).model_dump(mode="json")
    del tree["text"], tree["model"]
    return validate_settings(TrainSettings, tree | changes, "test")


@pytest.fixture
def first(corpus: Path, tmp_path: Path) -> Trained:
    return train(make_settings(corpus, model=BAG, text=TEXT, limits={"steps": 1}), tmp_path / "first", unobserved)


@pytest.mark.parametrize(
    "given", [{}, {"model": {"kind": "bag", "dim": 16}}, {"text": {"normalize": {"lowercase": False}}}]
)
def test_settings_that_are_left_out_are_those_of_the_encoder(
    corpus: Path, tmp_path: Path, first: Trained, given: dict[str, Any]
) -> None:
    second = train(begun_with(first.folder, corpus, **given), tmp_path / "second", unobserved)
    configurations = [yaml.safe_load((run.folder / "config.yaml").read_text()) for run in (first, second)]
    assert configurations[0] == configurations[1]
    saved = read_facts(tmp_path / "second" / STATE_FILE)["settings"]
    assert all(saved[name] == configurations[0][name] for name in ("model", "text"))
    longer = begun_with(first.folder, corpus, **given, limits={"steps": 2})
    assert train(longer, tmp_path / "second", unobserved).result.position.step == 2


def test_a_smaller_bag_begins_with_a_larger_one(corpus: Path, tmp_path: Path, first: Trained) -> None:
    smaller = begun_with(first.folder, corpus, model={"kind": "bag", "dim": 8, "bigrams": 16})
    second = train(smaller, tmp_path / "second", unobserved)
    made = yaml.safe_load((second.folder / "config.yaml").read_text())["model"]
    assert (made["dim"], made["bigrams"]) == (8, 16)
    texts = ["one two three", "four five", "two one"]
    before, after = (Encoder.load(run.folder).encode(texts, lang="en") for run in (first, second))
    assert after.shape == (3, 8)
    assert np.allclose(before @ before.T, after @ after.T, atol=0.35)  # one step of training between them


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {"kind": "bag", "dim": 32}}, "this run: model.dim: 16 there, 32 here; leave them out"),
        ({"model": {**BAG, "dim": 8, "bigrams": 12}}, "model.dim: 16 there, 8 here; model.bigrams: 32 there, 12 here"),
        ({"text": {"normalize": {"lowercase": True}}}, "this run: text.normalize.lowercase: False there, True here; l"),
        ({"model": {**BAG, "bigrams": 0}, "text": {"max_tokens": 9}}, "model.bigrams: 32 there, 0 here; text.max_tok"),
        ({"model": {"kind": "pretrained", "source": "x"}}, "this run: model.kind: bag there, pretrained here; leave"),
    ],
)
def test_settings_that_differ_are_named(
    corpus: Path, tmp_path: Path, first: Trained, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as refused:
        train(begun_with(first.folder, corpus, **changes), tmp_path / "second", unobserved)
    assert message in str(refused.value)


def test_settings_are_checked_with_those_of_the_encoder(corpus: Path, tmp_path: Path) -> None:
    lazy = {"kind": "lazy_adam", "weight_decay": 0}
    sparse = make_settings(corpus, model={**BAG, "sparse": True}, optimizer=lazy, limits={"steps": 1})
    folder = train(sparse, tmp_path / "first", unobserved).folder
    with pytest.raises(InputError, match=r"only optimizer\.kind: lazy_adam takes"):
        train(begun_with(folder, corpus), tmp_path / "second", unobserved)
    train(begun_with(folder, corpus, optimizer=lazy), tmp_path / "second", unobserved)


def test_a_hugging_face_folder_is_no_start(corpus: Path, tmp_path: Path) -> None:
    source = write_tiny_xlm_roberta(tmp_path / "xlmr")
    with pytest.raises(InputError) as refused:
        train(begun_with(source, corpus), tmp_path / "run", unobserved)
    assert f"`model: {{kind: pretrained, source: {source}}}`" in str(refused.value)


def test_a_folder_named_default_goes_before_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert start_folder(StartSettings(encoder="default")) == default.model_folder()
    (tmp_path / "default").mkdir()
    assert start_folder(StartSettings(encoder="default")) == tmp_path / "default"


@pytest.mark.slow
def test_the_encoder_of_the_package_can_be_trained_on(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lazy = {"kind": "lazy_adam", "lr": 1e-12, "weight_decay": 0}
    settings = begun_with("default", corpus, optimizer=lazy, objective={"kind": "ems", "xtr": 0, "projection_dim": 0})
    trained = train(settings, tmp_path / "run", unobserved)
    vectors = [
        Encoder.load(folder).encode(["the cat sees"], "en") for folder in (default.model_folder(), trained.folder)
    ]
    assert np.allclose(*vectors, atol=1e-4)
