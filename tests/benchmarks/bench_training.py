"""The data path against the encoder it feeds, and the memory of XTR against a dense one."""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from encoder.data.batches import training_batches
from encoder.data.examples import PairExamples
from encoder.data.heldout import hold_out
from encoder.data.sampling import BatchSettings, Sampler, mixture
from encoder.data.store import Store, StoreWriter, TokenBlock
from encoder.matrix_products import fast_products
from encoder.objectives.contrastive import contrastive_loss
from encoder.objectives.xtr import reconstruction_loss, sample_candidates
from encoder.tokens import TokenBatch, Tokens
from tests.benchmarks.process_memory import most_megabytes

VOCABULARY, WIDTH, ROWS, LENGTH = 60_000, 1024 + 128, 2 * 152, 25  # EMS as published


def main() -> None:
    _data_path()
    _products()
    _xtr_memory()


def _data_path() -> None:
    """Pairs a second from memory-mapped tokens to tensors, over 60 language pairs."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        writer = StoreWriter(Path(folder), "english")
        for number in range(60):
            lengths = rng.integers(3, 40, 20_000)
            tokens = Tokens(
                rng.integers(0, VOCABULARY, lengths.sum(), dtype=np.int32), np.concatenate([[0], np.cumsum(lengths)])
            )
            languages = np.tile(np.array([0, 1], np.int16), 10_000)
            writer.add(0, TokenBlock(tokens, ("en", f"x{number}"), languages, np.full(10_000, 2)))
        writer.finish({})
        store = Store(Path(folder))
        for pairs in (2048, 8192):
            examples = PairExamples(store)
            probabilities = mixture(examples.sources, [1.0], 1.5)
            sampler = Sampler(store, examples, hold_out(store, 2000), probabilities, BatchSettings(pairs=pairs), 0)
            batches = training_batches(examples, sampler.batches(sampler.start()), 120, seed=0)
            started = time.perf_counter()
            count = sum(batch.examples for batch, _ in islice(batches, 400_000 // pairs))
            rate = count / (time.perf_counter() - started)
            print(f"training data, batches of {pairs}: {rate:,.0f} pairs a second on one thread")


def _products() -> None:
    """The contrastive loss of a batch of `ems-small`, most of which is products, by torch's library and by ours."""
    torch.set_num_threads(1)
    left, right = torch.randn(2, 2048, 512, requires_grad=True)
    keys = torch.arange(2048)[:, None]

    def seconds() -> float:
        begun = time.process_time()
        contrastive_loss(left, right, keys, 0.05, 0.2)[0].backward()
        return time.process_time() - begun

    theirs, ours = [], []
    for _ in range(10):  # in turns
        theirs.append(seconds())
        with fast_products():
            ours.append(seconds())
    before, now = (1000 * statistics.median(taken) for taken in (theirs, ours))
    print(f"contrastive loss, 2,048 pairs of 512: {before:.0f} ms as torch does it, {now:.0f} ms as we do")


def _xtr_memory() -> None:
    """Peak memory of one forward and backward at vocabulary 60k, batch 152, each way in a process of its own."""
    print(f"XTR, vocabulary {VOCABULARY:,}, {ROWS // 2} pairs, width {WIDTH}: peak above the weights")
    print(f"  the gradient of the weights alone: {4 * VOCABULARY * WIDTH / 2**20:,.0f} MiB")
    for name, loss in {"dense target": _dense, "ours": _ours, "ours, 2,048 sampled": _sampled}.items():
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            peak, seconds = pool.apply(_measure, (loss,))
        print(f"  {name}: {peak:,.0f} MiB, {seconds:.2f} s")


def _measure(loss: Callable[[torch.Tensor, torch.Tensor, TokenBatch], torch.Tensor]) -> tuple[int, float]:
    torch.manual_seed(0)
    hidden = torch.randn(ROWS, WIDTH, requires_grad=True)
    output = torch.randn(VOCABULARY, WIDTH, requires_grad=True)
    output.grad = torch.ones_like(output)
    tokens = TokenBatch(torch.randint(0, VOCABULARY, (ROWS * LENGTH,)), torch.arange(0, ROWS * LENGTH + 1, LENGTH))
    before = most_megabytes()
    started = time.perf_counter()
    loss(hidden, output, tokens).backward()
    seconds = time.perf_counter() - started
    return most_megabytes() - before, seconds


def _dense(hidden: torch.Tensor, output: torch.Tensor, tokens: TokenBatch) -> torch.Tensor:
    target = torch.zeros(ROWS, VOCABULARY)
    rows = torch.arange(ROWS).repeat_interleave(LENGTH)
    target.index_put_((rows, tokens.ids), torch.tensor(1 / LENGTH), accumulate=True)
    return functional.kl_div((hidden @ output.T).log_softmax(1), target, reduction="sum")


def _ours(hidden: torch.Tensor, output: torch.Tensor, tokens: TokenBatch) -> torch.Tensor:
    return reconstruction_loss(hidden, output, tokens, None)


def _sampled(hidden: torch.Tensor, output: torch.Tensor, tokens: TokenBatch) -> torch.Tensor:
    return reconstruction_loss(hidden, output, tokens, sample_candidates(tokens.ids, VOCABULARY, 2048))
