"""A real standalone Flink cluster on loopback: one JobManager and two TaskManagers, each a process of its own.

`python -m tests.flink.cluster` starts one, prints how to run on it, and stops it on Ctrl-C. Flink and Beam's job server
come from Maven Central as library jars (`pom.xml`), the newest set that is complete there: Beam 2.62.0 in Java serves
the pinned Beam in Python.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

FLINK = "1.19"
BEAM = "2.62.0"
TASK_MANAGERS = 2
SLOTS = 2
_RUNTIME = "org.apache.flink.runtime"
# Beam's job server sends its whole class path, 200 MB, with every job, though this cluster has the same jars and takes
# half a minute to receive them. There is no option against it, but Beam leaves out what lies in `gradle/wrapper`.
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "twinlode" / "gradle" / "wrapper"
# What Flink's start scripts open for its own libraries on Java 17.
_OPEN = "lang lang.reflect io net nio text time util util.concurrent util.concurrent.atomic util.concurrent.locks"
_JAVA = [
    "java",
    "-Xmx512m",
    # Each lives for a minute or two: what the second compiler and parallel collectors cost is never earned back.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:MaxDirectMemorySize=768m",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
    *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPEN.split()),
]


class Unavailable(Exception):
    """A part of the cluster that cannot be had here, and why."""


def jars() -> Path:
    """The folder with Flink, Beam's runner for it and all that they need, downloaded on first use."""
    folder = CACHE / f"flink-{FLINK}-beam-{BEAM}"
    if not folder.is_dir():
        partial = folder.with_suffix(".part")
        shutil.rmtree(partial, ignore_errors=True)
        pom = Path(__file__).with_name("pom.xml")
        command = ["mvn", "--batch-mode", "--quiet", f"--file={pom}", f"-Dflink={FLINK}", f"-Dbeam={BEAM}"]
        command += ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
        _run(command, f"Maven cannot find Beam {BEAM} for Flink {FLINK}")
        partial.rename(folder)
    return folder


