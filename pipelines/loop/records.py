"""What a loop writes down: `state.json` of the whole, `round.json` of each round. Reports are made from these.

loop/
  state.json            the configuration, which rounds are finished, why it stopped
  seed/                 the seed bitext, and the probe pairs, which are never trained on
  text/de, text/en ...  sentences of each language, prepared once
  round-0/              encoder/, round.json
  round-1/              vectors/, graph/, pairs/ made by the encoder of round 0, train/, encoder/, round.json
  control/              encoder/, round.json: as many updates on the seed alone
  best/                 the encoder of the best round
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from mining.errors import InputError
from pipelines.datasets.manifest import Input, changed_inputs, changed_values, read_model, write_model

STATE, ROUND = "state.json", "round.json"
# The rounds that are finished do not depend on these.
FREE_TO_CHANGE = ("max_rounds", "patience", "least_gain", "device", "threads")


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GoldCheck(_Record):
    """Selected pairs between sentences of files whose true pairs are known."""

    mined: int
    correct: int
    gold: int

    @property
    def precision(self) -> float | None:
        return self.correct / self.mined if self.mined else None

    @property
    def recall(self) -> float | None:
        return self.correct / self.gold if self.gold else None


class MinedPair(_Record):
    """What one language pair gave to a round."""

    pair: str
    matched: int = Field(0, description="pairs before any threshold")
    selected: int = Field(0, description="pairs to train on")
    dropped: dict[str, int] = Field(default_factory=dict, description="matched pairs that were not selected, by reason")
    threshold: float | None = None
    target_precision: float | None = None
    estimated_precision: float | None = Field(None, description="of the pairs above the threshold, by probe pairs")
    estimated_true_pairs: float | None = Field(None, description="in the text of the two languages")
    domain_distance: float | None = Field(None, description="0 when the probe pairs are of the domain of the text")
    hard_negatives: int = 0
    refused: str | None = Field(None, description="why nothing was mined: no threshold reaches the target")
    doubt: str | None = Field(None, description="why no precision is claimed of the pairs that were mined")
    gold: GoldCheck | None = None

    @property
    def why_nothing(self) -> str:
        """Why no pair was selected."""
        if self.refused:
            return self.refused
        took = ", ".join(f"{reason} took {rows:,}" for reason, rows in self.dropped.items() if rows)
        return f"none of {self.matched:,} matched pairs is left ({took})" if took else "no pair was matched"

    @property
    def note(self) -> str | None:
        """What must be known of these pairs beside the figures."""
        if self.refused or self.estimated_precision is not None or not self.selected:
            return self.refused
        why = f" ({self.doubt})" if self.doubt else ""
        return f"no precision can be claimed{why}; {self.selected:,} pairs of unknown precision were trained on"


class TrainingRecord(_Record):
    """How the encoder of a round was trained."""

    objective: dict[str, Any]
    start: str = Field(description="`scratch`, or the folder of the encoder whose weights it began with")
    seed_pairs: int
    mined_pairs: int
    seed_weight: float
    updates: int
    examples: int = Field(description="drawn in all updates")
    held_out: float | None = Field(None, description="P@1 on pairs kept out of this round's training data")
    best_update: int = 0


class RoundRecord(_Record):
    """`round.json`: the lineage and the figures of a finished round."""

    round: int | None = Field(description="None for the control")
    parent: str | None = Field(description="fingerprint of the encoder that mined; None for round 0 and the control")
    encoder: str = Field(description="fingerprint of the encoder that was trained")
    mined: tuple[MinedPair, ...] = ()
    training: TrainingRecord
    scores: dict[str, float] = Field(description="by title of the column")
    score: float = Field(description="mean of the scores that decide")
    seconds: dict[str, float] = Field(description="wall-clock seconds by stage; after a kill those of the last try")

    @property
    def minutes(self) -> float:
        return sum(self.seconds.values()) / 60

    @property
    def pairs(self) -> int:
        return sum(pair.selected for pair in self.mined)

    @property
    def estimated_precision(self) -> float | None:
        """Mean over what was mined, weighed by the pairs."""
        known = [(pair.estimated_precision, pair.selected) for pair in self.mined]
        return weighted_mean([(value, weight) for value, weight in known if value is not None])

    @property
    def true_precision(self) -> float | None:
        """Against gold, where there is gold: a lower bound, as gold need not be complete."""
        checks = [pair.gold for pair in self.mined if pair.gold is not None]
        mined = sum(check.mined for check in checks)
        return sum(check.correct for check in checks) / mined if mined else None


class LoopState(_Record):
    """`state.json`."""

    configuration: dict[str, Any]
    inputs: list[Input] = Field(description="the files of the seed, the held-out tests and gold")
    finished: int = Field(0, description="rounds that are finished")
    best: int | None = None
    stopped: str | None = Field(None, description="why the loop ended; None while it goes on")


def weighted_mean(values: list[tuple[float, int]]) -> float | None:
    total = sum(weight for _, weight in values)
    return sum(value * weight for value, weight in values) / total if total else None


def round_folder(out: Path, number: int) -> Path:
    return out / f"round-{number}"


def read_round(folder: Path) -> RoundRecord | None:
    """The record of a finished round, None while it is not."""
    return read_model(str(folder / ROUND), RoundRecord)


def write_round(folder: Path, record: RoundRecord) -> None:
    write_model(str(folder / ROUND), record)


def read_rounds(out: Path) -> list[RoundRecord]:
    """The rounds that are finished, in order; without the control."""
    found: list[RoundRecord] = []
    while (record := read_round(round_folder(out, len(found)))) is not None:
        found.append(record)
    return found


def read_state(out: Path) -> LoopState | None:
    return read_model(str(out / STATE), LoopState)


def write_state(out: Path, state: LoopState) -> None:
    write_model(str(out / STATE), state)


def begin_state(out: Path, configuration: dict[str, Any], inputs: list[Input]) -> LoopState:
    """The state to go on from; a folder of another configuration is refused with what changed."""
    before = read_state(out)
    if before is None:
        if out.is_dir() and any(out.iterdir()):
            raise InputError(f"{out} holds other files and no loop; give an empty or new folder")
        state = LoopState(configuration=configuration, inputs=inputs)
        write_state(out, state)
        return state
    changes = changed_values(_fixed(before.configuration), _fixed(configuration))
    changes = changes or _changed_files(before.inputs, inputs)
    if changes:
        raise InputError(
            f"{out} holds a loop of another configuration ({'; '.join(changes[:5])}); "
            "choose another folder, or go back to the old settings and files to continue it"
        )
    state = before.model_copy(update={"configuration": configuration, "inputs": inputs})
    write_state(out, state)
    return state


def _changed_files(before: list[Input], now: list[Input]) -> list[str]:
    """By role, those that were recorded: an older loop has the seed alone, and takes the others as they are."""
    roles = dict.fromkeys(given.role for given in before)
    sides = [[[given for given in inputs if given.role == role] for inputs in (before, now)] for role in roles]
    return [change for old, new in sides for change in changed_inputs(old, new)]


def _fixed(configuration: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in configuration.items() if key not in FREE_TO_CHANGE}
