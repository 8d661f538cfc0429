"""What each command takes of memory on corpora of a million and more sentences, beside its budget.

`ROWS=1000000 python -m tests.benchmarks memory`; needs ../shared/data/train. Real English sentences and one
translation of each; where there are no more, two of them in a row. Counted is what
processes have of their own (anonymous pages, not mapped files), in the largest process of a command and in all of them
together, ten times a second.
`COMMANDS=prepare,embed` runs only these; what later ones read must be there then (`FOLDER=` is kept).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.benchmarks.bench_partitioned import DATA, Pair, english_pairs

_TWINLODE = [sys.executable, "-m", "pipelines.cli"]
_ASSUME = ("--lang-filter", "assume")


class Job(NamedTuple):
    name: str
    budget: str
    arguments: tuple[str, ...]


def jobs(folder: Path, rows: int) -> Iterator[Job]:
    def place(name: str) -> str:
        return str(folder / name)

    sides = (("en", "en.txt"), ("de", "xx.txt"))
    for lang, name in sides:
        arguments = ("prepare", place(name), "--lang", lang, *_ASSUME, "--out", place(f"{lang}-sentences"))
        yield Job(f"prepare {name}", "512 MB for duplicates, a worker", arguments)
    for lang, _ in sides:
        yield Job(f"embed {lang}", "a shard", ("embed", place(f"{lang}-sentences"), "--out", place(f"{lang}-vectors")))
    vectors = place("en-vectors"), place("de-vectors")
    # As many copies as plain text needs: sentences that share a half want twice as many to be told apart. Of fewer
    # copies time is saved, hardly memory.
    partitioned = ("--search", "partitioned", "--copies", os.environ.get("COPIES", "8"))
    yield Job("graph", "4 GiB", ("graph", *vectors, "--out", place("graph"), *partitioned))
    both = ("--src-lang", "en", "--tgt-lang", "de", *_ASSUME)
    texts = place("en.txt"), place("xx.txt")
    search = (*partitioned, "--top", str(rows // 2), "--rescore", "off")
    mine = ("mine", *texts, *both, *search, "-o", place("pairs.tsv"), "--work", place("mine"))
    yield Job("mine, all stages", "4 GiB a worker", mine)
    yield Job("report", "-", ("report", place("mine"), "--out", place("report.html")))
    yield Job(
        "clean",
        "chunks",
        (
            "clean",
            place("bitext.tsv"),
            "-o",
            place("clean.tsv"),
            "--src-lang",
            "en",
            "--tgt-lang",
            "de",
            "--set",
            "filters.language=null",
        ),
    )


def main() -> None:
    if not DATA.exists():
        print(f"## memory: skipped, {DATA} is not here")
        return
    rows = int(os.environ.get("ROWS", "100000"))
    folder = Path(os.environ.get("FOLDER", "runs/memory")) / str(rows)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in os.environ.get("COMMANDS", "").split(",") if name]
    write_texts(folder, rows)
    print(
        f"## memory, {rows:,} sentences a side\ncommand | budget | largest process, MB | all, MB | seconds", flush=True
    )
    for job in jobs(folder, rows):
        if not wanted or job.arguments[0] in wanted:
            print(f"{job.name} | {job.budget} | {watched(job.arguments, folder / 'log.txt')}", flush=True)


def write_texts(folder: Path, rows: int) -> None:
    """`rows` different sentences a side, half of them with a counterpart, and a bitext of as many pairs."""
    if (folder / "bitext.tsv").exists():
        return
    pairs = english_pairs(rows * 3 // 2)
    files = {name: (folder / name).open("w", encoding="utf-8") for name in ("en.txt", "xx.txt", "bitext.tsv")}
    for number in range(rows * 3 // 2):
        english, other = _pair(pairs, number)
        if number < rows:
            files["en.txt"].write(f"{english}\n")
            files["bitext.tsv"].write(f"{english}\t{other}\n")
        if number >= rows // 2:
            files["xx.txt"].write(f"{other}\n")
    for stream in files.values():
        stream.close()


def _pair(pairs: list[Pair], number: int) -> tuple[str, str]:
    """The pair of this number; beyond the last, a pair and one further on, further each time around."""
    again, row = divmod(number, len(pairs))
    parts = [pairs[row], pairs[(row + 7919 * again) % len(pairs)]] if again else [pairs[row]]
    return " ".join(part.english for part in parts), " ".join(part.other for part in parts)


def watched(arguments: tuple[str, ...], log: Path) -> str:
    """Run a command; its largest process, all its processes together, and its seconds."""
    began, largest, together = time.perf_counter(), 0, 0
    with log.open("ab") as stream:
        process = psutil.Popen([*_TWINLODE, *arguments], stdout=stream, stderr=subprocess.STDOUT)
        while process.poll() is None:
            own = [_own_bytes(one) for one in _family(process)]
            largest, together = max(largest, *own, 0), max(together, sum(own))
            time.sleep(0.1)
    if process.returncode:
        return f"failed, exit code {process.returncode}: {log.read_text('utf-8', 'replace').splitlines()[-1]}"
    return f"{largest / 1e6:,.0f} | {together / 1e6:,.0f} | {time.perf_counter() - began:.0f}"


def _family(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _own_bytes(process: psutil.Process) -> int:
    """Anonymous pages: what is neither a file nor shared memory."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")]
    return 1024 * int(found[0]) if found else 0
