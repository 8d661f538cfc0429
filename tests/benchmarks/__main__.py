"""Run all benchmarks, or those named: `python -m tests.benchmarks mining text`."""

import importlib
import sys
from pathlib import Path

names = sys.argv[1:] or sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
for name in names:
    importlib.import_module(f"tests.benchmarks.bench_{name}").main()
