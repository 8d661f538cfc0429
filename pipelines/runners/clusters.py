"""Runners beyond this machine: Flink and Spark through Beam's portable runners, and Google Cloud Dataflow."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from mining.errors import InputError
from mining.paths import local_path

if TYPE_CHECKING:
    import apache_beam as beam


Option = bool | int | float | str | list[str]


class BeamSettings(BaseModel):
    """What every cluster shares: any option of Beam or its runner that has no setting of its own here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    options: dict[str, Option] = Field(
        default={}, description="Further pipeline options of Beam by name; they win over the settings here."
    )

    def other_flags(self) -> list[str]:
        return [flag for name, value in self.options.items() for flag in _flags(name, value)]


def _flags(name: str, value: Option) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}"] if value else []
    return [f"--{name}={one}" for one in (value if isinstance(value, list) else [value])]


class PortableSettings(BeamSettings):
    """What Flink and Spark share: where jobs are submitted, and where the Python workers run.

    `LOOPBACK` runs them in the submitting process, for a cluster on the same machine. `EXTERNAL` takes them from a
    worker pool beside each task manager (`python -m apache_beam.runners.worker.worker_pool_main`), whose address is
    `environment_config`. `DOCKER` starts the image `environment_config` on each task manager.
    """

    job_endpoint: str | None = Field(default=None, description="a job server that runs already, host:port")
    job_server_jar: str | None = Field(default=None, description="Beam's job server; from Maven Central unless given")
    environment: Literal["LOOPBACK", "EXTERNAL", "DOCKER"] = Field("LOOPBACK", description="Where Python workers run.")
    environment_config: str | None = Field(None, description="The worker pool's address, or the image.")
    worker_processes: int = Field(
        default=1, ge=0, description="Python processes on each task manager; 0 for one a core. Threads share a GIL."
    )

    def common_flags(self) -> list[str]:
        flags = [f"--environment_type={self.environment}"]
        if self.environment_config:
            flags.append(f"--environment_config={self.environment_config}")
        if self.job_endpoint:
            flags += ["--runner=PortableRunner", f"--job_endpoint={self.job_endpoint}"]
        # Else each of a pipeline's many stages would start Python, and torch, anew.
        return [*flags, f"--sdk_worker_parallelism={self.worker_processes}", "--environment_cache_millis=600000"]


class FlinkSettings(PortableSettings):
    """A Flink cluster by the address of its REST service."""

    name: Literal["flink"] = "flink"
    master: str = Field("localhost:8081", description="Address of its REST service.")
    version: Literal["1.19", "1.20", "2.0", "2.1", "2.2"] = Field(
        "1.19", description="Of the cluster; Beam's job server is taken for it."
    )
    parallelism: int | None = Field(default=None, ge=1, description="Workers; Flink's own default when not given.")

    def flags(self) -> list[str]:
        flags = self.common_flags()
        flags += [f"--parallelism={self.parallelism}"] if self.parallelism else []
        if not self.job_endpoint:
            flags += ["--runner=FlinkRunner", f"--flink_master={self.master}", f"--flink_version={self.version}"]
            flags += [f"--flink_job_server_jar={self.job_server_jar}"] if self.job_server_jar else []
        return [*flags, *self.other_flags()]


class SparkSettings(PortableSettings):
    """A Spark cluster by its master."""

    name: Literal["spark"] = "spark"
    master: str = Field("spark://localhost:7077", description="Address of its master.")

    def flags(self) -> list[str]:
        flags = self.common_flags()
        if not self.job_endpoint:
            flags += ["--runner=SparkRunner", f"--spark_master_url={self.master}"]
            flags += [f"--spark_job_server_jar={self.job_server_jar}"] if self.job_server_jar else []
        return [*flags, *self.other_flags()]


_NEEDED = {
    "project": "the Google Cloud project that pays",
    "region": "the region that the workers run in, such as europe-west4",
    "temp_location": "a gs:// folder for Beam's own files",
    "container": "the worker image, built from configs/runners/dataflow/Dockerfile",
}


