"""A corpus may be larger than memory: what a run allocates beside mapped files does not grow with it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from pathlib import Path
from encoder.training.observation import unobserved
from encoder.training.session import train
from tests.benchmarks.bench_mining import peak_anonymous
from tests.encoder.training.conftest import make_settings

def run(name):
    settings = make_settings(
        Path(sys.argv[1]) / name / "en-fr.tsv",
        subword={"vocabulary": 200, "sample_sentences": 2000},
        batch={"pairs": 256},
        evaluation={"pairs": 100},
        limits={"steps": 5},
    )
    train(settings, Path(sys.argv[1]) / name / "run", unobserved)

run("small")  # imports, and what allocators keep
print(peak_anonymous(lambda: run("large")))
"""
LINE = "the {} stone of house {} fell\tla pierre {} de la maison {} est tombée\n"


@pytest.mark.slow
def test_a_run_does_not_hold_its_corpus(tmp_path: Path) -> None:
    for name, lines in (("small", 20_000), ("large", 400_000)):
        (tmp_path / name).mkdir()
        text = "".join(LINE.format(n % 977, n, n % 977, n) for n in range(lines))
        (tmp_path / name / "en-fr.tsv").write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(Path.cwd())}
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    stored = sum(path.stat().st_size for path in (tmp_path / "large/run/data").rglob("*.bin"))
    assert stored > 60e6
    assert int(result.stdout) < 1.5 * stored  # its text as Python strings takes three times what is stored
