"""Where the demo keeps what it makes, and the commands that repeat its steps one by one."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

from pipelines.demo.demo_corpora import DemoCorpora
from pipelines.demo.demo_plan import Plan


class Place(NamedTuple):
    """The files and folders of one demo."""

    folder: Path
    has_encoder: bool = False  # of its own, in place of the default one

    @property
    def configuration(self) -> Path:
        return self.folder / "encoder.yaml"

    @property
    def classifier_configuration(self) -> Path:
        return self.folder / "classifier.yaml"

    @property
    def encoder(self) -> Path:
        return self.folder / "encoder"

    @property
    def best(self) -> Path:
        return self.encoder / "best"

    def pairs(self, language: str) -> Path:
        return self.folder / "pairs" / f"en-{language}.tsv"

    def work(self, language: str) -> Path:
        return self.folder / "work" / f"en-{language}"

    def mined(self, language: str) -> Path:
        return self.folder / "mined" / f"en-{language}.tsv"

    @property
    def learned(self) -> Place:
        """The same files once more, with an encoder that has learned from this text."""
        return Place(self.folder / "round-1", has_encoder=True)


def train_command(place: Place) -> list[str]:
    return ["train", str(place.configuration), "--out", str(place.encoder)]


def classifier_command(place: Place) -> list[str]:
    return ["train-classifier", str(place.classifier_configuration), "--encoder", str(place.best)]


def mine_command(plan: Plan, place: Place, corpora: DemoCorpora) -> list[str]:
    """The mine of one language; given once more, it finds everything done."""
    files = [corpora.english, corpora.other, "--out", place.pairs(corpora.language)]
    about = ["--src-lang", "en", "--tgt-lang", corpora.language, "--lang-filter", "assume"]
    aim = ["--target-precision", plan.precision, "--seed-pairs", corpora.probes]
    encoder = ["--encoder", place.best] if place.has_encoder else []
    return ["mine", *map(str, [*files, *about, *aim, *encoder, "--work", place.work(corpora.language)])]


def step_commands(place: Place, corpora: DemoCorpora) -> list[list[str]]:
    """The stages of a mine one by one, up to the graph, into a folder of their own."""
    steps = str(place.folder / "steps")
    sides = (("src", corpora.english, "en"), ("tgt", corpora.other, corpora.language))
    best = ["--encoder", str(place.best)]
    prepare = [
        ["prepare", str(path), "--lang", lang, *best, "--lang-filter", "assume", "--out", f"{steps}/{name}"]
        for name, path, lang in sides
    ]
    embed = [["embed", f"{steps}/{name}", *best, "--out", f"{steps}/{name}-vectors"] for name, _, _ in sides]
    return [*prepare, *embed, ["graph", f"{steps}/src-vectors", f"{steps}/tgt-vectors", "--out", f"{steps}/graph"]]


def look_commands(place: Place, corpora: DemoCorpora) -> list[list[str]]:
    """What helps to judge the result; the last one serves a page until it is stopped."""
    work = str(place.work(corpora.language))
    return [["report", str(place.folder)], ["inspect", work], ["review", work]]


def show_commands(plan: Plan, place: Place, corpora: Sequence[DemoCorpora], console: Console) -> None:
    """Which file is what, and the commands, ready to be copied."""
    first, learned = corpora[0], place.learned
    name = f"en-{first.language}"
    files = [
        (first.train, "known translations"),
        (first.probes, "pairs to estimate the threshold with, neither trained on nor mined"),
        (first.english.parent, "the two files to mine, and gold.tsv, their true alignment"),
        (place.work(first.language), "sentences, vectors, graph and pairs as datasets"),
        (place.pairs(first.language), "the mined pairs: score, English, other"),
        (learned.best, "the encoder that learned from this text"),
        (learned.folder, "the mined pairs that it learned from, and the same files mined once more"),
    ]
    console.print(f"What there is for {name}, and likewise for every language:")
    for path, what in files:
        console.print(f"  {path}  {what}", soft_wrap=True, highlight=False)
    say("Mine one language, as above:", [mine_command(plan, place, first)], console)
    again = [train_command(learned), classifier_command(learned), mine_command(plan, learned, first)]
    say("Learn from known and mined pairs, and mine again (a finished encoder is not trained again):", again, console)
    say("The stages of a mine one by one:", step_commands(learned, first), console)
    say("Write the report again, look into any folder, and judge pairs yourself:", look_commands(place, first), console)
    own = [["mine", "yours.en.txt", f"yours.{first.language}.txt", "-o", "pairs.tsv"], ["review", "pairs.work"]]
    say("Your own two files, one sentence a line, and then a threshold by your own marks:", own, console)


def say(what: str, commands: Sequence[Sequence[str]], console: Console) -> None:
    """Print commands as they can be typed here."""
    console.print(f"\n{what}")
    for command in commands:
        console.print(f"  {program()} {shlex.join(command)}", style="cyan", soft_wrap=True, highlight=False)


def program() -> str:
    """How to call twinlode: by name where the PATH has it, else the one that is installed beside this Python."""
    if shutil.which("twinlode"):
        return "twinlode"
    installed = Path(sys.executable).with_name("twinlode")
    return str(installed.relative_to(Path.cwd()) if installed.is_relative_to(Path.cwd()) else installed)
