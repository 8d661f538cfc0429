"""Small mines on this machine, whose stages are measured one by one: processor time and counted files."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from pydantic import TypeAdapter

from encoder.text import NewWords, TextEncoder
from mining.encodings import Utf8Check, require_no_mark
from mining.errors import InputError
from pipelines.datasets.manifest import Dataset
from pipelines.datasets.side_folders import SideFolders
from pipelines.embed.embed_settings import EmbedSettings
from pipelines.embed.loaded_encoders import load_encoder
from pipelines.embed.vector_stage import embed
from pipelines.graph.graph_settings import GraphSettings
from pipelines.graph.graph_stage import build_graph
from pipelines.mine.job_defaults import PRECISION
from pipelines.mine.mine_settings import MineSettings, ThresholdSettings
from pipelines.mine.pair_stage import mine
from pipelines.mine.rescored_graph import rescoring_of
from pipelines.planning.counted_files import PROTOCOL, Traffic, traffic
from pipelines.planning.plan_settings import PlanSettings
from pipelines.planning.word_growth import WindowSample
from pipelines.prepare.prepare_settings import PrepareSettings
from pipelines.prepare.readers import ReadSettings
from pipelines.prepare.readers.formats import reader_format
from pipelines.prepare.sentence_stage import prepare
from pipelines.runners.runner import RunnerSettings

STAGES = ("prepare", "embed", "graph", "mine")
SIDES = "src", "tgt"
_CHECKED = 999  # lines of a file that tell whether it is text
_REPEATED = 3  # of what takes less than a second
_WORDS = 5000
_CORES = "cpu"  # what a core takes is measured also where there is a GPU, which is measured by itself


class MeasuredRun(NamedTuple):
    """What a stage took: processor time, files, and the most bytes that the process had of its own."""

    seconds: float
    files: Traffic
    memory: int = 0
    begun: int = 0  # bytes that the process had when the stage began
    met: NewWords = NewWords()  # of these seconds, and what is not known of a further text

    @property
    def known_seconds(self) -> float:
        """But for words that were new."""
        return max(self.seconds - self.met.seconds, 0.0)


class SampleRun(NamedTuple):
    """A small mine: lines, shards of a side, sentences and pairs that were left, and what each stage took."""

    lines: int
    shards: int
    rows: int
    pairs: int
    stages: dict[str, MeasuredRun]


class PlainText(NamedTuple):
    """The text of one side; without a language none is detected."""

    file: Path
    lang: str | None


_GIVEN = TypeAdapter(tuple[Path, PlanSettings, list[PlainText]])  # what a new process is told


def write_text(file: Path, lines: Sequence[str], lang: str | None) -> PlainText:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return PlainText(file, lang)


def embed_row_seconds(
    folder: Path, settings: PlanSettings, windows: Sequence[Sequence[str]], lang: str | None
) -> float:
    """What it takes to embed a further sentence, among its neighbours, and to write its vector.

    Windows are shards, so that batches are of one place of the text. The encoder is loaded already: that takes about
    as long as embedding them, and more or less of it.
    """
    folder.mkdir()
    side = write_text(folder / "text.txt", [line for window in windows for line in window], lang)
    asked = text_settings(f"{PROTOCOL}://{folder}/sentences", side, settings)
    shard = max(map(len, windows))
    sentences = prepare(asked.model_copy(update={"rows_per_shard": shard}), RunnerSettings(processes=1))
    loaded, taken = load_encoder(settings.encoder, _CORES, None), []
    for number in range(_REPEATED):
        wanted = EmbedSettings(
            sentences=asked.out, out=f"{PROTOCOL}://{folder}/{number}", encoder=settings.encoder, device=_CORES
        )
        begun = _processor_seconds()
        embed(wanted, RunnerSettings(processes=1), encoder=loaded)
        taken.append(_processor_seconds() - begun)
    return statistics.median(taken) / max(sentences.rows, 1)


def spread_evenly(texts: Sequence[str], count: int) -> Sequence[str]:
    """At most so many of them."""
    return [texts[len(texts) * place // count] for place in range(count)] if len(texts) > count else texts


def run_by_new_process(folder: Path, settings: PlanSettings, sides: Sequence[PlainText]) -> SampleRun:
    """`run_stages` with all that a process has to load first."""
    given = _GIVEN.dump_json((folder, settings, list(sides)))
    command = [sys.executable, "-m", "pipelines.planning.sample_process"]
    made = subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True).stdout
    return TypeAdapter(SampleRun).validate_json(made.splitlines()[-1])


def answer(given: str) -> str:
    """What the new process tells of the run that it was asked for."""
    return TypeAdapter(SampleRun).dump_json(run_stages(*_GIVEN.validate_json(given))).decode()


def run_stages(folder: Path, settings: PlanSettings, sides: Sequence[PlainText]) -> SampleRun:
    """A mine whose files are counted, in this process."""
    folder.mkdir()
    stages = dict.fromkeys(STAGES, MeasuredRun(0.0, Traffic()))
    url, alone, encoder = f"{PROTOCOL}://{folder}", RunnerSettings(processes=1), settings.encoder
    again = rescoring_of(settings.rescore, encoder)
    sentences: list[Dataset] = []
    for name, side in zip(SIDES, sides, strict=True):
        asked = text_settings(f"{url}/{name}", side, settings)
        with measured(stages, "prepare"):
            sentences.append(prepare(asked, alone))
        with measured(stages, "embed"):
            wanted = EmbedSettings(sentences=asked.out, out=f"{url}/{name}-vectors", encoder=encoder, device=_CORES)
            embed(wanted, alone)
    rows = sum(dataset.rows for dataset in sentences)
    with measured(stages, "graph"):
        build_graph(_graph_settings(url, settings), alone)
    corpora = [SideFolders(corpus=f"{url}/{name}") for name in SIDES]
    chosen = MineSettings(
        graph=f"{url}/graph",
        source=corpora[0],
        target=corpora[1],
        out=f"{url}/pairs",
        threshold=ThresholdSettings(precision=PRECISION, in_doubt="classifier"),
        rescore=again,
        rows_per_shard=settings.rows_per_shard,
    )
    with measured(stages, "mine"):
        pairs = mine(chosen, alone)
    lines = sum(dataset.manifest.counters.rows_in for dataset in sentences)
    return SampleRun(lines, len(sentences[0].shards), rows, pairs.rows, stages)


def text_settings(out: str, side: PlainText, settings: PlanSettings) -> PrepareSettings:
    """How the text of a side is prepared."""
    return PrepareSettings(
        inputs=[f"{PROTOCOL}://{side.file}"],
        out=out,
        read=ReadSettings(lang=side.lang or "en"),
        lang_filter="detect" if side.lang else "assume",
        encoder=settings.encoder,
        rows_per_shard=settings.rows_per_shard,
    )


def _graph_settings(url: str, settings: PlanSettings) -> GraphSettings:
    vectors = [SideFolders(corpus=f"{url}/{name}-vectors") for name in SIDES]
    return GraphSettings(
        source=vectors[0],
        target=vectors[1],
        out=f"{url}/graph",
        k=settings.k,
        search=settings.search,
        copies=settings.planned_copies,
        memory=settings.memory,
        device=_CORES,
    )


@contextmanager
def measured(stages: dict[str, MeasuredRun], stage: str) -> Iterator[None]:
    """Adds to a stage what is done meanwhile."""
    seconds, files, before, begun = _processor_seconds(), traffic(), stages[stage], own_bytes()
    met = TextEncoder.met
    with _watched_memory() as most:
        yield
    files = traffic() - files
    total = Traffic(*(a + b for a, b in zip(before.files, files, strict=True)))
    seconds = before.seconds + _processor_seconds() - seconds
    met = before.met + TextEncoder.met - met
    stages[stage] = MeasuredRun(seconds, total, max(before.memory, *most), before.begun or begun, met)


@contextmanager
def _watched_memory() -> Iterator[list[int]]:
    """The most bytes that this process has of its own while a stage runs, looked at twenty times a second."""
    most, ended = [own_bytes()], Event()

    def watch() -> None:
        while not ended.wait(0.05):
            most.append(max(most.pop(), own_bytes()))

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield most
    finally:
        ended.set()
        watcher.join()


def own_bytes(process: int | str = "self") -> int:
    """Anonymous pages of a process: what is neither a file nor shared memory; 0 where the system does not say."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")]
    return 1024 * int(found[0]) if found else 0


