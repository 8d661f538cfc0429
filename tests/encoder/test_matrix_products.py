from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from encoder import matrix_products
from encoder.matrix_products import fast_products, onednn_is_faster

SETTING: Any = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _setting_restored() -> Iterator[None]:
    before = SETTING.fp32_precision
    yield
    SETTING.fp32_precision = before


@pytest.fixture
def faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_products, "onednn_is_faster", lambda: True)


def test_products_are_float32_to_the_last_bits() -> None:
    left, right = torch.randn(256, 512, generator=torch.Generator().manual_seed(0)).chunk(2)
    exact = left.double() @ right.double().T
    with fast_products():
        found = left @ right.T
    assert (found - exact).abs().max() < 1e-4  # bfloat16 is off by 0.3


@pytest.mark.usefixtures("faster")
def test_the_setting_is_that_of_before_when_the_last_thread_is_done() -> None:
    SETTING.fp32_precision = "ieee"
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with fast_products():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    with fast_products():
        pass
    assert SETTING.fp32_precision == "bf16"
    leave.set()
    thread.join()
    assert SETTING.fp32_precision == "ieee"


@pytest.mark.usefixtures("faster")
def test_a_gpu_keeps_its_bits() -> None:
    before = torch.backends.cuda.matmul.fp32_precision
    with fast_products():
        assert torch.backends.cuda.matmul.fp32_precision == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vendor_id : GenuineIntel\nflags : avx512_bf16 amx_bf16", False),
        ("vendor_id : AuthenticAMD\nflags : avx512_bf16", True),
        ("vendor_id : AuthenticAMD\nflags : avx512_bf16 amx_tile", False),
        (None, False),
    ],
)
def test_only_amd_processors_without_amx_change_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None, expected: bool
) -> None:
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(matrix_products, "_CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    assert onednn_is_faster.__wrapped__() == expected
