"""Two processes with half of the batch each make the gradients, and the run, of one process with the whole."""

import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import yaml
from safetensors.numpy import load_file
from torch import Tensor

from encoder import distributed
from encoder.batch import Batch, take_tokens
from encoder.training.cache import backward
from encoder.training.observation import unobserved
from encoder.training.session import train
from encoder.training.state import STATE_FILE, read_facts
from tests.encoder.training.conftest import make_settings
from tests.encoder.training.test_cache import make_batch, make_modules

PAIRS = 6
CASES = [(0, 0.0), (4, 0.0), (0, 0.2), (4, 0.2)]  # chunk, margin
MODELS = {
    "transformer": {
        "model": {"kind": "transformer", "dim": 32, "layers": 1, "heads": 2, "ffn": 64, "dropout": 0.0},
        "optimizer": {"lr": 0.02, "eps": 1e-4},
    },
    "sparse bag": {
        "model": {"kind": "bag", "dim": 32, "bigrams": 64, "words": 64, "sparse": True},
        "optimizer": {"kind": "lazy_adam", "lr": 0.02, "eps": 1e-4, "weight_decay": 0},
    },
}


def joint_batch() -> Batch:
    """With a false negative across the two halves: the first and the last pair mean the same."""
    batch = make_batch(PAIRS)
    meaning = batch.meaning.clone()
    meaning[[0, PAIRS - 1, PAIRS, 2 * PAIRS - 1]] = 7
    return batch._replace(meaning=meaning)


def share(batch: Batch, rank: int, processes: int) -> Batch:
    count = PAIRS // processes
    rows = torch.arange(rank * count, (rank + 1) * count)
    rows = torch.cat([rows, rows + PAIRS])
    columns = (column[rows] for column in batch[1:5])
    return Batch(take_tokens(batch.tokens, rows), *columns, examples=count)


def gradients(chunk: int, margin: float) -> dict[str, Tensor]:
    modules = make_modules(dropout=0.0, margin=margin)
    part = share(joint_batch(), distributed.rank(), distributed.world_size())
    backward(
        modules["model"], modules["objective"], part, done=0.0, scale=lambda x: x, autocast=nullcontext, chunk=chunk
    )
    distributed.average_gradients(modules.parameters())
    return {name: parameter.grad for name, parameter in modules.named_parameters()}


def work(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2)
    torch.save([gradients(*case) for case in CASES], f"{folder}/{rank}.pt")
    dist.destroy_process_group()


def test_two_processes_are_one(tmp_path: Path) -> None:
    mp.spawn(work, (str(tmp_path),), nprocs=2)
    expected = {margin: gradients(0, margin) for _, margin in CASES}
    for rank in range(2):
        for (_, margin), found in zip(CASES, torch.load(tmp_path / f"{rank}.pt"), strict=True):
            for name, gradient in found.items():
                torch.testing.assert_close(gradient, expected[margin][name], atol=1e-5, rtol=1e-4, msg=name)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "transformer" else name for name in MODELS]
)
def test_a_run_of_two_processes_is_that_of_one(corpus: Path, tmp_path: Path, name: str) -> None:
    """With 62 of 64 pairs in every batch, and a large eps, for else Adam makes much of rounding."""
    settings = make_settings(
        corpus,
        **MODELS[name],
        objective={"kind": "ems", "temperature": 0.05, "language_dim": 4, "projection_dim": 16, "margin": 0.2},
        batch={"pairs": 64},
        evaluation={"pairs": 2, "every": 2},
        limits={"steps": 5},
    )
    config, one, two = tmp_path / "train.yaml", tmp_path / "one", tmp_path / "two"
    config.write_text(yaml.safe_dump(settings.model_dump(mode="json")))
    train(settings, one, unobserved)
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"]  # at a port that is free
    command = [sys.executable, "-m", *torchrun, "-m", "pipelines.cli", "train", str(config), "--out", str(two)]
    subprocess.run(command, check=True)
    alone, together = (read_facts(out / STATE_FILE) for out in (one, two))
    assert together["position"][:2] == alone["position"][:2] == [5, 5 * 62]
    assert (together["best"], together["best_step"]) == (alone["best"], alone["best_step"])
    expected, found = (load_file(out / STATE_FILE) for out in (one, two))
    assert found.keys() == expected.keys()
    for key in found:
        np.testing.assert_allclose(found[key], expected[key], atol=1e-4, rtol=1e-3, err_msg=key)
