"""Prepare and embed on the local runner against the same functions in a plain loop, and what memory they take.

`python -m tests.benchmarks pipeline`; sizes from the environment: TWINLODE_BENCH_SENTENCES (default: 1,000,000).
"""

from __future__ import annotations

import gzip
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from tests.conftest import SHARED_DATA

SENTENCES = int(os.environ.get("TWINLODE_BENCH_SENTENCES", 1_000_000))
DIM = 256
SAMPLE = 20_000


def real_lines(count: int) -> Iterator[str]:
    """English documentation, each pass over it numbered so that no sentence repeats; synthetic where it is absent."""
    files = sorted(SHARED_DATA.glob("mono/*.en.tsv.gz"))
    texts = [
        line.split("\t")[1] for file in files for line in gzip.decompress(file.read_bytes()).decode().split("\n")[:-1]
    ]
    if not texts:
        rng = np.random.default_rng(0)
        texts = [" ".join(f"w{word}" for word in rng.zipf(1.3, 15) % 50_000) for _ in range(50_000)]
    for i in range(count):
        turn, row = divmod(i, len(texts))
        yield f"{texts[row]} {turn}" if turn else texts[row]


def write_corpus(folder: Path, count: int) -> Path:
    path = folder / f"corpus{count}.txt"
    with path.open("w") as stream:
        stream.writelines(f"{line}\n" for line in real_lines(count))
    return path


def write_encoder(folder: Path) -> Path:
    """A bag with random weights over a SentencePiece model of the corpus's own kind."""
    from types import SimpleNamespace

    from encoder.checkpoint import save_checkpoint
    from encoder.models import BagSettings, build_model
    from encoder.subword import Subword, SubwordSettings, train_subword
    from encoder.text import TextSettings, prepare

    text = TextSettings()
    spm = folder / "spm.model"
    train_subword({"en": prepare(list(real_lines(SAMPLE)), "en", text)}, SubwordSettings(vocabulary=8000), spm)
    model = BagSettings(dim=DIM)
    network = build_model(model, Subword.load(spm).vocabulary)
    save_checkpoint(folder / "encoder", network, SimpleNamespace(model=model, text=text), spm, {})
    return folder / "encoder"


class Clock(dict[str, float]):
    """Seconds by step, from when everything is imported and loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.imported = processor_seconds()

    def add(self, step: str, begin: float) -> float:
        now = time.perf_counter()
        self[step] = self.get(step, 0.0) + now - begin
        return now


def loop(path: Path, encoder: Path, out: Path) -> Clock:
    """The functions of both stages called one after the other: no Beam, no resume, the whole corpus in memory."""
    import pyarrow as pa

    from encoder import Encoder
    from encoder.normalize import normalize
    from mining.language_id import language_probabilities
    from mining.threads import core_count
    from mining.vectors import write_vectors
    from pipelines.datasets.sentences import PIECES, SCHEMA, constant, pieces_column, write_shard
    from pipelines.prepare.parts import CLEANING, hash_texts
    from pipelines.prepare.pieces import load_text_encoder
    from pipelines.prepare.prepare_settings import PrepareSettings
    from pipelines.prepare.readers import Block, ReadSettings, read_block

    size = PrepareSettings.model_fields["rows_per_shard"].default
    least = PrepareSettings.model_fields["lang_probability"].default
    cutter = load_text_encoder(str(encoder))
    model = Encoder.load(encoder, threads=core_count())
    seen: set[int] = set()
    lines: list[int] = []
    texts: list[str] = []
    clock = Clock()
    begin = time.perf_counter()
    for batch in read_block(Block(0, str(path), "txt"), ReadSettings(lang="en")):
        begin = clock.add("read", begin)
        cleaned = normalize(batch.texts, CLEANING)
        begin = clock.add("normalize", begin)
        kept = language_probabilities(cleaned, "en") >= least
        begin = clock.add("language", begin)
        hashes = hash_texts(iter(cleaned), len(cleaned)).tolist()
        for digest, line, text, keep in zip(hashes, batch.lines.tolist(), cleaned, kept.tolist(), strict=True):
            if keep and digest not in seen:
                seen.add(digest)
                lines.append(line)
                texts.append(text)
        begin = clock.add("deduplicate", begin)
    for number, first in enumerate(range(0, len(texts), size)):
        part = texts[first : first + size]
        tokens = cutter.encode(part, "en")
        begin = clock.add("subwords", begin)
        count = len(part)
        ids = np.arange(first, first + count, dtype=np.uint64)
        columns = [pa.array(ids), constant(str(path), count), pa.array(lines[first : first + size])]
        columns += [pa.nulls(count, pa.string()), constant("en", count), pa.array(part)]
        table = pa.table(columns, schema=SCHEMA).append_column(PIECES, pieces_column(tokens))
        write_shard(str(out / f"{number:05d}.parquet"), table)
        begin = clock.add("write sentences", begin)
        vectors = model.encode_tokens(tokens)
        begin = clock.add("embed", begin)
        write_vectors(str(out / f"{number:05d}.arrow"), ids, vectors)
        begin = clock.add("write vectors", begin)
    return clock


def stages(path: Path, encoder: Path, out: Path, processes: int | None) -> Clock:
    """Both stages on the local runner."""
    from pipelines.embed.embed_settings import EmbedSettings
    from pipelines.embed.vector_stage import embed
    from pipelines.prepare.prepare_settings import PrepareSettings
    from pipelines.prepare.readers import ReadSettings
    from pipelines.prepare.sentence_stage import prepare
    from pipelines.runners.runner import RunnerSettings

    clock = Clock()
    read = ReadSettings(lang="en")
    begin = time.perf_counter()
    made = prepare(
        PrepareSettings(inputs=[str(path)], out=str(out / "src"), read=read, encoder=str(encoder)),
        RunnerSettings(processes=processes),
    )
    begin = clock.add("prepare", begin)
    settings = EmbedSettings(sentences=made.url, encoder=str(encoder), out=str(out / "vectors"))
    embed(settings, RunnerSettings(processes=1 if processes else None))
    clock.add("embed", begin)
    return clock


class Peaks(threading.Thread):
    """The largest resident set of this process and of each child, in MB.

    As the kernel keeps it for each process, asked often enough to meet every child. Not `getrusage`, which takes over
    what the parent had before it started the process.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.megabytes: dict[int, float] = {}
        self.start()

    def run(self) -> None:
        while True:
            self.look()
            time.sleep(0.1)

    def look(self) -> None:
        own = psutil.Process()
        for process in (own, *own.children(recursive=True)):
            with suppress(OSError, StopIteration):
                lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
                line = next(line for line in lines if line.startswith("VmHWM"))
                self.megabytes[process.pid] = int(line.split()[1]) / 1024