def _run(command: list[str], problem: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    except FileNotFoundError:
        raise Unavailable(f"{problem}: there is no {command[0]}") from None
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{problem} in ten minutes") from None
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise Unavailable(f"{problem}: {lines[0] if lines else done.returncode}")


class Cluster:
    """The processes of a cluster, and the address of its REST service."""

    def __init__(self) -> None:
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._started = 0
        self._folder = Path(tempfile.mkdtemp(prefix="twinlode-flink-"))
        self._rpc, rest, jobs = free_port(), free_port(), free_port()
        self.master = f"localhost:{rest}"
        self.job_endpoint = f"localhost:{jobs}"
        self._write_configuration(rest)

    def __enter__(self) -> Cluster:
        try:
            conf = f"--configDir={self._folder}"
            self._start("jobmanager", f"{_RUNTIME}.entrypoint.StandaloneSessionClusterEntrypoint", conf)
            for number in range(TASK_MANAGERS):
                self._start_task_manager(number)
            self._wait(self._has_all_slots)
            self._start("jobserver", "org.apache.beam.runners.flink.FlinkJobServerDriver", *self._job_server_flags())
            self._wait(lambda: answers(self.job_endpoint))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for process in reversed(self._processes.values()):
            process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def replace_task_manager(self) -> None:
        """SIGKILL to the one that runs longest, and another in its place, as where machines are lost."""
        name = next(name for name in self._processes if name.startswith("taskmanager"))
        victim = self._processes.pop(name)
        victim.kill()
        victim.wait()
        self._start_task_manager(self._started)

    def failures(self) -> int:
        """What Flink has survived or not, over all jobs."""
        jobs = self._ask("jobs")["jobs"]
        return sum(len(self._ask(f"jobs/{job['id']}/exceptions")["exceptionHistory"]["entries"]) for job in jobs)

    def _ask(self, what: str) -> Any:
        with urllib.request.urlopen(f"http://{self.master}/{what}", timeout=5) as answer:
            return json.load(answer)

    def _start_task_manager(self, number: int) -> None:
        self._started = number + 1
        runner = f"{_RUNTIME}.taskexecutor.TaskManagerRunner"
        self._start(f"taskmanager{number}", runner, f"--configDir={self._folder}")

    @property
    def process_ids(self) -> list[int]:
        return [process.pid for process in self._processes.values()]

    def overview(self) -> dict[str, int]:
        return self._ask("overview")

    def _write_configuration(self, rest: int) -> None:
        settings = {
            "jobmanager.rpc.address": "localhost",
            "jobmanager.rpc.port": self._rpc,
            "jobmanager.memory.process.size": "1g",
            "jobmanager.bind-host": "localhost",
            "taskmanager.bind-host": "localhost",
            "taskmanager.host": "localhost",
            "rest.port": rest,
            "rest.bind-address": "localhost",
            "taskmanager.numberOfTaskSlots": SLOTS,
            "parallelism.default": TASK_MANAGERS * SLOTS,
            # Flink's start scripts work these out of the process size; there are none in the package.
            "taskmanager.cpu.cores": 1.0,
            "taskmanager.memory.framework.heap.size": "128m",
            "taskmanager.memory.framework.off-heap.size": "128m",
            "taskmanager.memory.jvm-metaspace.size": "256m",
            "taskmanager.memory.jvm-overhead.min": "192m",
            "taskmanager.memory.jvm-overhead.max": "192m",
            "taskmanager.memory.task.heap.size": "256m",
            "taskmanager.memory.task.off-heap.size": "0b",
            "taskmanager.memory.managed.size": "256m",
            "taskmanager.memory.network.min": "256m",
            "taskmanager.memory.network.max": "256m",
            # The default is 512 for each of a batch job's exchanges.
            "taskmanager.network.sort-shuffle.min-buffers": 64,
            # What is lost with a machine is begun again; a machine that is silent for so long is lost.
            "restart-strategy.type": "fixed-delay",
            # Longer than it takes to learn of the loss, or all attempts ask the lost machine for its part.
            "restart-strategy.fixed-delay.attempts": 12,
            "restart-strategy.fixed-delay.delay": "3 s",
            "heartbeat.interval": 2000,
            "heartbeat.timeout": 20000,
            "io.tmp.dirs": self._folder,
            "classloader.resolve-order": "parent-first",
        }
        (self._folder / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()))

    def _job_server_flags(self) -> list[str]:
        host, port = self.job_endpoint.split(":")
        flags = ["--artifact-port=0", "--expansion-port=0", f"--artifacts-dir={self._folder}/artifacts"]
        flags += [f"--job-host={host}", f"--job-port={port}"]
        return [*flags, f"--flink-master={self.master}", f"--flink-conf-dir={self._folder}"]

    def _start(self, name: str, main: str, *arguments: str) -> None:
        command = [*_JAVA, f"-Djava.io.tmpdir={self._folder}", "-cp", f"{jars()}/*", main, *arguments]
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def _has_all_slots(self) -> bool:
        # A TaskManager counts as soon as it registers, its slots only when it has reported them.
        with suppress(OSError, ValueError):
            return self.overview()["slots-total"] == TASK_MANAGERS * SLOTS
        return False

    def _wait(self, ready: Callable[[], bool], seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while not ready():
            if any(process.poll() is not None for process in self._processes.values()):
                raise RuntimeError(f"a process of the cluster ended by itself:\n{self.logs()}")
            if time.monotonic() > end:
                raise RuntimeError(f"the cluster did not start in time:\n{self.logs()}")
            time.sleep(0.5)

    def logs(self) -> str:
        return "".join(f"{path.name}\n{path.read_text()[-4000:]}\n" for path in sorted(self._folder.glob("*.log")))


def answers(endpoint: str) -> bool:
    """Whether something listens at `host:port`."""
    host, port = endpoint.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("localhost", 0))
        return opened.getsockname()[1]


def main() -> None:
    with Cluster() as cluster:
        print(f"Flink {FLINK} at http://{cluster.master}; Ctrl-C stops it. Run on it:")
        print(f"  twinlode mine ... --runner flink --runner-set job_endpoint={cluster.job_endpoint}")
        with suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
