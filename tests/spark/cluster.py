"""A real standalone Spark cluster on loopback: a master and two workers, each a process of its own, as are executors.

`python -m tests.spark.cluster` starts one, prints how to run on it, and stops it on Ctrl-C.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.portable.java_cluster import SHORT_LIVED, JavaCluster, ask, fetch_jars, free_port, serve

SPARK = "3.5.3"
SCALA = "2.12"
WORKERS = 2
CORES = 1
_DEPLOY = "org.apache.spark.deploy"


class SparkCluster(JavaCluster):
    """A master, its workers, and Beam's job server, which is the driver of every job."""

    def __init__(self) -> None:
        super().__init__(fetch_jars(Path(__file__).with_name("pom.xml"), "spark", SPARK))
        self._started = 0
        self._web = free_port()
        self.master = f"spark://localhost:{free_port()}"

    def _start_all(self) -> None:
        port = self.master.rpartition(":")[2]
        self._start("master", f"{_DEPLOY}.master.Master", *self._listen(port, self._web))
        for _ in range(WORKERS):
            self._start_worker()
        self._wait(self._has_all_workers)
        main = "org.apache.beam.runners.spark.SparkJobServerDriver"
        self._start_job_server(main, f"--spark-master-url={self.master}", flags=_DRIVER)

    def _start_worker(self) -> None:
        name = f"worker{self._started}"
        self._started += 1
        takes = ["--cores", str(CORES), "--memory", "1g", "--work-dir", f"{self._folder}/{name}"]
        self._start(name, f"{_DEPLOY}.worker.Worker", *self._listen(0, 0), *takes, self.master)

    @staticmethod
    def _listen(port: object, web: int) -> list[str]:
        return ["--host", "localhost", "--port", str(port), "--webui-port", str(web)]

    def _environment(self) -> dict[str, str]:
        # Workers start executors with the jars in SPARK_HOME/jars.
        home = {"SPARK_HOME": str(self._jars.parent), "SPARK_SCALA_VERSION": SCALA}
        return home | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(self._folder)}

    def replace_worker(self) -> None:
        """SIGKILL to the worker that runs longest and its executor, and another in its place."""
        self._kill(next(name for name in self._processes if name.startswith("worker")))
        self._start_worker()

    def lost_executors(self) -> int:
        """How often Spark has missed an executor in the middle of a job."""
        return self._driver_log().count("ERROR TaskSchedulerImpl: Lost executor")

    def busy_executors(self) -> int:
        """Executors that were given something to do; each job numbers its own from zero."""
        return len(set(re.findall(r"Starting task .*?, executor (\d+),", self._driver_log())))

    def _driver_log(self) -> str:
        return (self._folder / "jobserver.log").read_text()

    def overview(self) -> Any:
        """What the master knows of workers and jobs."""
        return ask(f"http://localhost:{self._web}/json/")

    def _has_all_workers(self) -> bool:
        with suppress(OSError, ValueError):
            return self.overview()["aliveworkers"] == WORKERS
        return False


# Properties of the driver's process are Spark's configuration.
_DRIVER = (
    "-Dspark.ui.enabled=false",
    "-Dspark.driver.host=localhost",
    "-Dspark.executor.memory=512m",
    f"-Dspark.executor.extraJavaOptions={' '.join(SHORT_LIVED)}",
)


def main() -> None:
    cluster = SparkCluster()
    serve(cluster, "spark", f"Spark {SPARK} at {cluster.master}")


if __name__ == "__main__":
    main()
