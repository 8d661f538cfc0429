"""Where a stage runs: one function that takes a root transform to a runner, and its errors back to sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from encoder.settings import apply_override, load_settings, validate_settings
from mining import errors
from mining.errors import InputError
from mining.threads import core_count
from pipelines.runners.clusters import ClusterSettings, DataflowSettings, FlinkSettings, SparkSettings, run_on_cluster
from pipelines.runners.freed_memory import release_memory
from pipelines.runners.progress import Watch, shown

if TYPE_CHECKING:
    import apache_beam as beam

# A worker's exception comes back as text.
_INPUT_ERROR = re.compile(r"\bmining\.errors\.(\w+): (.+?)(?: \[while running '|\\n|\n|$)")
_WHILE_RUNNING = re.compile(r" \[while running '[^']*'\]")


class RunnerSettings(BaseModel):
    """The local runner, and how much of the machine it takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["local"] = "local"
    processes: int | None = Field(
        default=None, ge=1, description="local worker processes; default: at most one for each core"
    )


Runner = RunnerSettings | ClusterSettings
_KINDS: dict[str, type[Runner]] = {
    "local": RunnerSettings,
    "flink": FlinkSettings,
    "spark": SparkSettings,
    "dataflow": DataflowSettings,
}


def load_runner(name: str, overrides: Sequence[str] = ()) -> Runner:
    """A runner by name with its defaults, or from a YAML file that begins with `name:`; `key=value` overrides both."""
    if name in _KINDS:
        tree: dict[str, Any] = {}
        for override in overrides:
            apply_override(tree, override)
        return validate_settings(_KINDS[name], tree, f"runner {name}")
    if not name.endswith((".yaml", ".yml")):
        raise InputError(f"there is no runner {name}; choose {', '.join(_KINDS)}, or give a YAML file of its settings")
    kind = load_settings(_Kind, Path(name), overrides).name
    return load_settings(_KINDS[kind], Path(name), overrides)


class _Kind(BaseModel):
    """The first look at a file of runner settings."""

    name: Literal["local", "flink", "spark", "dataflow"]


def is_cluster(runner: Runner | None) -> bool:
    """Whether workers are somewhere else than in processes of this one."""
    return runner is not None and not isinstance(runner, RunnerSettings)


def worker_threads(runner: Runner | None, threads: int | None) -> int | None:
    """Threads of a worker: as asked for, else one on a cluster, which gives each of its cores a worker of its own."""
    return 1 if threads is None and is_cluster(runner) else threads


class ResourceHints(NamedTuple):
    """What transforms may ask for; where a runner chooses no machines, nothing, which would only split its workers."""

    accelerator: str | None = None
    min_ram: bool = False


NO_HINTS = ResourceHints()


def hints_of(runner: Runner | None) -> ResourceHints:
    """The resource hints that the runner heeds."""
    return ResourceHints(runner.accelerator, True) if isinstance(runner, DataflowSettings) else NO_HINTS


def require_reachable(runner: Runner | None, urls: Iterable[str]) -> None:
    """Refuse local files where workers run on other machines for sure."""
    if isinstance(runner, DataflowSettings):
        runner.require_complete()
        runner.require_remote(urls)


def run(
    transform: Callable[[], beam.PTransform],
    settings: Runner,
    *,
    workers: int,
    watch: Watch | None = None,
    here: Callable[[], None] | None = None,
) -> None:
    """Run a root transform to its end; more than `workers` local workers would not pay for their start.

    One local process needs no engine, whose start takes longer than a small stage: it calls `here`, which does the
    same, if there is one, and then Beam is not imported. An `InputError` on a worker is raised as it was there;
    anything else stays a Beam error.
    """
    with shown(watch), _as_sentences():
        if not isinstance(settings, RunnerSettings):
            run_on_cluster(transform(), settings)
            return
        processes = settings.processes or max(min(core_count(), workers), 1)
        if processes == 1 and here is not None:
            here()
            release_memory()  # what this stage took at most is not what the next one begins with
        else:
            from pipelines.runners.local import run_local

            run_local(transform(), processes)


@contextmanager
def _as_sentences() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise type(error)(_WHILE_RUNNING.sub("", str(error))) from None
    except Exception as error:
        found = _INPUT_ERROR.search(str(error))
        if found is None:
            raise
        kind = getattr(errors, found[1], InputError)
        raise kind(found[2]) from None
