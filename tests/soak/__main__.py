"""`make soak MINUTES=30`: faults at random moments of every command that writes.

After each fault, sometimes after two or three in a row, the command is run again, and must leave bit for bit what an
undisturbed run leaves, and nothing else. Every fault is drawn from the seed and its number, and is a line of the
ledger; a soak that is started again goes on with the next number. What failed is kept in `failures/`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import time
from collections import Counter as Tally
from pathlib import Path
from typing import Any

from tests.soak.arena import Arena
from tests.soak.faults import FAULTS, Usual
from tests.soak.imports import import_everything
from tests.soak.moments import Counter
from tests.soak.outcome import difference
from tests.soak.process import adopt_orphans
from tests.soak.scenarios import SCENARIOS, Scenario

_IN_A_ROW = (1, 2, 3, 4, 5)


class Soak:
    """One soak: a seed, a folder, and what undisturbed runs leave."""

    def __init__(self, root: Path, seed: int, scenarios: list[Scenario], faults: list[str]) -> None:
        self.seed, self.scenarios, self.faults = seed, scenarios, faults
        self.arena, self.ledger = Arena(root), root / "ledger.jsonl"
        self._usual: dict[str, Usual] = {}

    def episode(self, number: int) -> list[dict[str, Any]]:
        """Faults in a row on one command, then a run to its end; a record for each fault."""
        draw = random.Random(f"{self.seed} {number}")
        scenario = draw.choices(self.scenarios, [scenario.weight for scenario in self.scenarios])[0]
        usual = self.usual(scenario)
        self.arena.reset()
        records = []
        for _ in range(draw.choice(_IN_A_ROW)):
            name = draw.choices(self.faults, [FAULTS[fault][0] for fault in self.faults])[0]
            struck = FAULTS[name][1](scenario, self.arena, usual, draw)
            records.append({"episode": number, "command": scenario.name, "fault": name, **struck._asdict()})
            if struck.wrong:
                break
        records[-1]["after"] = records[-1]["wrong"] or self._again(scenario, usual)
        return records

    def _again(self, scenario: Scenario, usual: Usual) -> str:
        """Run the command to its end; what is wrong with what it leaves, if anything."""
        for path in self.arena.temporary.iterdir():  # nobody can clear up after himself who is killed
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        ended = self.arena.run(scenario, 60 + 20 * usual.seconds)
        refused = scenario.once and ended.code == 2 and "exists already" in ended.said
        if (ended.code and not refused) or ended.orphans:
            return f"run again: exit code {ended.code}, {ended.said.strip()[-300:]} {ended.orphans}"
        left = [path for path in self.arena.leftovers() if path not in usual.outcome]
        if left:
            return f"run again, it leaves {', '.join(left[:4])}"
        return difference(usual.outcome, self.arena.outcome())

    def usual(self, scenario: Scenario) -> Usual:
        """What the command does undisturbed, found once; it must do the same twice."""
        if scenario.name not in self._usual:
            first, second = (
                self._undisturbed(scenario),
                self._undisturbed(scenario),
            )  # code may be compiled in the first
            other = difference(first.outcome, second.outcome)
            if other:
                raise SystemExit(f"{scenario.name}: two undisturbed runs differ: {other}")
            self._usual[scenario.name] = second
        return self._usual[scenario.name]

    def _undisturbed(self, scenario: Scenario) -> Usual:
        self.arena.reset()
        counter, before, began = Counter(), self.arena.used(), time.monotonic()
        ended = self.arena.run(scenario, 600, counter)
        seconds = time.monotonic() - began
        left = [path for path in self.arena.leftovers() if path.startswith("TMPDIR")]
        if ended.code or ended.orphans or left:
            raise SystemExit(
                f"{scenario.name}: undisturbed, exit code {ended.code} {ended.orphans} {left}: {ended.said}"
            )
        return Usual(counter.value, seconds, self.arena.used() - before, self.arena.outcome())

    def record(self, records: list[dict[str, Any]]) -> None:
        with self.ledger.open("a") as stream:
            stream.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
        last = records[-1]
        if last["after"]:
            kept = self.arena.root / "failures" / str(last["episode"])
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(self.arena.case, kept / "case", symlinks=True)
            shutil.copytree(self.arena.logs, kept / "logs", symlinks=True)


def read_ledger(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def summary(records: list[dict[str, Any]]) -> str:
    """Faults by command and kind, as a table in Markdown, and every failure."""
    records = [record for record in records if record["struck"] or record.get("after")]
    kinds = [name for name in FAULTS if any(record["fault"] == name for record in records)]
    lines = [f"| command | {' | '.join(kinds)} | all |", f"|---|{'---:|' * (len(kinds) + 1)}"]
    counted = Tally((record["command"], record["fault"]) for record in records)
    for command in [*dict.fromkeys(scenario.name for scenario in SCENARIOS), None]:
        cells = [sum(n for (c, f), n in counted.items() if f == kind and command in (c, None)) for kind in kinds]
        lines.append(f"| {command or 'all'} | {' | '.join(map(str, cells))} | {sum(cells)} |")
    failed = [record for record in records if record.get("after")]
    lines += [
        "",
        f"{len(records):,} faults, {len({r['episode'] for r in records}):,} times run again, {len(failed)} failed",
    ]
    lines += [f"- {r['episode']}: {r['command']}, {r['fault']}, {r['moment']}: {r['after']}" for r in failed]
    return "\n".join(lines)


def main(given: argparse.Namespace) -> int:
    root = Path(given.folder)
    root.mkdir(parents=True, exist_ok=True)
    scenarios = [scenario for scenario in SCENARIOS if not given.command or scenario.name in given.command]
    ledger = read_ledger(root / "ledger.jsonl")
    if given.summary:
        print(summary(ledger))
        return 0
    os.environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "registry", "XDG_CACHE_HOME": "cache", "COLUMNS": "200"}
    import_everything()
    adopt_orphans()
    soak = Soak(root, given.seed, scenarios, given.fault or list(FAULTS))
    print(f"seed {given.seed}; again from the ledger's {len(ledger)} faults" if ledger else f"seed {given.seed}")
    soak.arena.build()
    numbers = given.episode or range(1 + max((record["episode"] for record in ledger), default=0), 10**9)
    deadline, failed, faults = time.monotonic() + 60 * given.minutes, 0, 0
    try:
        for number in numbers:
            if time.monotonic() > deadline:
                break
            records = soak.episode(number)
            if not given.episode:
                soak.record(records)
            faults += sum(record["struck"] for record in records)
            wrong = records[-1]["after"]
            failed += bool(wrong)
            shown = ", ".join(f"{record['fault']} ({record['moment']}: {record['code']})" for record in records)
            print(f"{number} {records[0]['command']}: {shown}{': FAILED: ' + wrong if wrong else ''}", flush=True)
    finally:
        soak.arena.close()
    print(f"{faults} faults, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", default="runs/soak", help="inputs, ledger and failures")
    parser.add_argument("--command", action="append", help="only this one (repeatable)")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="only this one (repeatable)")
    parser.add_argument("--episode", type=int, action="append", help="only this number, without a line in the ledger")
    parser.add_argument("--summary", action="store_true", help="print what the ledger has, as Markdown")
    sys.exit(main(parser.parse_args()))
