"""Gradients of every objective: the gradient cache and two processes give those of the whole batch."""

from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor, nn

from encoder import distributed
from encoder.batch import Batch, take_tokens
from encoder.models import TransformerSettings, build_model
from encoder.objectives.mixture import build_objectives
from encoder.objectives.mpcl import MpclSettings
from encoder.objectives.msimcse import MsimcseSettings
from encoder.objectives.objective import EncoderFacts
from encoder.objectives.vmsst import VmsstSettings
from encoder.objectives.vmsst_networks import Gaussian
from encoder.training.cache import backward
from tests.encoder.objectives.batches import DIM, VOCABULARY, make_batch

CACHED = {
    "msimcse": (MsimcseSettings(strategy="nli", head="tanh"), [0, 1, 2, 3] * 3),
    "unsupervised": (MsimcseSettings(strategy="unsupervised"), [0, 1, 2, 3]),
    "mpcl": (MpclSettings(), [0, 1, 2, 3, 0, 0, 1, 2, 3]),
    "vmsst": (VmsstSettings(heads=2, ffn=16, positions=12, contrastive=1), [0, 1, 2, 3] * 2),
}


def gradients(name: str, chunk: int, batch: Batch | None = None) -> dict[str, Tensor]:
    settings, example = CACHED[name]
    torch.manual_seed(0)
    model = build_model(TransformerSettings(dim=DIM, layers=1, heads=2, ffn=16, dropout=0.0), VOCABULARY)
    facts = EncoderFacts(DIM, VOCABULARY, ("en", "de", "fr"), model.tokens.weight, dropout=True)
    ((_, objective, *_),) = build_objectives(settings, facts)
    batch = make_batch(example) if batch is None else batch
    torch.manual_seed(1)
    backward(model, objective, batch, done=0.5, scale=lambda x: x, autocast=nullcontext, chunk=chunk)
    modules = nn.ModuleDict({"model": model, "objective": objective})
    distributed.average_gradients(modules.parameters())
    return {key: weight.grad for key, weight in modules.named_parameters()}


@pytest.mark.parametrize("name", CACHED)
def test_cached_gradients_are_those_of_the_whole_batch(name: str) -> None:
    whole = gradients(name, 0)
    for chunk in (1, 3):
        for key, gradient in gradients(name, chunk).items():
            torch.testing.assert_close(gradient, whole[key], atol=1e-4, rtol=1e-3, msg=f"{key}, chunk {chunk}")


def share(batch: Batch, rank: int) -> Batch:
    """Half of the examples; with groups, halves of different sizes."""
    half = batch.examples // 2
    rows = (batch.example // half == rank).nonzero()[:, 0]
    example, language, text, meaning = (column[rows] for column in batch[1:5])
    return Batch(take_tokens(batch.tokens, rows), example - rank * half, language, text, meaning, half)


CHUNKS = {"msimcse": 0, "mpcl": 2, "vmsst": 2}


def without_noise(self: Gaussian) -> Tensor:
    """In place of a sample, of which two processes draw others than one does."""
    return self.mean


def work(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2)
    Gaussian.sample = without_noise  # type: ignore[method-assign]
    parts = {name: share(make_batch(CACHED[name][1]), rank) for name in CHUNKS}
    torch.save({name: gradients(name, chunk, parts[name]) for name, chunk in CHUNKS.items()}, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


def test_two_processes_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mp.spawn(work, (str(tmp_path),), nprocs=2)
    monkeypatch.setattr(Gaussian, "sample", without_noise)
    for name in CHUNKS:
        expected = gradients(name, 0)
        assert any(gradient is not None and gradient.abs().sum() > 0 for gradient in expected.values())
        for rank in range(2):
            for key, gradient in torch.load(tmp_path / f"{rank}.pt")[name].items():
                torch.testing.assert_close(gradient, expected[key], atol=1e-4, rtol=1e-3, msg=f"{name} {key}")
