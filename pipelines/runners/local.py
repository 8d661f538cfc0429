"""The local runner: Beam's Fn API runner in this process, or with one worker process for each core."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import apache_beam as beam
import psutil
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms.environments import EmbeddedPythonEnvironment, SubprocessSDKEnvironment

from mining.errors import InputError
from mining.threads import core_count
from pipelines.runners.processes import child_environment

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
# `exec`, because Beam starts workers through a shell, and they must see when we are gone.
_WORKER = f"exec {shlex.quote(sys.executable)} -m pipelines.runners.worker"


def run_local(transform: beam.PTransform, processes: int) -> None:
    """Run to the end with `processes` workers, each with its share of the cores as threads.

    The runner by name: Beam's DirectRunner may hand over to Prism, which downloads a binary.
    """
    options = PipelineOptions([], direct_num_workers=processes)
    if processes == 1:
        runner = FnApiRunner(EmbeddedPythonEnvironment.default())
        with _quiet(), beam.Pipeline(runner=runner, options=options) as pipeline:
            pipeline | transform
        return
    runner = FnApiRunner(SubprocessSDKEnvironment.from_command_string(_WORKER))
    with (
        _quiet(),
        _environment(core_count() // processes),
        _Workers(),
        beam.Pipeline(runner=runner, options=options) as pipeline,
    ):
        pipeline | transform


class _Workers:
    """Ends the worker processes on Ctrl-C, and the run when a worker dies; Beam by itself would wait for ever."""

    def __enter__(self) -> None:
        self._died = False
        self._ending = False
        self._hook = threading.excepthook
        threading.excepthook = self._on_thread_error
        self._in_main = threading.current_thread() is threading.main_thread()
        if self._in_main:
            self._handler = signal.signal(signal.SIGINT, self._on_interrupt)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        threading.excepthook = self._hook
        if self._in_main:
            signal.signal(signal.SIGINT, self._handler)
        if self._died:
            raise InputError(
                "a worker process was killed, most likely for want of memory; "
                "run the same command again to continue, with fewer processes"
            ) from error

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        self._ending = True
        for child in psutil.Process().children(recursive=True):
            if "pipelines.runners.worker" in child.cmdline():
                child.kill()
        raise KeyboardInterrupt

    def _on_thread_error(self, failure: threading.ExceptHookArgs) -> None:
        if self._ending:
            return
        if "Worker subprocess exited" in str(failure.exc_value) and self._in_main:
            self._died = True
            os.kill(os.getpid(), signal.SIGINT)
        else:
            self._hook(failure)


@contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("apache_beam")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _environment(count: int) -> Iterator[None]:
    """For worker processes started inside: where our packages are, and `count` threads each at most."""
    ours = dict.fromkeys(_THREAD_VARIABLES, str(max(count, 1))) | child_environment()
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