def _processor_seconds() -> float:
    """Of this process and of those that it waited for, which the system counts in hundredths alone."""
    return time.process_time() + sum(os.times()[2:4])


class SampledText(NamedTuple):
    """How many lines there are, some of them spread evenly, and some windows of consecutive ones."""

    lines: int
    texts: list[str]
    windows: list[list[str]]


def sampled_lines(urls: Sequence[str], count: int) -> SampledText:
    """At most `count` lines that are not blank."""
    from mining.files import open_decompressed

    kept: list[bytes] = []
    seen, step, windows = 0, 1, WindowSample()
    for url in urls:
        with open_decompressed(url) as stream:
            checked = False
            while lines := stream.readlines(1 << 22):
                if not checked:
                    _require_text(url, lines[:_CHECKED])
                checked = True
                kept += lines[-seen % step :: step]
                seen += len(lines)
                windows.add(lines)
                while len(kept) > 4 * count:
                    kept, step = kept[::2], 2 * step
    texts = [text for line in kept if (text := line.decode("utf-8", "replace").strip())]
    return SampledText(seen, list(spread_evenly(texts, count)), windows.texts())


def _require_text(url: str, lines: Sequence[bytes]) -> None:
    """Refuse what a mine would refuse as no text, and what it would read otherwise than line by line."""
    if reader_format(url) != "txt":
        raise InputError(
            f"{url}: a plan reads plain lines; prepare it (twinlode prepare) and give that folder, or a number of lines"
        )
    require_no_mark(lines[0], url)
    check = Utf8Check(url)
    for number, line in enumerate(lines, 1):
        check.decoded(line, number)
    check.finish(len(lines))


def made_up_lines(count: int, seed: int) -> list[str]:
    """Sentences of made-up words, where only numbers of lines are known."""
    draw = random.Random(seed)
    syllables = ["ba", "do", "ki", "len", "mar", "nu", "per", "ri", "sto", "ta", "ven", "zo"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(_WORDS)]
    return [f"{' '.join(draw.choices(words, k=draw.randint(5, 16)))} {number}" for number in range(count)]
