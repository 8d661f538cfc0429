"""What each command takes of memory on corpora of a million and more sentences, beside its budget.

`ROWS=1000000 python -m tests.benchmarks memory`; needs ../shared/data/train. Real English sentences and one
translation of each; where there are no more, two of them in a row. Books and documents have the first 60 characters of
each, so that words cost less; vectors are made up. Counted is what processes have of their own (anonymous pages, not
mapped files), in the largest process of a command and in all of them together, ten times a second.
`COMMANDS=prepare,embed` runs only these; what later ones read must be there then (`FOLDER=` is kept). `mine-vectors`,
`review` (of its pairs), `align` and `train` need nothing of the others.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from pipelines.planning.sample_runs import own_bytes
from tests.benchmarks.real_pairs import DATA, Pair, english_pairs

_TWINLODE = [sys.executable, "-m", "pipelines.cli"]
_ASSUME = ("--lang-filter", "assume")
_LANGUAGES = ("--src-lang", "en", "--tgt-lang", "de")
_DIM = 64  # of vectors that are made up
_FURTHER = 104_729  # lines from a sentence to where it stands again: farther than the windows of a plan are long
_CHARACTERS, _DOCUMENT = 60, 100  # of a sentence, sentences of a document
_PAGE = re.compile(rb"open (http://\S+)")
# As many copies as plain text needs: sentences that share a half want twice as many to be told apart. Of fewer
# copies time is saved, hardly memory.
_COPIES = os.environ.get("COPIES", "8")


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
    partitioned = ("--search", "partitioned", "--copies", _COPIES)
    yield Job("graph", "4 GiB", ("graph", *vectors, "--out", place("graph"), *partitioned))
    texts = place("en.txt"), place("xx.txt")
    search = (*partitioned, "--top", str(rows // 2), "--rescore", "off")
    mine = ("mine", *texts, *_LANGUAGES, *_ASSUME, *search, "-o", place("pairs.tsv"), "--work", place("mine"))
    yield Job("mine, all stages", "4 GiB a worker", mine)
    yield Job("report", "-", ("report", place("mine"), "--out", place("report.html")))
    clean = ("clean", place("bitext.tsv"), "-o", place("clean.tsv"), *_LANGUAGES)
    yield Job("clean", "chunks", (*clean, "--set", "filters.language=null"))
    yield from _made_up_jobs(folder, rows)


def _made_up_jobs(folder: Path, rows: int) -> Iterator[Job]:
    """Those that read nothing that other commands wrote but what is among them."""

    def given(kind: str, *names: str) -> Iterator[str]:
        for side, name in zip(("src", "tgt"), names, strict=True):
            yield from (f"--{side}-{kind}", str(folder / name))

    pairs, work = str(folder / "vector-pairs.tsv"), str(folder / "vector-mine")
    inputs = *given("vectors", "en.npy", "xx.npy"), *given("text", "en.txt", "xx.txt")
    search = ("--search", "partitioned", "--copies", "4", "--top", str(rows // 2))
    yield Job("mine-vectors", "4 GiB", ("mine-vectors", *inputs, *search, "-o", pairs, "--work", work))
    yield Job("review", "a sample, the scores", ("review", work))
    yield Job("inspect", "first rows", ("inspect", work))
    for name in ("book", "documents"):
        sides = (str(folder / f"{name}.{lang}.tsv") for lang in ("en", "de"))
        arguments = ("align", *sides, *_LANGUAGES, *_ASSUME, "-o", str(folder / f"{name}.pairs.tsv"))
        yield Job(f"align {name}", "the texts", arguments)
    settings = ("data.corpora.0.path=" + str(folder / "bitext.tsv"), "data.corpora.0.langs=[en,de]", "limits.steps=50")
    chosen = (part for setting in (*settings, *_BAG) for part in ("--set", setting))
    yield Job("train", "a bag", ("train", "configs/ems-tiny.yaml", "--out", str(folder / "run"), *chosen))


_BAG = (
    "subword.vocabulary=16000",
    "model={kind: bag, dim: 256}",
    "batch.pairs=1024",
    "batch.bucket=false",
    "limits.minutes=null",
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
    print(f"## memory, {rows:,} sentences a side\ncommand | budget | largest process, MB | all, MB | CPU s", flush=True)
    for job in jobs(folder, rows):
        command = job.arguments[0]
        if not wanted or command in wanted:
            if command in _INPUTS:
                _INPUTS[command](folder, rows)
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
    parts = [pairs[row], pairs[(row + _FURTHER * again) % len(pairs)]] if again else [pairs[row]]
    return " ".join(part.english for part in parts), " ".join(part.other for part in parts)


def write_vectors(folder: Path, rows: int) -> None:
    """Made-up vectors of the lines of both texts; counterparts are near each other."""
    if (folder / "xx.npy").exists():
        return
    sides = [np.lib.format.open_memmap(folder / f"{side}.npy", "w+", np.float32, (rows, _DIM)) for side in ("en", "xx")]
    draw = np.random.default_rng(0)
    block = 1 << 16
    for first in range(0, rows * 3 // 2, block):
        pairs = draw.standard_normal((block, _DIM), np.float32)
        for side, begin in zip(sides, (0, rows // 2), strict=True):
            start, stop = max(first, begin), min(first + block, begin + rows)
            if start < stop:
                noise = draw.standard_normal((stop - start, _DIM), np.float32)
                side[start - begin : stop - begin] = pairs[start - first : stop - first] + noise / 2


def write_documents(folder: Path, rows: int) -> None:
    """The bitext as two books of short sentences, and as two archives of documents."""
    if (folder / "documents.de.tsv").exists():
        return
    names = [f"{kind}.{lang}.tsv" for kind in ("book", "documents") for lang in ("en", "de")]
    with ExitStack() as stack:
        files = [stack.enter_context((folder / name).open("w", encoding="utf-8")) for name in names]
        bitext = stack.enter_context((folder / "bitext.tsv").open(encoding="utf-8"))
        for number, line in enumerate(bitext):
            for side, text in enumerate(line.rstrip("\n").split("\t")):
                sentence = text[:_CHARACTERS].strip()
                files[side].write(f"book\t{sentence}\n")
                files[2 + side].write(f"{('en', 'de')[side]}/{number // _DOCUMENT}\t{sentence}\n")


_INPUTS = {"mine-vectors": write_vectors, "align": write_documents}


def watched(arguments: tuple[str, ...], log: Path) -> str:
    """Run a command; its largest process, all its processes together, and its CPU seconds."""
    before, largest, together = resource.getrusage(resource.RUSAGE_CHILDREN), 0, 0
    with log.open("ab") as stream:
        process = psutil.Popen([*_TWINLODE, *arguments], stdout=stream, stderr=subprocess.STDOUT)
        while process.poll() is None:
            own = [own_bytes(one.pid) for one in _family(process)]
            largest, together = max(largest, *own, 0), max(together, sum(own))
            time.sleep(0.1)
            if arguments[0] == "review":
                _end_review(process, log)
    if process.returncode:
        return f"failed, exit code {process.returncode}: {log.read_text('utf-8', 'replace').splitlines()[-1]}"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{largest / 1e6:,.0f} | {together / 1e6:,.0f} | {seconds:.0f}"


def _end_review(process: psutil.Popen, log: Path) -> None:
    """Open its page once it is there, as a browser would, and end it."""
    if found := _PAGE.findall(log.read_bytes()[-4096:]):
        with suppress(OSError), urllib.request.urlopen(found[-1].decode()) as page:
            page.read()
            process.send_signal(signal.SIGINT)


def _family(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
