"""A killed run leaves no tokenizing processes behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys, time
from pathlib import Path
from encoder.data.corpora import CorpusSettings, DataSettings
from encoder.data.preparation import TokenizerRecipe, prepare
from tests.encoder.data.test_worker_end import SlowTokenizer

if __name__ == "__main__":
    data = DataSettings(corpora=[CorpusSettings(path=sys.argv[1], langs=["en", "de"])])
    recipe = TokenizerRecipe(SlowTokenizer, "slow", workers=2)
    prepare(data, recipe, Path(sys.argv[2]), exclude=(), strict=False, report=lambda groups: None)
"""


class SlowTokenizer:
    def encode(self, sentences: object, lang: str | None) -> object:
        time.sleep(300)
        return sentences


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found] + [grand for child in found for grand in children(int(child))]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_workers_end_with_the_process_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "c.tsv").write_text("a\tb\n" * 60_000)
    (tmp_path / "run.py").write_text(PROGRAM)
    (tmp_path / "cache").mkdir()
    command = [sys.executable, str(tmp_path / "run.py"), str(tmp_path / "c.tsv"), str(tmp_path / "cache")]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(Path.cwd())}) as process:
        workers: list[int] = []
        while process.poll() is None and len(workers) < 3:  # two, and the resource tracker
            time.sleep(0.1)
            workers = children(process.pid)
        time.sleep(1)
        process.send_signal(signal.SIGKILL)
    assert len(workers) >= 3
    for _ in range(600):
        if not any(Path(f"/proc/{worker}").exists() for worker in workers):
            return
        time.sleep(0.1)
    pytest.fail("workers are still there after a minute")
