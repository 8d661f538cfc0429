"""Python processes of ours: they import the packages that this process runs, whatever lies in the working directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_HOME = str(Path(__file__).resolve().parents[2])  # what holds our packages


def child_environment() -> dict[str, str]:
    """Variables for a Python process: the same path as here, without the working directory that Python would add."""
    path = [entry for entry in sys.path if entry]  # the empty one stands for the working directory
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join([*path, *([] if _HOME in path else [_HOME])])}
