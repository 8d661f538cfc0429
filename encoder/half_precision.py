"""Half precision where it is faster: on accelerators, and bfloat16 on CPUs that multiply it and survive it."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import torch

from encoder.settings import ComputeType
from mining.errors import InputError

# Some virtual machines announce instructions that end the process (SIGILL): only a process of its own can tell.
_TRIAL = "import torch; torch.set_num_threads(1); x = torch.ones(64, 256, dtype=torch.bfloat16); x @ x.T"


def require_half(compute_dtype: ComputeType, device: torch.device) -> None:
    """Refuse half precision where it gains nothing or kills the process."""
    if compute_dtype == "float32":
        return
    if device.type == "cpu":
        if compute_dtype == "float16":
            raise InputError("compute_dtype float16 gains nothing on a CPU; use bfloat16, if it has it, or float32")
        if not cpu_multiplies_bfloat16():
            raise InputError("compute_dtype bfloat16: this CPU does not multiply it; use float32")
        return
    # Older GPUs imitate it, slower than float32.
    native = device.type != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False)
    if compute_dtype == "bfloat16" and not native:
        raise InputError(f"compute_dtype bfloat16: {torch.cuda.get_device_name(device)} has none; use float16")


@cache
def cpu_multiplies_bfloat16() -> bool:
    """Whether this CPU has instructions for it that work."""
    if not torch.cpu._is_avx512_bf16_supported():
        return False
    return subprocess.run([sys.executable, "-c", _TRIAL], capture_output=True, check=False).returncode == 0
