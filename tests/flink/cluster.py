"""A real standalone Flink cluster on loopback: one JobManager and two TaskManagers, each a process of its own.

`python -m tests.flink.cluster` starts one, prints how to run on it, and stops it on Ctrl-C.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.portable.java_cluster import JavaCluster, ask, fetch_jars, free_port, serve

FLINK = "1.19"
TASK_MANAGERS = 2
SLOTS = 2
_RUNTIME = "org.apache.flink.runtime"


class FlinkCluster(JavaCluster):
    """A JobManager with the address of its REST service, TaskManagers, and Beam's job server."""

    def __init__(self) -> None:
        super().__init__(fetch_jars(Path(__file__).with_name("pom.xml"), "flink", FLINK))
        self._started = 0
        rest = free_port()
        self.master = f"localhost:{rest}"
        self._write_configuration(rest)

    def _start_all(self) -> None:
        conf = f"--configDir={self._folder}"
        self._start("jobmanager", f"{_RUNTIME}.entrypoint.StandaloneSessionClusterEntrypoint", conf)
        for _ in range(TASK_MANAGERS):
            self._start_task_manager()
        self._wait(self._has_all_slots)
        here = [f"--flink-master={self.master}", f"--flink-conf-dir={self._folder}"]
        self._start_job_server("org.apache.beam.runners.flink.FlinkJobServerDriver", *here)

    def _start_task_manager(self) -> None:
        runner = f"{_RUNTIME}.taskexecutor.TaskManagerRunner"
        self._start(f"taskmanager{self._started}", runner, f"--configDir={self._folder}")
        self._started += 1

    def replace_task_manager(self) -> None:
        """SIGKILL to the one that runs longest, and another in its place, as where machines are lost."""
        self._kill(next(name for name in self._processes if name.startswith("taskmanager")))
        self._start_task_manager()

    def failures(self) -> int:
        """What Flink has survived or not, over all jobs."""
        jobs = self._ask("jobs")["jobs"]
        return sum(len(self._ask(f"jobs/{job['id']}/exceptions")["exceptionHistory"]["entries"]) for job in jobs)

    def overview(self) -> dict[str, int]:
        return self._ask("overview")

    def _ask(self, what: str) -> Any:
        return ask(f"http://{self.master}/{what}")

    def _has_all_slots(self) -> bool:
        # A TaskManager counts as soon as it registers, its slots only when it has reported them.
        with suppress(OSError, ValueError):
            return self.overview()["slots-total"] == TASK_MANAGERS * SLOTS
        return False

    def _write_configuration(self, rest: int) -> None:
        settings = {
            "jobmanager.rpc.address": "localhost",
            "jobmanager.rpc.port": free_port(),
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
            "restart-strategy.fixed-delay.delay": "8 s",  # and than a Python worker that was killed is kept
            "heartbeat.interval": 2000,
            "heartbeat.timeout": 20000,
            "io.tmp.dirs": self._folder,
            "classloader.resolve-order": "parent-first",
        }
        (self._folder / "config.yaml").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()))


def main() -> None:
    cluster = FlinkCluster()
    serve(cluster, "flink", f"Flink {FLINK} at http://{cluster.master}")


if __name__ == "__main__":
    main()