class DataflowSettings(BeamSettings):
    """Google Cloud Dataflow, with a worker process for each core; those of a machine share one encoder on its
    accelerator, which only `Embed` and `Graph` ask for."""

    name: Literal["dataflow"] = "dataflow"
    project: str | None = Field(None, description="The Google Cloud project that pays.")
    region: str | None = Field(None, description="Where workers run, such as europe-west4.")
    temp_location: str | None = Field(None, description="A gs:// folder for Beam's own files.")
    container: str | None = Field(None, description="The worker image.")
    machine_type: str | None = Field(
        "n1-standard-8", description="Of the workers; null where Dataflow Prime chooses it by the steps' hints."
    )
    accelerator: str = Field(
        "type:nvidia-tesla-t4;count:1;install-nvidia-driver", description="Asked for by embed and graph alone."
    )
    max_workers: int = Field(default=16, ge=1, description="Most machines.")
    disk_gb: int = Field(default=100, ge=20, description="Disk of each.")
    harness_threads: int = Field(
        default=2,
        ge=1,
        description="Work items of a process at the same time: one is read or written while another is computed.",
    )
    service_account: str | None = Field(None, description="That workers run as; the project's own when not given.")
    network: str | None = Field(None, description="Of the workers; the project's own when not given.")
    subnetwork: str | None = Field(None, description="Of the workers, as regions/REGION/subnetworks/NAME.")
    job_name: str | None = Field(None, description="Beam makes one up when not given.")

    def flags(self) -> list[str]:
        self.require_complete()
        flags = {
            "runner": "DataflowRunner",
            "project": self.project,
            "region": self.region,
            "temp_location": self.temp_location,
            "sdk_container_image": self.container,
            "sdk_location": "container",
            "machine_type": self.machine_type,
            "max_num_workers": self.max_workers,
            "disk_size_gb": self.disk_gb,
            "number_of_worker_harness_threads": self.harness_threads,
            "service_account_email": self.service_account,
            "network": self.network,
            "subnetwork": self.subnetwork,
            "job_name": self.job_name,
        }
        return [f"--{name}={value}" for name, value in flags.items() if value is not None] + self.other_flags()

    def require_complete(self) -> None:
        """One sentence for each setting that is missing."""
        missing = [f"`{name}` is missing: {what}" for name, what in _NEEDED.items() if not getattr(self, name)]
        if self.temp_location and not self.temp_location.startswith("gs://"):
            missing.append(f"`temp_location` must be a gs:// folder, not {self.temp_location}")
        if missing:
            raise InputError(f"dataflow: {'; '.join(missing)}; set them in configs/runners/dataflow.yaml")

    def require_remote(self, urls: Iterable[str]) -> None:
        """Refuse files that a worker in the cloud cannot read."""
        for url in urls:
            if local_path(url) is not None:
                raise InputError(f"{url} is on this machine, where Dataflow workers cannot reach it; give a gs:// URL")


# What Beam says when it cannot start a job server of its own, and what that means.
_NO_JOB_SERVER = {
    "Unable to fetch remote job server jar": "Beam's job server for this version cannot be fetched from Maven Central",
    "Unable to parse jar URL": "there is no such job server file",
    "Java must be installed": "Beam's job server needs Java, which is not installed here",
    "Java is not correctly installed": "Beam's job server needs Java, and there is none in JAVA_HOME",
}

ClusterSettings = FlinkSettings | SparkSettings | DataflowSettings


def run_on_cluster(transform: beam.PTransform, settings: ClusterSettings) -> None:
    """Run a root transform to its end."""
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions

    flags = settings.flags()
    if isinstance(settings, DataflowSettings):
        _require_gcp()
    elif settings.job_endpoint:
        _require_answer(settings.job_endpoint)
    with _job_server_errors(settings), beam.Pipeline(options=PipelineOptions(flags)) as pipeline:
        pipeline | transform


@contextmanager
def _job_server_errors(settings: ClusterSettings) -> Iterator[None]:
    """Beam starts a Java job server unless given the address of one; what is missing for that becomes one sentence."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        found = next((what for sign, what in _NO_JOB_SERVER.items() if sign in str(error)), None)
        if found is None:
            raise
        raise InputError(
            f"{settings.name}: {found}; give the address of one that runs (--runner-set job_endpoint=host:port) "
            "or a downloaded one (--runner-set job_server_jar=FILE)"
        ) from None


def _require_answer(endpoint: str) -> None:
    """Beam would wait for minutes, and then say nothing of the address."""
    host, colon, port = endpoint.rpartition(":")
    if not colon or not port.isdecimal():
        raise InputError(f"job_endpoint {endpoint}: write it as host:port")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise InputError(f"job_endpoint {endpoint}: no job server answers there ({error}); start one") from None


def _require_gcp() -> None:
    if not all(find_spec(name) for name in ("apitools", "gcsfs")):
        raise InputError("Dataflow needs Google's libraries: pip install 'twinlode[gcp]'")
