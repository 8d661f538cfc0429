"""Two processes with half of the batch each make the gradients of one process with the whole."""

from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor

from encoder.batch import Batch, take_tokens
from encoder.training import distributed
from encoder.training.cache import backward
from tests.encoder.training.test_cache import make_batch, make_modules

PAIRS = 6


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


def gradients(chunk: int) -> dict[str, Tensor]:
    modules = make_modules(dropout=0.0)
    part = share(joint_batch(), distributed.rank(), distributed.world_size())
    backward(
        modules["model"], modules["objective"], part, done=0.0, scale=lambda x: x, autocast=nullcontext, chunk=chunk
    )
    distributed.average_gradients(modules.parameters())
    return {name: parameter.grad for name, parameter in modules.named_parameters()}


def work(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2)
    torch.save([gradients(0), gradients(4)], f"{folder}/{rank}.pt")
    dist.destroy_process_group()


def test_two_processes_are_one(tmp_path: Path) -> None:
    mp.spawn(work, (str(tmp_path),), nprocs=2)
    expected = gradients(0)
    for rank in range(2):
        for found in torch.load(tmp_path / f"{rank}.pt"):
            for name, gradient in found.items():
                torch.testing.assert_close(gradient, expected[name], atol=1e-5, rtol=1e-4, msg=name)
