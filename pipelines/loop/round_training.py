"""The encoder of a round: trained here or by torchrun, continued after a kill, put in place when it is whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from encoder.checkpoint import FINGERPRINT, is_checkpoint
from encoder.training.session import train
from encoder.training.state import BEST, STATE_FILE, read_facts
from encoder.training.trainer import Observer
from encoder.training.training_settings import TrainSettings
from mining.errors import InputError
from mining.files import atomic_path
from pipelines.datasets.manifest import read_model, write_model
from pipelines.evaluation.dev_score import measure_of
from pipelines.loop.records import TrainingRecord
from pipelines.runners.processes import child_environment

ENCODER, RUN, TRAINING = "encoder", "training", "training.json"


def train_round(
    plan: TrainSettings,
    folder: Path,
    about: TrainingRecord,
    observer: Callable[[Path], Observer],
    *,
    exclude: Sequence[str],
    processes: int = 1,
    report: Callable[[int], None] = lambda groups: None,
) -> TrainingRecord:
    """Train into `folder/encoder`, unless it is there; `about` is completed with how the training went."""
    if is_checkpoint(folder / ENCODER):
        done = read_model(str(folder / TRAINING), TrainingRecord)
        if done is None:
            raise InputError(f"{folder / TRAINING} is missing beside its encoder; delete {folder} to train it again")
        _clear(folder / RUN)
        return done
    run = folder / RUN
    if processes > 1:
        _torchrun(plan, run, exclude, processes)
    else:
        train(plan, run, observer, exclude=exclude, report=report, measure=measure_of(plan.evaluation))
    facts = read_facts(run / STATE_FILE)
    step, pairs, _ = facts["position"]
    record = about.model_copy(
        update={"updates": step, "examples": pairs, "held_out": facts["best"], "best_update": facts["best_step"]}
    )
    write_model(str(folder / TRAINING), record)
    copy_encoder(run / BEST, folder / ENCODER)
    _clear(run)
    return record


def copy_encoder(source: Path, target: Path) -> None:
    """Copy an encoder folder so that a half one is never seen."""
    with atomic_path(target) as temporary:
        shutil.copytree(source, temporary)


def fingerprint_of(encoder: Path) -> str:
    return (encoder / FINGERPRINT).read_text().strip()


def _torchrun(plan: TrainSettings, run: Path, exclude: Sequence[str], processes: int) -> None:
    """`twinlode train` in several processes; what it says goes to the terminal."""
    run.mkdir(parents=True, exist_ok=True)
    config = run / "train.yaml"
    config.write_text(yaml.safe_dump(plan.model_dump(mode="json"), sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command += ["-m", "pipelines.cli", "train", str(config), "--out", str(run)]
    command += [part for path in exclude for part in ("--exclude", path)]
    environment = os.environ | child_environment()
    code = subprocess.run(command, env=environment, check=False).returncode
    if code:
        raise InputError(f"training in {processes} processes ended with exit code {code}; what it said is above")


def _clear(run: Path) -> None:
    """Keep the log of a finished run; its state and second copy of the encoder take three times the encoder's room."""
    (run / STATE_FILE).unlink(missing_ok=True)
    shutil.rmtree(run / BEST, ignore_errors=True)
