"""The loop itself: rounds of mining, selecting, training and evaluating, each resumed where it was left."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from encoder.data.exclusion import read_exclusions
from encoder.training.trainer import Observer
from encoder.training.training_settings import TrainSettings
from mining.errors import InputError
from mining.locks import held_beside
from mining.paths import resolve
from pipelines.datasets.manifest import join, read_model
from pipelines.loop.early_checks import check_benchmarks, check_plans, check_text
from pipelines.loop.loop_settings import LoopSettings, RoundSettings, training_settings
from pipelines.loop.pair_selection import Known
from pipelines.loop.recorded_files import recorded_files
from pipelines.loop.records import (
    ROUND,
    STATE,
    LoopState,
    RoundRecord,
    TrainingRecord,
    begin_state,
    read_round,
    round_folder,
    write_round,
    write_state,
)
from pipelines.loop.round_classifier import add_classifier, require_enough
from pipelines.loop.round_mining import Text, mine_round, prepare_text
from pipelines.loop.round_scores import column_scores, deciding_score, evaluate_round, evaluation_files
from pipelines.loop.round_training import ENCODER, TRAINING, copy_encoder, fingerprint_of, train_round
from pipelines.loop.seed_bitext import SeedRecord, make_seed, seed_keys, tokenized_seed, trained_path
from pipelines.loop.stopping import Verdict, judge
from pipelines.loop.training_pairs import TrainingPairs, write_training_pairs
from pipelines.runners.runner import Runner, require_reachable

BEST, CONTROL = "best", "control"


class LoopWatcher(Protocol):
    """Where progress goes; `title` is that of the round."""

    def stage(self, title: str, name: str) -> None: ...
    def training(self, title: str, folder: Path) -> Observer: ...
    def finished(self, title: str, record: RoundRecord, again: bool) -> None: ...


class LoopResult(NamedTuple):
    state: LoopState
    rounds: list[RoundRecord]
    control: RoundRecord | None


class _Trained(NamedTuple):
    """What goes into the training of a round beside the seed."""

    updates: int
    start: dict[str, Any] | None
    change: dict[str, Any]
    seed_weight: float = 1.0
    training: TrainingPairs = TrainingPairs()


def run_loop(settings: LoopSettings, out: Path, runner: Runner | None, watch: LoopWatcher) -> LoopResult:
    """Run or continue the loop in `out`; `best/` is the encoder of the best round."""
    exclude = evaluation_files(settings)
    check_plans(settings)
    inputs = recorded_files(settings, exclude)
    base = settings.shared or str(out)
    require_reachable(runner, [base])
    with held_beside(out):
        state = begin_state(out, settings.model_dump(mode="json"), inputs)
        return _Loop(settings, out, base, runner, watch, exclude).run(state)


@dataclass
class _Clock:
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        begun = time.monotonic()
        yield
        self.seconds[stage] = round(time.monotonic() - begun, 2)


class _Loop:
    def __init__(
        self,
        settings: LoopSettings,
        out: Path,
        base: str,
        runner: Runner | None,
        watch: LoopWatcher,
        exclude: list[str],
    ) -> None:
        self._settings, self._out, self._base = settings, out, base
        self._runner, self._watch, self._exclude = runner, watch, exclude
        self._seed = out / "seed"

    def run(self, state: LoopState) -> LoopResult:
        settings = self._settings
        evaluation = read_exclusions(self._exclude)
        drawn = self._begin(evaluation)
        known = Known(evaluation, {pair: seed_keys(self._seed, pair) for pair in settings.pairs})
        rounds: list[RoundRecord] = []
        best, stop = 0, None
        while stop is None:
            made = self._round(len(rounds), drawn, known)
            if isinstance(made, str):
                stop = f"nothing was mined for round {len(rounds)}: {made}"
            else:
                rounds.append(made)
                best, stop = self._judge(rounds)
            state = state.model_copy(update={"finished": len(rounds), "best": best, "stopped": stop})
            write_state(self._out, state)
        self._export(best)
        control = self._control(rounds, drawn) if settings.control else None
        return LoopResult(state, rounds, control)

    def _begin(self, evaluation: frozenset[int]) -> SeedRecord:
        """Draw the seed and look for mistakes; a folder where nothing was trained is free again after one."""
        try:
            return self._checked_seed(evaluation)
        except InputError:
            if not round_folder(self._out, 0).exists():
                shutil.rmtree(self._seed, ignore_errors=True)
                (self._out / STATE).unlink()
            raise

    def _checked_seed(self, evaluation: frozenset[int]) -> SeedRecord:
        settings, report = self._settings, self._reporter("seed")
        report("draw the seed")
        drawn = make_seed(settings.seed, settings.pairs, self._seed, evaluation, settings.random_seed)
        if settings.classifier is not None:
            require_enough(drawn)
        if not (round_folder(self._out, 0) / ROUND).exists():
            check_text(settings, self._base, report)
            check_benchmarks(settings, self._seed / "probes", report)
        return drawn

    def _judge(self, rounds: list[RoundRecord]) -> Verdict:
        settings = self._settings
        return judge(
            [record.score for record in rounds],
            max_rounds=settings.max_rounds,
            patience=settings.patience,
            least_gain=settings.least_gain,
        )

    def _round(self, number: int, drawn: SeedRecord, known: Known) -> RoundRecord | str:
        """The record of a round, made now unless it was before; or why there is nothing new to train on."""
        folder, title = round_folder(self._out, number), f"round {number}"
        done = read_round(folder)
        if done is not None:
            self._watch.finished(title, done, True)
            return done
        clock = _Clock()
        if number == 0:
            how = _Trained(self._settings.updates, None, {})
            return self._train_and_evaluate(number, title, folder, drawn, how, None, clock)
        parent = round_folder(self._out, number - 1) / ENCODER
        of_round = self._settings.round(number)
        found = self._mine(title, number, parent, known, of_round, clock)
        if not found.pairs:
            return found.why_nothing
        start = {"encoder": str(parent), "weights": of_round.start == "parent"}
        how = _Trained(of_round.updates, start, of_round.change, of_round.seed_weight, found)
        return self._train_and_evaluate(number, title, folder, drawn, how, fingerprint_of(parent), clock)

    def _mine(
        self, title: str, number: int, parent: Path, known: Known, of_round: RoundSettings, clock: _Clock
    ) -> TrainingPairs:
        report = self._reporter(title)
        with clock("prepare"):
            text = self._text(report)
        base = join(self._base, f"round-{number}")
        with clock("mine"):
            encoder = self._published(parent, number - 1)
            mined = mine_round(self._settings, text, base, encoder, of_round.precision, self._runner, report)
        with clock("select"):
            report("select pairs")
            train = round_folder(self._out, number) / "train"
            return write_training_pairs(self._settings, mined, text, known, train, of_round.precision)

    def _text(self, report: Callable[[str], None]) -> Text:
        encoder = self._published(round_folder(self._out, 0) / ENCODER, 0)
        return prepare_text(self._settings, self._base, self._seed, encoder, self._runner, report)

    def _published(self, encoder: Path, number: int) -> str:
        """The encoder where all workers reach it."""
        if self._settings.shared is None:
            return str(encoder)
        url = join(self._base, f"round-{number}", ENCODER)
        filesystem, path = resolve(url)
        if not filesystem.exists(join(path, "fingerprint")):
            for file in sorted(encoder.rglob("*"), key=lambda file: file.name == "fingerprint"):  # which goes last
                if file.is_file():
                    filesystem.makedirs(join(path, *file.relative_to(encoder).parent.parts), exist_ok=True)
                    filesystem.put_file(str(file), join(path, *file.relative_to(encoder).parts))
        return url

    def _train_and_evaluate(
        self,
        number: int | None,
        title: str,
        folder: Path,
        drawn: SeedRecord,
        how: _Trained,
        parent: str | None,
        clock: _Clock,
    ) -> RoundRecord:
        report = self._reporter(title)
        with clock("train"):
            report("prepare training data")
            trained = self._train(title, folder, drawn, how)
        if self._settings.classifier is not None:
            with clock("classifier"):
                report("train the pair classifier")
                add_classifier(self._settings.classifier, folder / ENCODER, self._seed, drawn)
        with clock("evaluate"):
            scores = evaluate_round(self._settings, folder / ENCODER, folder, self._seed / "probes", report)
        columns = column_scores(self._settings.columns, scores)
        record = RoundRecord(
            round=number,
            parent=parent,
            encoder=fingerprint_of(folder / ENCODER),
            mined=how.training.mined,
            training=trained,
            scores=columns,
            score=deciding_score(self._settings, columns),
            seconds=clock.seconds,
        )
        write_round(folder, record)
        self._watch.finished(title, record, False)
        return record

    def _train(self, title: str, folder: Path, drawn: SeedRecord, how: _Trained) -> TrainingRecord:
        plan = self._plan(how)
        about = TrainingRecord(
            objective=plan.objective.model_dump(mode="json"),
            start=plan.start.encoder if plan.start and plan.start.weights else "scratch",
            seed_pairs=drawn.total,
            mined_pairs=how.training.pairs,
            seed_weight=how.seed_weight,
            updates=0,
            examples=0,
        )
        return train_round(
            plan,
            folder,
            about,
            lambda run: self._watch.training(title, run),
            exclude=self._exclude,
            processes=self._settings.processes,
        )

    def _plan(self, how: _Trained) -> TrainSettings:
        corpora: list[dict[str, Any]] = [
            {"path": str(self._seed_file(pair, how)), "weight": how.seed_weight} for pair in self._settings.pairs
        ]
        corpora += how.training.corpora
        more: dict[str, Any] = {} if how.start is None else {"start": how.start}
        plan = training_settings(self._settings, how.change, corpora, how.updates, **more)
        data = plan.data.model_copy(update={"cache": str(self._out / "tokens")})
        return plan.model_copy(update={"data": data})

    def _seed_file(self, pair: str, how: _Trained) -> Path:
        """Round 0 makes the subwords; later ones take the seed as these cut it."""
        if how.start is None:
            return trained_path(self._seed, pair)
        return tokenized_seed(self._seed, pair, str(round_folder(self._out, 0) / ENCODER))

    def _control(self, rounds: list[RoundRecord], drawn: SeedRecord) -> RoundRecord:
        """The same encoder on the seed alone, for as many updates as all rounds had together."""
        updates = sum(record.training.updates for record in rounds)
        folder = self._out / CONTROL
        trained = read_model(str(folder / TRAINING), TrainingRecord)
        if trained is not None and trained.updates != updates:  # the loop was continued for more rounds
            shutil.rmtree(folder)
        done = read_round(folder)
        if done is not None:
            self._watch.finished(CONTROL, done, True)
            return done
        subwords = {"encoder": str(round_folder(self._out, 0) / ENCODER), "weights": False}
        start = self._settings.train.get("start") or subwords  # what round 0 had
        how = _Trained(updates, start, {})
        return self._train_and_evaluate(None, CONTROL, folder, drawn, how, None, _Clock())

    def _export(self, best: int) -> None:
        source, target = round_folder(self._out, best) / ENCODER, self._out / BEST
        if not target.exists() or fingerprint_of(target) != fingerprint_of(source):
            copy_encoder(source, target)

    def _reporter(self, title: str) -> Callable[[str], None]:
        return lambda name: self._watch.stage(title, name)
