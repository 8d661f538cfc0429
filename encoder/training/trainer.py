"""The training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from encoder import distributed
from encoder.data.batches import TrainingBatch, prefetch, training_batches
from encoder.data.sampling import Sampler, SamplerState
from encoder.data.store import Store
from encoder.objectives.objective import Objective
from encoder.training.cache import Encode, backward
from encoder.training.course import Course
from encoder.training.lazy_adam import clip_gradients
from encoder.training.optimizers import make_optimizer, set_learning_rates
from encoder.training.schedule import Position, learning_rate_factor, progress
from encoder.training.state import load_state, read_facts, save_state
from encoder.training.training_settings import TrainSettings
from encoder.training.validation import Validation
from mining.errors import InputError

_DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
_EVALUATIONS = 10  # over a run, when not told how often
_BAD_STEPS = 10  # in a row before giving up


class StepReport(NamedTuple):
    """One update, as the progress bar and the log want it; tensors, because reading them makes a GPU wait."""

    position: Position
    done: float
    learning_rate: float
    loss: Tensor
    parts: dict[str, Tensor]
    pairs: int
    tokens: int


class TrainingResult(NamedTuple):
    position: Position
    start: float | None  # of the validation, for the encoder that training began with
    best: float | None
    best_step: int
    skipped: int  # updates left out because their gradient was not finite
    stopped_early: bool


class Trained(NamedTuple):
    """A finished run."""

    result: TrainingResult
    folder: Path  # the checkpoint
    store: Store
    held_out: int
    examples: int  # in one epoch as limits count it: with those that are held out
    trained_on: int  # without these
    validation: Validation | None  # what the checkpoint is the best by


class Observer(Protocol):
    def noted(self, message: str) -> None: ...
    def resumed(self, position: Position) -> None: ...
    def stepped(self, report: StepReport) -> None: ...
    def evaluated(self, position: Position, name: str, value: float, best: float) -> None: ...
    def warned(self, message: str) -> None: ...


class TrainingTask(NamedTuple):
    """One objective of a run with the examples that it learns from; `name` tells the parts of a mixture apart."""

    name: str
    objective: Objective
    weight: float
    sampler: Sampler


class Job(NamedTuple):
    """What to train, on what, and where to put it."""

    settings: TrainSettings
    model: nn.Module
    tasks: Sequence[TrainingTask]
    validation: Validation | None
    device: torch.device
    state_path: Path
    save_best: Callable[[dict[str, float]], None]
    data: str  # which a resumed run must have, too


class Trainer:
    """Updates until a limit is reached. A run that is started again continues where its state was saved, exactly."""

    def __init__(self, job: Job, observer: Observer) -> None:
        self._job, self._observer = job, observer
        self._settings = job.settings
        objectives = nn.ModuleList(task.objective for task in job.tasks)
        self._modules = nn.ModuleDict({"model": job.model, "objectives": objectives}).to(job.device).train()
        self._encode: Encode = torch.compile(job.model, dynamic=True) if job.settings.compile else job.model
        self._optimizer = make_optimizer(job.settings.optimizer, self._modules)
        mixed = job.device.type == "cuda" and job.settings.precision != "fp32"
        self._dtype = _DTYPES[job.settings.precision] if mixed else None
        self._scaler = torch.amp.GradScaler(job.device.type, enabled=self._dtype == torch.float16)
        self._position = Position(0, 0, 0.0)
        self._sampler_states = [task.sampler.start() for task in job.tasks]
        self._start: float | None = None
        self._best: float | None = None
        self._last: float | None = None
        self._looked_at = 0  # tenth of the run in which objectives were last asked for warnings
        self._first_step = self._best_step = self._stale = self._skipped = self._bad_in_a_row = 0

    def run(self) -> TrainingResult:
        if self._job.state_path.exists():
            self._resume()
        elif self._settings.start is not None and self._settings.start.weights and self._job.validation is not None:
            self._start = self._measure(self._job.validation)
            self._observer.evaluated(self._position, self._job.validation.name, self._start, self._start)
        started = self._now() - self._position.seconds
        done = self._done()
        saved_at = self._position.step
        with ExitStack() as stack:
            batches = [
                stack.enter_context(closing(prefetch(self._source(task, state))))  # type: ignore[type-var]
                for task, state in zip(self._job.tasks, self._sampler_states, strict=True)
            ]
            while done < 1 and not self._out_of_patience():
                self._update(batches, done)
                self._tick(started)
                before, done = done, self._done()
                if self._evaluation_due(before, done):
                    self._evaluate()
                    self._tick(started)
                if self._position.step % self._settings.save_every == 0:
                    self._save()
                    saved_at = self._position.step
        if saved_at != self._position.step:
            self._save()
        self._warn_of_the_course()
        return TrainingResult(self._position, self._start, self._best, self._best_step, self._skipped, done < 1)

    def _source(self, task: TrainingTask, state: SamplerState) -> Iterator[TrainingBatch]:
        settings = self._settings
        drawn = task.sampler.batches(state)
        here, processes = distributed.rank(), distributed.world_size()
        return training_batches(
            task.sampler.examples, drawn, settings.batch.max_tokens, settings.random_seed, here, processes
        )

    def _now(self) -> float:
        return time.process_time() if self._settings.limits.clock == "cpu" else time.monotonic()

    def _tick(self, started: float) -> None:
        seconds = distributed.same_number(self._now() - started, self._job.device)
        self._position = self._position._replace(seconds=seconds)

    def _done(self) -> float:
        return progress(self._position, self._settings.limits, sum(task.sampler.total for task in self._job.tasks))

    def _update(self, batches: Sequence[Iterator[TrainingBatch]], done: float) -> None:
        settings, step = self._settings, self._position.step
        factor = learning_rate_factor(done, step, settings.schedule)
        factor *= math.prod(task.objective.begin(step, done) for task in self._job.tasks)
        set_learning_rates(self._optimizer, factor)
        # Seeded by step rather than run through, so that a resumed run needs no saved generator on any process.
        torch.manual_seed((settings.random_seed << 40) + step * distributed.world_size() + distributed.rank())
        self._optimizer.zero_grad(set_to_none=True)
        loss, parts, pairs, tokens = self._accumulate(batches, done)
        if int(done * _EVALUATIONS) > self._looked_at:
            self._looked_at = int(done * _EVALUATIONS)
            self._warn(parts)
        self._apply()
        self._position = Position(step + 1, self._position.pairs + pairs, self._position.seconds)
        self._observer.stepped(
            StepReport(self._position, done, settings.optimizer.lr * factor, loss, parts, pairs, tokens)
        )

    def _accumulate(
        self, batches: Sequence[Iterator[TrainingBatch]], done: float
    ) -> tuple[Tensor, dict[str, Tensor], int, int]:
        times = self._settings.batch.accumulate
        total = torch.zeros((), device=self._job.device)
        parts: dict[str, Tensor] = {}
        pairs = tokens = 0
        for _ in range(times):
            for number, task in enumerate(self._job.tasks):
                batch, self._sampler_states[number] = next(batches[number])
                share = task.weight / times
                loss = backward(
                    self._encode,
                    task.objective,
                    batch.to(self._job.device),
                    done=done,
                    scale=lambda value, share=share: self._scaler.scale(value * share),  # type: ignore[misc]
                    autocast=self._autocast,
                    chunk=self._settings.batch.chunk,
                )
                total += loss.total.detach() * share
                for name, value in loss.parts.items():
                    name = f"{task.name}.{name}" if task.name else name
                    parts[name] = parts.get(name, 0) + value / times
                pairs += batch.examples * distributed.world_size()
                tokens += len(batch.tokens.ids) * distributed.world_size()
        distributed.average_gradients(self._modules.parameters())
        return distributed.average(total), parts, pairs, tokens

    def _warn(self, parts: dict[str, Tensor]) -> None:
        for task in self._job.tasks:
            start = f"{task.name}." if task.name else ""
            own = {name.removeprefix(start): float(part) for name, part in parts.items() if name.startswith(start)}
            message = task.objective.warning(own)
            if message is not None:
                self._observer.warned(message)

    def _autocast(self) -> AbstractContextManager[None]:
        if self._dtype is None:  # never on a CPU: bfloat16 kills the process on some
            return nullcontext()
        return torch.autocast(self._job.device.type, self._dtype)

    def _apply(self) -> None:
        """The update, unless its gradient is not finite: that one is skipped, and too many in a row end the run."""
        if self._scaler.is_enabled():
            self._scaler.unscale_(self._optimizer)
        norm = clip_gradients(self._modules.parameters(), self._settings.optimizer.clip)
        if torch.isfinite(norm):
            self._scaler.step(self._optimizer)
            self._bad_in_a_row = 0
        else:
            self._skipped += 1
            self._bad_in_a_row += 1
        self._scaler.update()
        if self._bad_in_a_row >= _BAD_STEPS:
            raise InputError(
                f"the gradient has not been finite for {_BAD_STEPS} steps up to step {self._position.step}: "
                f"lower optimizer.lr ({self._settings.optimizer.lr}), or raise schedule.warmup"
            )

    def _evaluation_due(self, before: float, now: float) -> bool:
        if self._job.validation is None:
            return False
        every = self._settings.evaluation.every
        if now >= 1:
            return True
        return self._position.step % every == 0 if every else int(now * _EVALUATIONS) > int(before * _EVALUATIONS)

    def _evaluate(self) -> None:
        validation = self._job.validation
        assert validation is not None
        self._last = value = self._measure(validation)
        self._first_step = self._first_step or self._position.step
        if self._best is None or value > self._best:
            self._best, self._best_step, self._stale = value, self._position.step, 0
            if distributed.rank() == 0:
                self._job.save_best({validation.name: value, "step": self._position.step})
        else:
            self._stale += 1
        self._observer.evaluated(self._position, validation.name, value, self._best)

    def _measure(self, validation: Validation) -> float:
        value = validation.measure(self._job.model) if distributed.rank() == 0 else 0.0
        return distributed.same_number(value, self._job.device)

    def _warn_of_the_course(self) -> None:
        if self._job.validation is None or self._best is None or self._last is None:
            return
        course = Course(self._start, self._first_step, self._best, self._best_step, self._last)
        for message in course.warnings(self._job.validation.title):
            self._observer.warned(message)

    def _out_of_patience(self) -> bool:
        patience = self._settings.evaluation.patience
        return patience is not None and self._stale >= patience

    def _save(self) -> None:
        if distributed.rank() == 0:
            if self._job.validation is None:
                self._job.save_best({"step": self._position.step})
            save_state(self._job.state_path, self._modules, self._optimizer, self._facts())

    def _facts(self) -> dict[str, Any]:
        return {
            "position": self._position,
            "samplers": self._sampler_states,
            "start": self._start,
            "first_step": self._first_step,
            "last": self._last,
            "best": self._best,
            "best_step": self._best_step,
            "stale": self._stale,
            "skipped": self._skipped,
            "scaler": self._scaler.state_dict(),
            "settings": self._settings.model_dump(mode="json"),
            "data": self._job.data,
        }

    def _resume(self) -> None:
        facts = read_facts(self._job.state_path)
        load_state(self._job.state_path, self._modules, self._optimizer)
        self._position = Position(*facts["position"])
        self._sampler_states = [SamplerState(pool, used, tuple(drawn)) for pool, used, drawn in facts["samplers"]]
        self._start, self._last = facts.get("start"), facts.get("last")  # which a run of an earlier version lacks
        self._first_step = facts.get("first_step", 0)
        self._best, self._best_step = facts["best"], facts["best_step"]
        self._stale, self._skipped = facts["stale"], facts["skipped"]
        self._scaler.load_state_dict(facts["scaler"])
        self._observer.resumed(self._position)
