"""What a run tells: a progress bar, `metrics.jsonl`, TensorBoard on request."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from encoder.training.schedule import Position
from encoder.training.trainer import StepReport
from encoder.training.validation import P_AT_1, STS_DEV
from mining.errors import InputError

_LOG_SECONDS = 1.0
_SHORT = {P_AT_1: "P@1", STS_DEV: "STS dev"}  # in the progress bar


class Quiet:
    """An observer that says nothing: other processes, and tests."""

    def noted(self, message: str) -> None: ...
    def resumed(self, position: Position) -> None: ...
    def stepped(self, report: StepReport) -> None: ...
    def evaluated(self, position: Position, name: str, value: float, best: float) -> None: ...
    def warned(self, message: str) -> None: ...
    def close(self) -> None: ...


def unobserved(folder: Path) -> Quiet:
    """The observer of a run that nobody watches."""
    return Quiet()


class RunLog(Quiet):
    """Everything, about once a second; a resumed run continues the same files."""

    def __init__(self, folder: Path, console: Console, *, tensorboard: bool = False) -> None:
        self._path = folder / "metrics.jsonl"
        self._writer = _tensorboard_writer(folder / "tensorboard") if tensorboard else None
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(20),
            TaskProgressColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._task = self._bar.add_task("training", total=1.0, figures="", left="")
        self._mode = "w"
        self._warnings: set[str] = set()
        self._validated = ""
        self._since = self._logged = time.monotonic()
        self._pairs = self._tokens = 0
        self._bar.start()

    def resumed(self, position: Position) -> None:
        """Forget what an interrupted run logged after the state that it resumes from."""
        lines = self._path.read_text(encoding="utf-8").splitlines(keepends=True) if self._path.exists() else []
        if lines and not lines[-1].endswith("\n"):  # cut off when the run was killed
            lines.pop()
        kept = [line for line in lines if json.loads(line)["step"] <= position.step]
        self._path.write_text("".join(kept), encoding="utf-8")
        self._mode = "a"

    def stepped(self, report: StepReport) -> None:
        self._pairs += report.pairs
        self._tokens += report.tokens
        now = time.monotonic()
        if now - self._logged < _LOG_SECONDS and report.position.step > 1 and report.done < 1:
            return
        elapsed = max(now - self._since, 1e-9)
        figures = {
            "loss": float(report.loss),
            **{name: float(value) for name, value in report.parts.items()},
            "learning_rate": report.learning_rate,
            "pairs_per_second": self._pairs / elapsed,
            "tokens_per_second": self._tokens / elapsed,
        }
        self._write(report.position, figures)
        self._show(report, figures)
        self._pairs = self._tokens = 0
        self._since = self._logged = now

    def _show(self, report: StepReport, figures: dict[str, float]) -> None:
        seconds = report.position.seconds
        left = f"{seconds * (1 / report.done - 1) / 60:.1f} min left" if report.done > 0 else ""
        text = (
            f"step {report.position.step} loss {figures['loss']:.3f} {figures['pairs_per_second']:,.0f} pairs/s "
            f"{figures['tokens_per_second']:,.0f} tokens/s{self._validated}"
        )
        self._bar.update(self._task, completed=report.done, figures=text, left=left)

    def evaluated(self, position: Position, name: str, value: float, best: float) -> None:
        self._validated = f" {_SHORT.get(name, 'dev task')} {100 * value:.1f}"
        self._write(position, {name: value, "best": best})
        self._since = time.monotonic()  # an evaluation is not training speed
        self._pairs = self._tokens = 0

    def noted(self, message: str) -> None:
        self._bar.console.print(f"note: {message}", highlight=False, soft_wrap=True)

    def warned(self, message: str) -> None:
        if message not in self._warnings:
            self._warnings.add(message)
            self._bar.console.print(f"warning: {message}", style="yellow", highlight=False, soft_wrap=True)

    def _write(self, position: Position, figures: dict[str, float]) -> None:
        entry = {"step": position.step, "pairs": position.pairs, "seconds": round(position.seconds, 2), **figures}
        try:
            with self._path.open(self._mode, encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise InputError(f"{self._path}: cannot be written ({error.strerror})") from None
        self._mode = "a"
        if self._writer is not None:
            for name, value in figures.items():
                self._writer.add_scalar(name, value, position.step)

    def close(self) -> None:
        self._bar.update(self._task, left="")  # where it is: a run that failed did not come to its end
        self._bar.stop()
        if self._writer is not None:
            self._writer.close()


def _tensorboard_writer(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise InputError("--tensorboard needs the tensorboard package; install it or leave the option out") from None
    return SummaryWriter(str(folder))
