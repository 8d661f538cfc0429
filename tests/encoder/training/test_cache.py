"""The gradient cache gives the gradients of the whole batch."""

from contextlib import nullcontext
from pathlib import Path

import torch
from torch import Tensor, nn

from encoder.batch import Batch
from encoder.models import TransformerSettings, build_model
from encoder.objectives.ems import Ems, EmsSettings
from encoder.objectives.objective import EncoderFacts
from encoder.tokens import Tokens
from encoder.training.cache import backward
from encoder.training.optimizers import make_optimizer
from encoder.training.state import load_state, save_state
from encoder.training.training_settings import OptimizerSettings


def make_batch(pairs: int) -> Batch:
    generator = torch.Generator().manual_seed(1)
    lists = [torch.randint(2, 40, (1 + n % 5,), generator=generator).tolist() for n in range(2 * pairs)]
    return Batch(
        tokens=Tokens.from_lists(lists).batch(),
        example=torch.arange(pairs).repeat(2),
        language=torch.tensor([0] * pairs + [1] * pairs),
        text=torch.arange(2 * pairs),
        meaning=torch.arange(100, 100 + pairs).repeat(2),
        examples=pairs,
    )


def make_modules(dropout: float, margin: float = 0.0) -> nn.ModuleDict:
    torch.manual_seed(0)
    model = build_model(TransformerSettings(dim=16, layers=1, heads=2, ffn=32, dropout=dropout), 40)
    settings = EmsSettings(language_dim=4, projection_dim=8, margin=margin)
    objective = Ems(settings, EncoderFacts(16, 40, ("en", "de"), None))
    return nn.ModuleDict({"model": model, "objective": objective})


def gradients(modules: nn.ModuleDict, chunk: int) -> dict[str, Tensor]:
    modules.zero_grad()
    torch.manual_seed(5)
    objective = modules["objective"]
    assert isinstance(objective, Ems)
    backward(
        modules["model"], objective, make_batch(9), done=0.0, scale=lambda x: 2 * x, autocast=nullcontext, chunk=chunk
    )
    return {name: parameter.grad.clone() for name, parameter in modules.named_parameters()}


def test_cached_gradients_are_those_of_the_whole_batch() -> None:
    modules = make_modules(dropout=0.0)
    whole = gradients(modules, 0)
    for chunk in (1, 4, 7):
        for name, gradient in gradients(modules, chunk).items():
            torch.testing.assert_close(gradient, whole[name], atol=1e-5, rtol=1e-4, msg=f"{name}, chunk {chunk}")


def test_both_passes_draw_the_same_dropout() -> None:
    """With other dropout in the second pass, the gradient would not be that of the loss: check it by differences."""
    modules = make_modules(dropout=0.5)
    weight = modules["model"].tokens.weight
    gradient = gradients(modules, 4)["model.tokens.weight"]
    direction = torch.randn_like(weight)

    def loss_at(step: float) -> float:
        with torch.no_grad():
            weight.add_(step * direction)
        torch.manual_seed(5)
        value = backward(
            modules["model"], modules["objective"], make_batch(9), done=0.0, scale=lambda x: 2 * x,
            autocast=nullcontext, chunk=4,
        ).total.item()  # fmt: skip
        with torch.no_grad():
            weight.sub_(step * direction)
        return 2 * value

    slope = (loss_at(1e-3) - loss_at(-1e-3)) / 2e-3
    assert abs(slope - float((gradient * direction).sum())) < 0.02 * max(1.0, abs(slope))


def test_state_survives_the_disk(tmp_path: Path) -> None:
    modules, others = make_modules(0.0), make_modules(0.0)
    optimizer = make_optimizer(OptimizerSettings(amsgrad=True), modules)
    gradients(modules, 0)
    optimizer.step()
    save_state(tmp_path / "state", modules, optimizer, {"step": 1})
    restored = make_optimizer(OptimizerSettings(amsgrad=True), others)
    load_state(tmp_path / "state", others, restored)
    for one, optim in ((modules, optimizer), (others, restored)):
        gradients(one, 0)
        optim.step()
    for name, parameter in modules.named_parameters():
        assert torch.equal(parameter, others.get_parameter(name)), name
