"""How fast a GPU embeds and compares: measured on that of this machine, or assumed from what its maker states.

An assumed GPU embeds as many times as fast as a core of this machine as its arithmetic or its memory is, whichever is
less; it compares at the pace of the product (2 dim operations) and of the passes over it that find the best of a block.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mining.errors import InputError
from mining.knn import knn_graph
from mining.vectors import from_array
from pipelines.planning.plan_settings import GpuSettings, PlanSettings

if TYPE_CHECKING:
    import torch

_SUSTAINED = 0.6  # of what is stated, in long runs
_PRODUCT_BYTES = 40  # of memory that a comparison moves: its score is written, and read by two selections of the best
_MEASURED_ROWS = 65_536  # of a side: a second or so
_CORE_SIZE = 1024


class Accelerator(NamedTuple):
    """What is stated of a GPU: float32 operations and bytes of memory a second, its memory, and dollars an hour."""

    operations: float
    bandwidth: float
    memory: float
    price: float


STATED = {
    "T4": Accelerator(8.1e12, 320e9, 16e9, 0.35),
    "L4": Accelerator(30.3e12, 300e9, 24e9, 0.56),
    "V100": Accelerator(15.7e12, 900e9, 16e9, 2.48),
    "A100": Accelerator(19.5e12, 1555e9, 40e9, 2.93),
}


class GpuRates(NamedTuple):
    """What one GPU does in a second, and where that is known from."""

    name: str
    sentences: float  # embedded
    comparisons: float
    memory: float
    price: float  # of an hour
    basis: str  # measured here, stated in the settings, or assumed


class CoreRates(NamedTuple):
    """What a core of this machine does in a second: float32 operations, bytes copied, sentences embedded."""

    operations: float
    bandwidth: float
    sentences: float


def gpu_rates(
    settings: PlanSettings, texts: Sequence[str], units: Sequence[np.ndarray], sentences: float
) -> GpuRates | None:
    """Of the GPU of the settings; `sentences` is how many a core embeds in a second, on which an assumption rests."""
    name = settings.gpu.name
    here = visible_gpu() if name != "none" else None
    if name == "none" or (name == "auto" and here is None):
        return None
    known = next((label for label in STATED if here is not None and label in here), None)
    if here is not None and name in ("auto", known):
        found = _measured(here, known, settings, texts, units)
    else:
        found = assumed_rates(name, units[0].shape[1], core_rates(sentences))
    return with_stated(found, settings.gpu)


def visible_gpu() -> str | None:
    """The name of the GPU that torch sees, if it sees one."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def assumed_rates(name: str, dim: int, core: CoreRates) -> GpuRates:
    stated = STATED[name]
    operations, bandwidth = _SUSTAINED * stated.operations, _SUSTAINED * stated.bandwidth
    times = min(operations / core.operations, bandwidth / core.bandwidth)
    comparisons = 1 / (2 * dim / operations + _PRODUCT_BYTES / bandwidth)
    return GpuRates(name, times * core.sentences, comparisons, stated.memory, stated.price, "assumed")


def with_stated(found: GpuRates, given: GpuSettings) -> GpuRates:
    """The rates with those that the settings state in their place."""
    stated = {
        "sentences": given.sentences_per_second,
        "comparisons": given.comparisons_per_second,
    }
    kept = {name: value for name, value in stated.items() if value is not None}
    if kept:
        basis = "stated" if len(kept) == len(stated) else f"{found.basis}, {' and '.join(kept)} stated"
        found = found._replace(basis=basis, **kept)  # type: ignore[arg-type]
    if given.price_per_hour is not None:
        return found._replace(price=given.price_per_hour)
    if np.isnan(found.price):
        raise InputError(f"what an hour of {found.name} costs is not known; give it by --set gpu.price_per_hour=1.50")
    return found


def _measured(
    here: str, known: str | None, settings: PlanSettings, texts: Sequence[str], units: Sequence[np.ndarray]
) -> GpuRates:
    import torch

    from encoder.inference import Encoder

    encoder = Encoder.load(settings.encoder, device="cuda")
    tokens = encoder.tokenize(list(dict.fromkeys(texts)))  # which `prepare` does
    encoder.encode_tokens(tokens)  # loads the kernels
    embedded = len(tokens) / _seconds(lambda: encoder.encode_tokens(tokens))
    sides = [from_array(side[np.arange(_MEASURED_ROWS) % len(side)]) for side in units]
    knn_graph(sides[0].rows(0, 4096), sides[1].rows(0, 4096), settings.k, device="cuda")
    compared = _MEASURED_ROWS**2 / _seconds(lambda: knn_graph(sides[0], sides[1], settings.k, device="cuda"))
    memory = float(torch.cuda.get_device_properties(0).total_memory)
    price = STATED[known].price if known else float("nan")
    return GpuRates(here, embedded, compared, memory, price, "measured here")


def core_rates(sentences: float) -> CoreRates:
    """A product of matrices and a copy of more bytes than a cache holds."""
    import torch

    square = torch.ones(_CORE_SIZE, _CORE_SIZE)
    large = torch.ones(16 << 20)
    multiplied = _core_seconds(lambda: square @ square)
    copied = _core_seconds(large.clone)
    return CoreRates(2 * _CORE_SIZE**3 / multiplied, 2 * 4 * len(large) / copied, sentences)


def _core_seconds(work: Callable[[], torch.Tensor]) -> float:
    """The least of a few tries, of all threads together."""
    taken = []
    for _ in range(4):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return max(min(taken), 1e-6)


def _seconds(work: Callable[[], object]) -> float:
    """By the clock: what is returned is there, so the GPU has done its part."""
    begun = time.perf_counter()
    work()
    return max(time.perf_counter() - begun, 1e-6)
