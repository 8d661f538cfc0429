"""The commands of a soak: each writes, and each must be repeatable whatever happened to it."""

from __future__ import annotations

import json
import re
import signal
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException

from tests.soak.process import Command

_ENGLISH = ("--lang", "en", "--lang-filter", "assume", "--encoder", "encoder")
_BOTH = ("--src-lang", "en", "--tgt-lang", "de", "--lang-filter", "assume", "--encoder", "encoder")
_SHARDS = ("--rows-per-shard", "30")
_MARKS = 12

# What later commands read, made in this order when a soak begins.
SETUP = (
    ("train-classifier", "classifier.yaml", "--encoder", "encoder", "--set", "trees=10"),
    ("prepare", "src.txt", *_ENGLISH, *_SHARDS, "--out", "given/src"),
    ("prepare", "tgt.txt", *_ENGLISH, *_SHARDS, "--out", "given/tgt"),
    ("embed", "given/src", "--encoder", "encoder", "--out", "given/src-vectors"),
    ("embed", "given/tgt", "--encoder", "encoder", "--out", "given/tgt-vectors"),
    ("mine", "src.txt", "tgt.txt", *_BOTH, "--top", "40", "-o", "given/mined.tsv", "--work", "given/mined"),
)


@dataclass(frozen=True)
class Scenario:
    """A command, how often it is chosen (a costly one seldom), and what a user does while it runs."""

    name: str
    arguments: tuple[str, ...]
    weight: int
    drive: Callable[[Command], None] = lambda command: None
    alone: bool = True  # a second run at the same time must be refused
    once: bool = False  # what is there already is refused, too
    stdin: str = "/dev/null"


def _graph(name: str, weight: int, *more: str) -> Scenario:
    arguments = ("graph", "given/src-vectors", "given/tgt-vectors", "--k", "4", "--out", "out", *more)
    return Scenario(name, arguments, weight)


def review_marks(command: Command) -> None:
    """Mark pairs on the page until it is gone, and end the review."""
    address = None
    while address is None and command.running():
        time.sleep(0.01)
        address = re.search(r"open (http\S+)", command.said)
    try:
        page = _get(address[1]) if address else ""
        found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
        data = json.loads(found[1]) if found else {"pairs": []}
        for number, pair in enumerate(data["pairs"][:_MARKS]):
            verdict = "wrong" if number % 5 == 4 else "right"
            _get(address[1], {"action": "mark", "pair": pair["key"], "verdict": verdict})
    except (OSError, HTTPException):
        pass  # the fault hit it
    command.send(signal.SIGTERM)


def _get(url: str, change: dict[str, str] | None = None) -> str:
    body = None if change is None else json.dumps(change).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(answer.read().decode())


SCENARIOS: Sequence[Scenario] = (
    Scenario("prepare", ("prepare", "src.txt", *_ENGLISH, *_SHARDS, "--out", "out"), 12),
    Scenario("embed", ("embed", "given/src", "--encoder", "encoder", "--out", "out"), 12),
    Scenario(
        "embed lines", ("embed", "src.txt", "--lang", "en", "--encoder", "encoder", "-o", "out.npy"), 4, alone=False
    ),
    _graph("graph", 8),
    _graph("graph partitioned", 3, "--search", "partitioned"),
    Scenario(
        "mine",
        ("mine", "src.txt", "tgt.txt", *_BOTH, *_SHARDS, "--top", "40", "-o", "out/pairs.tsv", "--work", "out/work",
         "--rejected", "out/rejected.tsv", "--dataset", "out/hub"),
        6,
    ),
    Scenario(
        "mine workers",
        ("mine", "src.txt", "tgt.txt", *_BOTH, *_SHARDS, "--runner", "local", "--runner-set", "processes=2", "-o",
         "out/pairs.tsv", "--work", "out/work"),
        1,
    ),
    Scenario(
        "mine streams", ("mine", "-", "tgt.txt", *_BOTH, "--top", "40", "-o", "-"), 2, alone=False, stdin="src.txt"
    ),
    Scenario(
        "mine-vectors",
        ("mine-vectors", "--src-vectors", "src.bin", "--tgt-vectors", "tgt.bin", "--dtype", "float32", "--dim", "16",
         "--src-text", "src.lines", "--tgt-text", "tgt.lines", *_SHARDS, "--top", "40", "-o", "out/pairs.jsonl",
         "--candidates", "out/candidates.tsv"),
        6,
    ),
    Scenario(
        "clean",
        ("clean", "bitext.tsv", "-o", "out/clean.tsv", "--encoder", "encoder", "--src-lang", "de", "--tgt-lang", "en",
         "--rejected", "out/rejected.tsv", "--report", "out/report.html", "--work", "out/work"),
        2,
    ),
    Scenario(
        "align",
        ("align", "en", "de", *_BOTH, "-o", "out/pairs.tsv", "--documents", "out/documents.tsv", "--beads",
         "out/beads", "--xces", "out/links.xml", "--parallel", "out/parallel.jsonl", "--report", "out/report.html"),
        2,
        alone=False,
    ),
    Scenario(
        "align stages",
        ("align", "en", "de", *_BOTH, "-o", "out/pairs.tsv", "--runner", "local", "--leftovers", "mine", "--work",
         "out/work"),
        2,
    ),
    Scenario("train", ("train", "train.yaml", "--out", "out"), 5),
    Scenario("loop", ("loop", "loop.yaml", "--out", "out"), 3),
    Scenario("compare", ("compare", "compare.yaml", "--out", "out"), 3),
    Scenario("review", ("review", "given/mined", "--sample", "20"), 8, review_marks),
    Scenario("report", ("report", "given/mined", "--out", "report.html"), 1, alone=False),
    Scenario("demo text", ("demo", "--quick", "--text", "--out", "out"), 2),
    Scenario("export", ("export", "encoder", "--out", "out"), 6, once=True),
    Scenario("quantize", ("export", "encoder", "--quantize", "--out", "out"), 2, once=True),
    Scenario(
        "train-classifier",
        ("train-classifier", "classifier.yaml", "--encoder", "encoder", "--out", "out", "--set", "trees=10"),
        1,
    ),
)  # fmt: skip
