"""Where commands run: a small file system of its own, which can be made too small, around a copy of the inputs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.soak.moments import Counter, at_change
from tests.soak.outcome import leftovers, outcome
from tests.soak.process import Command, Ended, forked
from tests.soak.scenarios import SETUP, Scenario
from tests.soak.world import write_inputs

_ROOMY = 2 << 30


class Arena:
    """`world` has the inputs, `case` the copy that a command works on, `logs` what it said."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.world, self.case, self.logs = self.root / "world", self.root / "case", self.root / "logs"
        self.temporary = self.logs / "tmp"
        for folder in (self.case, self.temporary):
            folder.mkdir(parents=True, exist_ok=True)
        self.mounted = self._mount()

    def build(self) -> None:
        """Make the inputs anew."""
        shutil.rmtree(self.world, ignore_errors=True)
        self._empty()
        if forked(lambda: write_inputs(self.case)):
            raise SystemExit("the inputs could not be made")
        for arguments in SETUP:
            ended = Command(arguments, self.case, self.logs, lambda: None).wait(600)
            if ended.code:
                raise SystemExit(f"twinlode {' '.join(arguments)}: exit code {ended.code}: {ended.said}")
        shutil.copytree(self.case, self.world, symlinks=True)

    def reset(self) -> None:
        """The inputs alone, and room for everything."""
        self.resize(_ROOMY)
        self._empty()
        shutil.copytree(self.world, self.case, symlinks=True, dirs_exist_ok=True)

    def run(self, scenario: Scenario, seconds: float, counter: Counter | None = None) -> Ended:
        """Run the command to its end."""

        def count() -> None:
            if counter is not None:
                at_change(0, self.case, counter, lambda: None)

        command = self.start(scenario, count)
        scenario.drive(command)
        return command.wait(seconds)

    def start(
        self, scenario: Scenario, prepare: Callable[[], None] = lambda: None, logs: Path | None = None
    ) -> Command:
        """Begin the command, after `prepare` in its process."""
        logs = logs or self.logs
        (logs / "tmp").mkdir(parents=True, exist_ok=True)
        return Command(scenario.arguments, self.case, logs, prepare, scenario.stdin)

    def outcome(self) -> dict[str, str]:
        return outcome(self.case)

    def leftovers(self) -> list[str]:
        return leftovers(self.case) + [f"TMPDIR/{path.name}" for path in self.temporary.iterdir()]

    def used(self) -> int:
        found = os.statvfs(self.case)
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def resize(self, size: int) -> None:
        if self.mounted:
            subprocess.run(["mount", "-o", f"remount,size={size}", str(self.case)], check=True)

    def close(self) -> None:
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.case)], check=False)

    def _mount(self) -> bool:
        if self.case.is_mount():
            return True
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_ROOMY}", "soak", str(self.case)], check=False)
        return made.returncode == 0

    def _empty(self) -> None:
        for folder in (self.case, self.temporary):
            for path in folder.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
