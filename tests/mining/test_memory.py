"""The memory budget is honoured: what the process allocates beside mapped files, measured from outside."""

import subprocess
import sys
from pathlib import Path

import numpy as np

PROGRAM = """
import sys, threading, time
import numpy as np
from mining.knn import knn_graph
from mining.vectors import from_array, open_vectors

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))

warm = from_array(np.random.default_rng(0).standard_normal((2100, 64), dtype=np.float32))
knn_graph(warm, warm, threads=2)
source, target = open_vectors(sys.argv[1]), open_vectors(sys.argv[2])
knn_graph(source.rows(0, 2100), target.rows(0, 2100), threads=2)  # compiles the kernels, for mapped files too
before, peak, done = anonymous(), [0], threading.Event()

def watch():
    while not done.is_set():
        peak[0] = max(peak[0], anonymous())
        time.sleep(0.002)

watcher = threading.Thread(target=watch)
watcher.start()
knn_graph(source, target, 4, memory=int(sys.argv[3]), threads=2)
done.set()
watcher.join()
print(peak[0] - before)
"""


def test_the_budget_is_honoured(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for name, rows in (("a.npy", 8_000), ("b.npy", 60_000)):
        np.save(tmp_path / name, rng.standard_normal((rows, 128), dtype=np.float32))
    budget = 42 << 20  # the files are 35 MB, the similarities would be 2 GB
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "a.npy"), str(tmp_path / "b.npy"), str(budget)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0 < int(result.stdout) < budget
