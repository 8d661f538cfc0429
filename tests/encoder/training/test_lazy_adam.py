"""Lazy Adam is Adam on the rows that are used, and leaves the others alone."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from encoder.distributed import average_gradients
from encoder.training.lazy_adam import LazyAdam, clip_gradients


def sparse_gradient(rows: list[int], values: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
    return torch.sparse_coo_tensor(torch.tensor([rows]), values, shape)


def random_table(rows: int, columns: int, by_columns: bool) -> torch.Tensor:
    """Tables with columns side by side take the way of those on a GPU."""
    torch.manual_seed(0)
    return torch.randn(columns, rows).T if by_columns else torch.randn(rows, columns)


@pytest.mark.parametrize("by_columns", [False, True])
def test_rows_used_in_every_step_get_plain_adam(by_columns: bool) -> None:
    start = random_table(6, 5, by_columns)
    lazy, plain = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start[[1, 4]].clone())
    optimizers = LazyAdam([lazy], lr=0.1), torch.optim.Adam([plain], lr=0.1)
    for _ in range(5):
        values = torch.randn(2, 5)
        lazy.grad, plain.grad = sparse_gradient([1, 4], values, (6, 5)), values.clone()
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(lazy[[1, 4]], plain)
    assert torch.equal(lazy[[0, 2, 3, 5]], start[[0, 2, 3, 5]])


@pytest.mark.parametrize("by_columns", [False, True])
def test_dense_gradients_get_plain_adam(by_columns: bool) -> None:
    start = random_table(3, 4, by_columns)
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    optimizers = LazyAdam([ours], lr=0.05), torch.optim.Adam([theirs], lr=0.05)
    for _ in range(5):
        ours.grad = torch.randn(3, 4)
        theirs.grad = ours.grad.clone()
        for optimizer in optimizers:
            optimizer.step()
    torch.testing.assert_close(ours, theirs)


def test_repeated_rows_are_added_up() -> None:
    weights = [torch.nn.Parameter(torch.zeros(3, 2)) for _ in range(2)]
    weights[0].grad = sparse_gradient([1, 1], torch.ones(2, 2), (3, 2))
    weights[1].grad = sparse_gradient([1], torch.full((1, 2), 2.0), (3, 2))
    for weight in weights:
        LazyAdam([weight], lr=0.1).step()
    torch.testing.assert_close(*weights)


def test_clipping_counts_sparse_and_dense_gradients_together() -> None:
    table, head = torch.nn.Parameter(torch.zeros(3, 2)), torch.nn.Parameter(torch.zeros(1))
    table.grad = sparse_gradient([0, 0], torch.tensor([[3.0, 0], [0, 0]]), (3, 2))
    head.grad = torch.tensor([4.0])
    assert clip_gradients([table, head], None) == 5 and clip_gradients([table, head], 1.0) == 5
    torch.testing.assert_close(table.grad.to_dense()[0], torch.tensor([0.6, 0]))
    torch.testing.assert_close(head.grad, torch.tensor([0.8]))


def _average(rank: int, folder: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2)
    both, first = (torch.nn.Parameter(torch.zeros(6, 2)) for _ in range(2))
    both.grad = sparse_gradient([1 + 3 * rank], torch.ones(1, 2), (6, 2))
    if rank == 0:
        first.grad = sparse_gradient([2], torch.ones(1, 2), (6, 2))
    average_gradients([both, first])
    torch.save(
        [(p.grad.coalesce().indices(), p.grad.coalesce().values()) for p in (both, first)], f"{folder}/{rank}.pt"
    )
    dist.destroy_process_group()


def test_rows_that_no_process_used_are_left_alone_by_all(tmp_path: Path) -> None:
    mp.spawn(_average, (str(tmp_path),), nprocs=2)
    for rank in range(2):
        for (rows, values), expected in zip(torch.load(tmp_path / f"{rank}.pt"), ([1, 4], [2]), strict=True):
            assert rows[0].tolist() == expected
            assert (values == 0.5).all()
