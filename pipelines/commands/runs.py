"""What commands that train several encoders show: a line of status, the training bar in between."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from encoder.training.observation import RunLog
    from encoder.training.trainer import Observer


class RunStatus:
    """One line for what is being done now; a training has a bar of its own."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._status = console.status("starting")
        self._status.start()
        self._log: RunLog | None = None

    def stage(self, title: str, name: str) -> None:
        self._close_log()
        self._status.start()
        self._status.update(f"{title}: {name}")

    def training(self, title: str, folder: Path) -> Observer:
        from encoder.training.observation import RunLog

        self._status.stop()
        self.console.print(f"{title}: training", highlight=False)
        self._log = RunLog(folder, self.console)
        return self._log

    def close(self) -> None:
        self._close_log()
        self._status.stop()

    def _close_log(self) -> None:
        if self._log is not None:
            self._log.close()
        self._log = None