def processor_seconds() -> float:
    """Of this process and the children that have ended."""
    return sum(os.times()[:4])


class Measured(NamedTuple):
    """What one way of doing it took; on a shared machine the processor's time says more than the clock's."""

    seconds: float
    processor: float
    largest: float  # MB of the largest process
    together: float  # MB of all processes together, each at its peak
    steps: str


def measure(kind: str, path: Path, encoder: Path, out: Path) -> Measured:
    """One way of doing it, in a process of its own so that memory is its own."""
    command = [sys.executable, "-m", "tests.benchmarks.bench_pipeline", kind, str(path), str(encoder), str(out)]
    line = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    seconds, processor, largest, together, steps = line.split("\t")
    return Measured(float(seconds), float(processor), float(largest), float(together), steps)


def one(kind: str, path: str, encoder: str, out: str) -> None:
    logging.getLogger().setLevel(logging.ERROR)
    Path(out).mkdir(parents=True)
    given = Path(path), Path(encoder), Path(out)
    peaks = Peaks()
    clock = loop(*given) if kind == "loop" else stages(*given, None if kind == "local" else 1)
    processor = processor_seconds() - clock.imported
    peaks.look()
    steps = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in clock.items())
    memory = peaks.megabytes.values()
    print(f"{sum(clock.values()):.2f}\t{processor:.2f}\t{max(memory):.0f}\t{sum(memory):.0f}\t{steps}")


def main() -> None:
    sizes = (SENTENCES // 10, SENTENCES)
    found: dict[tuple[str, int], Measured] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        encoder = write_encoder(folder)
        for count in sizes:
            path = write_corpus(folder, count)
            for kind in ("one", "local") if count < SENTENCES else ("loop", "one", "local"):
                one_way = found[kind, count] = measure(kind, path, encoder, folder / f"{kind}{count}")
                print(
                    f"{kind:6} {count:10,} sentences {one_way.seconds:7.1f} s {count / one_way.seconds:9,.0f}/s, "
                    f"processor {one_way.processor:6.1f} s, largest process {one_way.largest:6,.0f} MB, "
                    f"all {one_way.together:6,.0f} MB\n       {one_way.steps}",
                    flush=True,
                )
    loop_way = found["loop", SENTENCES]
    for kind, what in (("one", "one process"), ("local", "as many processes as cores")):
        small, large = (found[kind, count] for count in sizes)
        print(
            f"local runner, {what}: {large.seconds / loop_way.seconds:.2f}x the time of the loop, "
            f"{large.processor / loop_way.processor:.2f}x its processor time; "
            f"largest process {large.largest / small.largest:.2f}x that of a tenth of the sentences"
        )


if __name__ == "__main__":
    one(*sys.argv[1:])
