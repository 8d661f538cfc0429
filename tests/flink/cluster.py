"""A real standalone Flink cluster on loopback: one JobManager and two TaskManagers, each a process of its own.

`python -m tests.flink.cluster` starts one, prints how to run on it, and stops it on Ctrl-C. Flink's distribution comes
from its PyPI package into a cache folder, never into the environment; Beam's job server comes from Maven Central in
the version of the installed Beam.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import apache_beam

FLINK = "2.2.1"
TASK_MANAGERS = 2
SLOTS = 2
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "twinlode"
# What Flink's start scripts open for its own libraries on Java 17.
_JAVA = [
    "java",
    "-Xmx512m",
    *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "net", "nio", "util")),
]


class Unavailable(Exception):
    """A part of the cluster that cannot be had here, and why."""


def distribution() -> Path:
    """The folder with Flink's jars, installed on first use."""
    folder = CACHE / f"flink-{FLINK}"
    if not (folder / "pyflink" / "lib").is_dir():
        partial = folder.with_suffix(".part")
        shutil.rmtree(partial, ignore_errors=True)
        uv = Path(sys.executable).with_name("uv")
        package = f"apache-flink-libraries=={FLINK}"
        command = [str(uv), "pip", "install", "--quiet", "--no-deps", "--target", str(partial), package]
        _run(command, f"{package} cannot be installed")
        partial.rename(folder)
    return folder / "pyflink"


def job_server_jar() -> Path:
    """Beam's job server for this Flink, of the version of the installed Beam."""
    artifact = f"beam-runners-flink-{FLINK.rpartition('.')[0]}-job-server"
    version = apache_beam.__version__
    jar = CACHE / f"{artifact}-{version}.jar"
    if not jar.exists():
        copy = ["mvn", "--batch-mode", "--quiet", "dependency:copy", f"-DoutputDirectory={CACHE}"]
        _run([*copy, f"-Dartifact=org.apache.beam:{artifact}:{version}"], f"Maven cannot find {artifact} {version}")
    return jar


def _run(command: list[str], problem: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Unavailable(f"{problem}: there is no {command[0]}") from None
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise Unavailable(f"{problem}: {lines[0] if lines else done.returncode}")


class Cluster:
    """The processes of a cluster, and the address of its REST service."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._folder = Path(tempfile.mkdtemp(prefix="twinlode-flink-"))
        self._rpc, rest = free_port(), free_port()
        self.master = f"localhost:{rest}"
        self._write_configuration(rest)

    def __enter__(self) -> Cluster:
        try:
            self._start("jobmanager", "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint")
            for number in range(TASK_MANAGERS):
                self._start(f"taskmanager{number}", "org.apache.flink.runtime.taskexecutor.TaskManagerRunner")
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
        for process in self._processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def process_ids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def overview(self) -> dict[str, int]:
        with urllib.request.urlopen(f"http://{self.master}/overview", timeout=5) as answer:
            return json.load(answer)

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
            "taskmanager.memory.managed.size": "128m",
            "taskmanager.memory.network.min": "64m",
            "taskmanager.memory.network.max": "64m",
            "io.tmp.dirs": self._folder,
        }
        (self._folder / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()))

    def _start(self, name: str, main: str) -> None:
        jars = distribution() / "lib" / "*"
        log = (self._folder / f"{name}.log").open("wb")
        command = [*_JAVA, "-cp", str(jars), main, "--configDir", str(self._folder)]
        self._processes.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))

    def _wait(self, seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for process in self._processes:
                if process.poll() is not None:
                    logs = "".join(path.read_text()[-2000:] for path in sorted(self._folder.glob("*.log")))
                    raise RuntimeError(f"a process of the cluster ended by itself:\n{logs}")
            with suppress(OSError, ValueError):
                if self.overview()["taskmanagers"] == TASK_MANAGERS:
                    return
            time.sleep(0.5)
        raise RuntimeError("the cluster did not start in time")


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("localhost", 0))
        return opened.getsockname()[1]


def main() -> None:
    with Cluster() as cluster:
        print(f"Flink {FLINK} at http://{cluster.master}; Ctrl-C stops it. Run on it:")
        print(f"  twinlode mine ... --runner flink --runner-set master={cluster.master}")
        with suppress(KeyboardInterrupt):
            signal.pause()


if __name__ == "__main__":
    main()
