"""A folder where small made-up files bear the names that README, pages and help texts use, and how these are run."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import numpy as np
import yaml
import zstandard
from typer.testing import CliRunner

from encoder.models import TransformerSettings
from encoder.text import TextSettings
from pipelines.cli import app
from pipelines.review.review_session import Session
from tests.encoder.fixtures import write_checkpoint
from tests.pipelines.demo.wheels import THINGS
from tests.pipelines.installed import ENGLISH, GERMAN
from tests.pipelines.loop.corpora import write_world

_SUBJECTS = {
    "Anna": "Anna", "my brother": "mein Bruder", "the teacher": "der Lehrer", "Peter": "Peter", "a farmer": "ein Bauer",
    "our doctor": "unser Arzt", "Maria": "Maria", "the soldier": "der Soldat", "a student": "ein Student",
    "her uncle": "ihr Onkel", "Robert": "Robert", "the queen": "die Königin", "a child": "ein Kind",
}  # fmt: skip
_VERBS = {
    "paints": "malt", "sells": "verkauft", "finds": "findet", "forgets": "vergisst", "needs": "braucht",
}  # fmt: skip
_PLACES = {
    "in Paris": "in Paris", "in the old museum": "im alten Museum", "at school": "in der Schule",
    "on the market": "auf dem Markt", "in the hospital": "im Krankenhaus", "in the kitchen": "in der Küche",
    "in the forest": "im Wald", "in the library": "in der Bibliothek", "at the station": "am Bahnhof",
    "on the island": "auf der Insel", "in winter": "im Winter",
}  # fmt: skip


def _sentence(number: int) -> tuple[str, str]:
    """No two of some thousand are alike, and few share more than one of their parts."""
    parts = [list(part.items())[number % len(part)] for part in (_SUBJECTS, _VERBS, THINGS, _PLACES)]
    (who, wer), (does, tut), (thing, ding), (where, wo) = parts
    return f"{who} {does} the {thing} {where}", f"{wer} {tut} {ding} {wo}"


KNOWN, SHUFFLED = ([_sentence(first + n) for n in range(336)] for first in (0, 336))
TRAINING = {
    "data": {"corpora": [{"path": "known/en-de.tsv"}]},
    "subword": {"vocabulary": 80, "character_coverage": 1.0},
    "model": {"kind": "bag", "dim": 32},
    "objective": {"kind": "ems", "xtr": 0, "projection_dim": 0, "temperature": 0.1},
    "optimizer": {"lr": 0.02, "weight_decay": 0},
    "batch": {"pairs": 64},
    "evaluation": {"pairs": 20, "every": 20, "patience": 3},  # it ends when it has learned
    "limits": {"epochs": 30},
}


def write_lines(path: Path, lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    packed = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, bytes)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(text))


def write_stand_ins(root: Path) -> Path:
    """The folder, with everything that the commands read and `shared/data` beside it."""
    here, shared = root / "main", root / "shared" / "data"
    _write_text(here)
    _write_pairs(here)
    vectors = np.random.default_rng(0).normal(size=(len(SHUFFLED), 1024)).astype(np.float32)
    vectors[:200].tofile(here / "en.bin")
    vectors[239:39:-1].tofile(here / "de.bin")
    for folder in (here / "tatoeba" / "v1", shared / "eval" / "tatoeba-v1"):
        for side, code in enumerate(("eng", "deu")):
            write_lines(folder / f"tatoeba.deu-eng.{code}", [pair[side] for pair in SHUFFLED[:50]])
    _write_configurations(here, root / "world")
    return here


def _write_text(here: Path) -> None:
    english, german = ([pair[side] for pair in SHUFFLED[side * 40 : side * 40 + 200]] for side in (0, 1))
    for name in ("en.txt.gz", "en/a.txt", "en/a.txt.gz"):
        write_lines(here / name, english)
    for name in ("de.txt.gz", "de.txt.zst", "de/a.txt.zst"):
        write_lines(here / name, german[::-1])
    for lang, text in (("en", ENGLISH), ("de", GERMAN)):
        for name in (f"{lang}.txt", f"book.{lang}.txt", f"books/{lang}/one.txt"):
            write_lines(here / name, text.splitlines())


def _write_pairs(here: Path) -> None:
    known = ["\t".join(pair) for pair in KNOWN]
    crawled = [f"{one}\t{other}" for (one, _), (_, other) in zip(SHUFFLED[:40], SHUFFLED[40:], strict=False)]
    for name, lines in {
        "known/en-de.tsv": known,
        "known.tsv": known,
        "bitext/en-de.tsv": known + ["\t".join(pair) for pair in SHUFFLED],
        "crawl.tsv.gz": known[:100] + crawled,
    }.items():
        write_lines(here / name, lines)
    write_lines(here / "eval" / "test.txt", [KNOWN[0][0]])


def _write_configurations(here: Path, world: Path) -> None:
    world.mkdir()
    tatoeba = {"benchmark": "tatoeba", "data": "eval/tatoeba-v1"}
    compared = {
        "minutes": 0.01,
        "train": {key: value for key, value in TRAINING.items() if key not in ("limits", "evaluation")}
        | {"evaluation": {"pairs": 0}},
        "rows": [{"name": "EMS"}, {"name": "mSimCSE", "change": {"objective": {"kind": "msimcse"}}}],
        "data": "../shared/data",
        "benchmarks": [tatoeba],
        "columns": [{"title": "Tatoeba", "benchmark": "tatoeba", "score": "deu P@1"}],
    }
    judged = {"data": {"corpora": [{"path": "bitext/en-de.tsv"}]}, "pairs": 400, "trees": 10}
    for name, tree in {
        "configs/ems-small.yaml": TRAINING,
        "configs/suite-shared.yaml": {"benchmarks": [tatoeba]},
        "configs/loop-shared.yaml": write_world(world) | {"max_rounds": 1, "updates": 60},
        "configs/compare.yaml": compared,
        "classifier.yaml": judged,
    }.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(yaml.safe_dump(tree))


def write_contextual_encoder(folder: Path) -> None:
    """A tiny transformer in the place of one that people download."""
    sizes = TransformerSettings(dim=32, layers=1, heads=2, ffn=32)
    native = write_checkpoint(folder.with_name(f"{folder.name}-native"), sizes, text=TextSettings(segment=False))
    run(["export", str(native), "--format", "sentence-transformers", "--out", str(folder)])


def run(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, f"{shlex.join(arguments)}: {result.output} {result.exception!r}"


def review(work: str, precision: float) -> None:
    """What a person does on the page that `review` serves: all pairs are marked, most of them as right."""
    session = Session(work, 60, precision)
    for number, pair in enumerate(session.sample.sampled):
        session.mark(pair.key, "wrong" if number % 50 == 49 else "right")
