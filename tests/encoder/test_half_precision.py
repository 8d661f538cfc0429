from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch

from encoder import half_precision
from encoder.half_precision import cpu_multiplies_bfloat16, require_half
from mining.errors import InputError

CPU = torch.device("cpu")


@pytest.fixture
def fresh_answer() -> Iterator[None]:
    cpu_multiplies_bfloat16.cache_clear()
    yield
    cpu_multiplies_bfloat16.cache_clear()


def test_float16_is_refused_on_a_cpu() -> None:
    with pytest.raises(InputError, match="compute_dtype float16 gains nothing on a CPU"):
        require_half("float16", CPU)
    require_half("float32", CPU)


@pytest.mark.parametrize("works", [True, False])
def test_bfloat16_is_refused_on_a_cpu_that_does_not_multiply_it(works: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half_precision, "cpu_multiplies_bfloat16", lambda: works)
    with nullcontext() if works else pytest.raises(InputError, match="this CPU does not multiply it; use float32"):
        require_half("bfloat16", CPU)


@pytest.mark.parametrize(
    ("announced", "trial", "works"),
    [
        (True, "pass", True),
        (True, "import os, signal; os.kill(os.getpid(), signal.SIGILL)", False),
        (False, "pass", False),
    ],
)
def test_instructions_that_end_the_process_are_found_out_by_another(
    announced: bool, trial: str, works: bool, monkeypatch: pytest.MonkeyPatch, fresh_answer: None
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: announced)
    monkeypatch.setattr(half_precision, "_TRIAL", trial)
    assert cpu_multiplies_bfloat16() == works


@pytest.mark.parametrize("native", [True, False])
def test_bfloat16_is_refused_where_a_gpu_would_imitate_it(native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: (asked.append(1), native)[1])
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Tesla T4")
    with nullcontext() if native else pytest.raises(InputError, match="Tesla T4 has none; use float16"):
        require_half("bfloat16", torch.device("cuda"))
    require_half("float16", torch.device("cuda"))
    assert asked
