from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch

from encoder import matrix_products
from encoder.matrix_products import fast_products, onednn_is_faster

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _setting_restored():
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


@pytest.fixture
def faster(monkeypatch):
    monkeypatch.setattr(matrix_products, "onednn_is_faster", lambda: True)


def test_products_are_float32_to_the_last_bits():
    left, right = torch.randn(256, 512, generator=torch.Generator().manual_seed(0)).chunk(2)
    exact = left.double() @ right.double().T
    with fast_products(CPU):
        found = left @ right.T
    assert (found - exact).abs().max() < 1e-4  # bfloat16 is off by 0.3


@pytest.mark.usefixtures("faster")
def test_the_setting_is_that_of_before_when_the_last_thread_is_done():
    inside, leave = threading.Event(), threading.Event()

    def work():
        with fast_products(CPU):
            inside.set()
            leave.wait()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    with fast_products(CPU):
        pass
    assert torch.get_float32_matmul_precision() == "medium"
    leave.set()
    thread.join()
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.usefixtures("faster")
@pytest.mark.parametrize("chosen", ["high", "medium"])
def test_what_somebody_has_chosen_stays(chosen):
    torch.set_float32_matmul_precision(chosen)
    with fast_products(CPU):
        assert torch.get_float32_matmul_precision() == chosen
    assert torch.get_float32_matmul_precision() == chosen


@pytest.mark.usefixtures("faster")
def test_a_gpu_keeps_its_bits():
    with fast_products(torch.device("cuda")):
        assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vendor_id : GenuineIntel\nflags : avx512_bf16 amx_bf16", False),
        ("vendor_id : AuthenticAMD\nflags : avx512_bf16", True),
        ("vendor_id : AuthenticAMD\nflags : avx512_bf16 amx_tile", False),
        (None, False),
    ],
)
def test_only_amd_processors_without_amx_change_library(monkeypatch, tmp_path: Path, text, expected):
    if text is not None:
        (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setattr(matrix_products, "_CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    assert onednn_is_faster.__wrapped__() == expected
