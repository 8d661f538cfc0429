"""A standalone cluster on loopback whose parts are Java processes of their own, and Beam's job server for it.

The engine and Beam's runner for it come from Maven Central as library jars, the newest set that is complete there:
Beam 2.62.0 in Java serves the pinned Beam in Python.
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
from typing import Any, Self

import psutil

BEAM = "2.62.0"
# Beam's job servers send their whole class path, 200 MB, with every job, though these clusters have the same jars and
# take half a minute to receive them. There is no option against it, but Beam leaves out what lies in `gradle/wrapper`.
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "twinlode" / "gradle" / "wrapper"
# What the engines' start scripts open for their own libraries on Java 17.
_OPEN = "lang lang.invoke lang.reflect io net nio text time util util.concurrent util.concurrent.atomic"
_OPEN += " util.concurrent.locks"
# Each lives for a minute or two: what the second compiler and parallel collectors cost is never earned back.
SHORT_LIVED = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
_JAVA = [
    "java",
    "-Xmx512m",
    *SHORT_LIVED,
    "-XX:MaxDirectMemorySize=768m",
    *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in ("sun.nio.ch", "sun.nio.cs", "sun.util.calendar")),
    "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
    *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPEN.split()),
]


class Unavailable(Exception):
    """A part of the cluster that cannot be had here, and why."""


def fetch_jars(pom: Path, engine: str, version: str) -> Path:
    """The folder with an engine, Beam's runner for it and all that they need, downloaded on first use."""
    folder = CACHE / f"{engine}-{version}-beam-{BEAM}" / "jars"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix="jars-", dir=folder.parent))  # of this process: another may fetch, too
        command = ["mvn", "--batch-mode", "--quiet", f"--file={pom}", f"-D{engine}={version}", f"-Dbeam={BEAM}"]
        command += ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
        _run(command, f"Maven cannot find Beam {BEAM} for {engine} {version}")
        try:
            partial.rename(folder)
        except OSError:  # the other was first
            shutil.rmtree(partial)
            assert folder.is_dir()
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


class JavaCluster:
    """The processes of a cluster by name; what derives from it says which in `_start_all`."""

    def __init__(self, jars: Path) -> None:
        self._jars = jars
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="twinlode-cluster-"))
        self.job_endpoint = f"localhost:{free_port()}"

    def __enter__(self) -> Self:
        try:
            self._start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start_all(self) -> None:
        raise NotImplementedError

    def __exit__(self, *error: object) -> None:
        for process in reversed(self._processes.values()):
            process.send_signal(signal.SIGTERM)
        for process in self._processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def process_ids(self) -> list[int]:
        return [process.pid for process in self._processes.values()]

    def logs(self) -> str:
        return "".join(f"{path.name}\n{path.read_text()[-4000:]}\n" for path in sorted(self._folder.glob("*.log")))

    def _start(self, name: str, main: str, *arguments: str, flags: tuple[str, ...] = ()) -> None:
        command = [*_JAVA, f"-Djava.io.tmpdir={self._folder}", *flags, "-cp", f"{self._jars}/*", main, *arguments]
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=os.environ | self._environment()
            )

    def _environment(self) -> dict[str, str]:
        return {}

    def _start_job_server(self, main: str, *arguments: str, flags: tuple[str, ...] = ()) -> None:
        host, port = self.job_endpoint.split(":")
        common = ["--artifact-port=0", "--expansion-port=0", f"--artifacts-dir={self._folder}/artifacts"]
        self._start("jobserver", main, f"--job-host={host}", f"--job-port={port}", *common, *arguments, flags=flags)
        self._wait(lambda: answers(self.job_endpoint))

    def _kill(self, name: str) -> None:
        """SIGKILL to a process and all that it has started, as where a machine is lost."""
        victim = self._processes.pop(name)
        for process in [*psutil.Process(victim.pid).children(recursive=True), victim]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        victim.wait()

    def _wait(self, ready: Callable[[], bool], seconds: float = 300) -> None:
        end = time.monotonic() + seconds
        while not ready():
            if any(process.poll() is not None for process in self._processes.values()):
                raise RuntimeError(f"a process of the cluster ended by itself:\n{self.logs()}")
            if time.monotonic() > end:
                raise RuntimeError(f"the cluster did not start in time:\n{self.logs()}")
            time.sleep(0.5)


def ask(url: str) -> Any:
    """The JSON that a service answers with."""
    with urllib.request.urlopen(url, timeout=5) as answer:
        return json.load(answer)


def answers(endpoint: str) -> bool:
    """Whether something listens at `host:port`."""
    host, port = endpoint.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("localhost", 0))
        return opened.getsockname()[1]


def serve(cluster: JavaCluster, runner: str, title: str) -> None:
    """Start a cluster, say how to run on it, and stop it on Ctrl-C."""
    with cluster:
        print(f"{title}; Ctrl-C stops it. Run on it:")
        print(f"  twinlode mine ... --runner {runner} --runner-set job_endpoint={cluster.job_endpoint}")
        with suppress(KeyboardInterrupt):
            signal.pause()
