"""The memory budget is honoured: what is allocated beside mapped files, by the kernel's own high-water mark."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = """
import sys
from mining import proposals
from mining.knn import knn_graph
from mining.vectors import open_vectors

proposals._LITTLE_WORK = 0  # torch is loaded before memory is counted

def resident(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name))

source, target = open_vectors(sys.argv[1]), open_vectors(sys.argv[2])
knn_graph(source.rows(0, 2100), target.rows(0, 2100), threads=2)  # compiles the kernels, for mapped files too
for vectors in (source, target):
    vectors.stored.max()  # every page of the files is here before and after, so that only allocations make a difference
with open("/proc/self/clear_refs", "w") as marks:
    marks.write("5")  # the high-water mark is what is resident now
before = resident("VmRSS")
knn_graph(source, target, 4, memory=int(sys.argv[3]), threads=2)
print(resident("VmHWM") - before)
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux keeps a high-water mark to be reset")
def test_the_budget_is_honoured(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for name, rows in (("a.npy", 8_000), ("b.npy", 60_000)):
        np.save(tmp_path / name, rng.standard_normal((rows, 128), dtype=np.float32))
    budget = 42 << 20  # the files are 35 MB, the similarities would be 2 GB
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "a.npy"), str(tmp_path / "b.npy"), str(budget)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert budget / 8 < int(result.stdout) < budget
