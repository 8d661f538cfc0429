"""The files that a loop rests on beside its text, by content: with others its rounds could not be compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from encoder.checkpoint import is_checkpoint
from encoder.training.start import start_folder
from mining.errors import InputError
from mining.paths import matching
from pipelines.datasets.manifest import GOLD, SEED, Input, file_input
from pipelines.evaluation.benchmark_files import COMPRESSIONS
from pipelines.evaluation.bucc import Bucc, beside
from pipelines.loop.loop_settings import PROBES, LoopSettings, training_settings
from pipelines.loop.round_training import fingerprint_of
from pipelines.loop.seed_bitext import seed_files

EVALUATION, TUNING, START = "evaluation", "tuning", "start"


def recorded_files(settings: LoopSettings, evaluation: Sequence[str]) -> list[Input]:
    """Seed, held-out and excluded files (`evaluation`), what benchmarks tune on, gold, and what round 0 starts with."""
    seed = [path for file in seed_files(settings.seed) for path in file.paths]
    gold = [path for files in settings.gold for path in (files.source, files.target, files.gold)]
    by_role = {SEED: seed, EVALUATION: evaluation, TUNING: _tuning_files(settings), GOLD: gold}
    files = [file_input(path, role) for role, paths in by_role.items() for path in dict.fromkeys(paths)]
    return [*files, *_start(settings)]


def _start(settings: LoopSettings) -> list[Input]:
    """The encoder that round 0 begins with, where there is one."""
    start = training_settings(settings, {}, [{"path": "seed.tsv"}], settings.updates).start
    if start is None:
        return []
    folder = start_folder(start)
    if not is_checkpoint(folder):
        raise InputError(f"train.start.encoder: {start.encoder} is not the folder of a trained encoder")
    return [Input(role=START, name=start.encoder, fingerprint=fingerprint_of(folder))]


def _tuning_files(settings: LoopSettings) -> list[str]:
    found: list[str] = []
    for benchmark in settings.benchmarks:
        if not isinstance(benchmark, Bucc):
            continue
        root = Path(settings.data) / benchmark.data
        if benchmark.train is not None:
            found += [str(path) for path in sorted(beside(root, benchmark.train).rglob("*")) if path.is_file()]
        for template in filter(None, (benchmark.seed_pairs, benchmark.lexicon_pairs)):
            if PROBES not in template:
                pattern = str(root / template.replace("{source}", "*").replace("{target}", "*"))
                found += [path for end in COMPRESSIONS for path in matching(pattern + end)]
    return found
