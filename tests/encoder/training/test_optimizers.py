"""Learning rates of groups of parameters."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from encoder.inference import Encoder
from encoder.training.observation import unobserved
from encoder.training.optimizers import make_optimizer, set_learning_rates
from encoder.training.session import train
from encoder.training.training_settings import OptimizerSettings
from mining.errors import InputError
from tests.encoder.training.conftest import make_settings

GROUPS: Any = [{"parameters": "model.1.*", "lr": 0.5}, {"parameters": "model.*.bias", "lr": 0.1}]


def toy() -> nn.Module:
    return nn.ModuleDict({"model": nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), "head": nn.Linear(2, 2)})


@pytest.mark.parametrize("kind", ["adam", "adamw", "lazy_adam", "adafactor"])
def test_the_first_pattern_that_fits_decides_the_rate(kind: Any) -> None:
    modules = toy()
    optimizer = make_optimizer(OptimizerSettings(kind=kind, lr=0.2, groups=GROUPS), modules)
    set_learning_rates(optimizer, 0.5)
    rates = {id(parameter): group["lr"] for group in optimizer.param_groups for parameter in group["params"]}
    found = {name: rates[id(parameter)] for name, parameter in modules.named_parameters()}
    assert found == {
        "model.0.weight": 0.1,
        "model.0.bias": 0.05,
        "model.1.weight": 0.25,
        "model.1.bias": 0.25,
        "head.weight": 0.1,
        "head.bias": 0.1,
    }


def test_a_pattern_without_parameters_is_refused() -> None:
    with pytest.raises(InputError, match=r"no parameter is called like 'gate\.\*' and free; they are model\.0\.weight"):
        make_optimizer(OptimizerSettings(groups=[{"parameters": "gate.*", "lr": 1}]), toy())  # type: ignore[list-item]


def test_a_rate_of_zero_leaves_parameters_as_they_are(corpus: Path, tmp_path: Path) -> None:
    first = train(make_settings(corpus, limits={"steps": 2}), tmp_path / "first", unobserved)
    start = {"encoder": str(first.folder)}
    for name, groups in (("free", []), ("frozen", [{"parameters": "model.tokens.*", "lr": 0}])):
        optimizer = {"lr": 0.02, "weight_decay": 0, "groups": groups}
        train(make_settings(corpus, limits={"steps": 2}, start=start, optimizer=optimizer), tmp_path / name, unobserved)
    before, free, frozen = (
        Encoder.load(tmp_path / name / "best").model.state_dict()["tokens.weight"]
        for name in ("first", "free", "frozen")
    )
    assert torch.equal(before, frozen)
    assert not torch.allclose(before, free)
