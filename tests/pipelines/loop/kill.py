"""SIGKILL at ten random moments of a small loop: it must end in the same encoders and pairs. `make test-kill`.

Seeded, so that a failure can be had again. The loop is killed, started again and killed again until it ends; when that
is before the tenth kill, another one is begun.
"""

from __future__ import annotations

import logging
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from encoder.settings import validate_settings
from encoder.training.observation import Quiet
from encoder.training.trainer import Observer
from pipelines.datasets.manifest import open_dataset
from pipelines.loop.engine import run_loop
from pipelines.loop.loop_settings import LoopSettings
from pipelines.loop.records import RoundRecord, read_rounds, read_state
from pipelines.runners.runner import RunnerSettings
from tests.pipelines.kill import Run
from tests.pipelines.loop.corpora import write_world

KILLS = 10
# A precision that both language pairs reach: one that is refused leaves no pairs to compare.
CHANGES = {"max_rounds": 1, "rounds": [{"precision": 0.5, "updates": 120}]}


class Silent:
    """Says nothing, but leaves the name of each stage in a file, to tell where a kill struck."""

    def __init__(self, stage: Path) -> None:
        self._stage = stage

    def stage(self, title: str, name: str) -> None:
        self._stage.write_text(f"{title}, {name.split(' ')[0]}")

    def training(self, title: str, folder: Path) -> Observer:
        self._stage.write_text(f"{title}, train")
        return Quiet()

    def finished(self, title: str, record: RoundRecord, again: bool) -> None: ...


def loop(settings: LoopSettings, out: Path) -> Run:
    return Run(lambda: run_loop(settings, out, RunnerSettings(processes=1), Silent(out.with_suffix(".stage"))))


def outcome(out: Path) -> list[object]:
    """Encoders, pairs and scores of all rounds, and the best one; not how long they took."""
    rounds = read_rounds(out)
    state = read_state(out)
    assert state is not None
    pairs = [
        open_dataset(str(out / f"round-{record.round}" / "pairs" / mined.pair), "pairs").fingerprint
        for record in rounds
        for mined in record.mined
        if mined.refused is None
    ]
    records = [(record.encoder, record.parent, record.mined, record.scores) for record in rounds]
    best = (out / "best" / "fingerprint").read_text()
    return [records, pairs, best, state.best, state.stopped]


def main(kills: int = KILLS, seed: int = 0) -> None:
    logging.getLogger().setLevel(logging.ERROR)
    draw = random.Random(seed)
    hits: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = validate_settings(LoopSettings, write_world(folder) | CHANGES, "loop")
        begun = time.monotonic()
        assert loop(settings, folder / "whole").wait() == 0
        longest = (time.monotonic() - begun) / 2
        expected = outcome(folder / "whole")
        assert len(read_rounds(folder / "whole")) == 2, "the undisturbed loop has fewer rounds than it should"
        assert all(mined.refused is None for mined in read_rounds(folder / "whole")[1].mined)
        number, done = 0, 0
        while done < kills:
            out = folder / f"killed{number}"
            run = loop(settings, out)
            time.sleep(draw.uniform(0, longest))
            if run.running():
                run.kill()
                done += 1
                stage = out.with_suffix(".stage")
                hits[stage.read_text() if stage.exists() else "start"] += 1
                print(f"{done}/{kills} killed; so far in {dict(hits)}", flush=True)
            else:
                assert run.wait() == 0, f"{out.name}: a restart failed"
                assert outcome(out) == expected, f"{out.name}: another outcome than undisturbed"
                number += 1
        out = folder / f"killed{number}"
        assert loop(settings, out).wait() == 0, f"{out.name}: the last restart failed"
        assert outcome(out) == expected, f"{out.name}: another outcome than undisturbed"
    print(f"{kills} kills, the same encoders and pairs")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
