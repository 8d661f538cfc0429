"""`prepare` on the local runner against the same functions in a plain loop, and where the loop spends its time."""

from __future__ import annotations

import gzip
import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.conftest import SHARED_DATA

SENTENCES = 300_000


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
    path = folder / "corpus.txt"
    with path.open("w") as stream:
        stream.writelines(f"{line}\n" for line in real_lines(count))
    return path


def loop(path: Path, out: Path, detect: bool) -> dict[str, float]:
    """Read, clean, filter, deduplicate and write shards with no Beam and no resume; seconds by step."""
    import pyarrow as pa

    from encoder.normalise import normalise
    from mining.language_id import language_probabilities
    from pipelines.parts import CLEANING, hash_texts
    from pipelines.prepare import PrepareSettings
    from pipelines.readers import Block, ReadSettings, read_block
    from pipelines.sentences import SCHEMA, constant, write_shard

    rows_per_shard = PrepareSettings.model_fields["rows_per_shard"].default
    seconds = dict.fromkeys(("read", "normalise", "language", "deduplicate", "write"), 0.0)
    seen: set[int] = set()
    waiting: list[tuple[int, str]] = []
    shards = 0

    @contextmanager
    def timed(step: str) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        seconds[step] += time.perf_counter() - begin

    def write(rows: list[tuple[int, str]]) -> None:
        nonlocal shards
        count = len(rows)
        ids = pa.array(np.arange(count, dtype=np.uint64) + shards * rows_per_shard)
        lines, texts = pa.array([line for line, _ in rows]), pa.array([text for _, text in rows])
        columns = [ids, constant(str(path), count), lines, pa.nulls(count, pa.string()), constant("en", count), texts]
        write_shard(str(out / f"{shards:05d}.parquet"), pa.table(columns, schema=SCHEMA))
        shards += 1

    batches = read_block(Block(0, str(path), "txt"), ReadSettings(lang="en"))
    while True:
        with timed("read"):
            batch = next(batches, None)
        if batch is None:
            break
        with timed("normalise"):
            texts = normalise(batch.texts, CLEANING)
        with timed("language"):
            kept = language_probabilities(texts, "en") >= 0.05 if detect else map(bool, texts)
        with timed("deduplicate"):
            hashes = hash_texts(iter(texts), len(texts)).tolist()
            for digest, line, text, keep in zip(hashes, batch.lines.tolist(), texts, kept, strict=True):
                if keep and digest not in seen:
                    seen.add(digest)
                    waiting.append((line, text))
        with timed("write"):
            while len(waiting) >= rows_per_shard:
                write(waiting[:rows_per_shard])
                del waiting[:rows_per_shard]
    with timed("write"):
        write(waiting)
    return seconds


def staged(path: Path, out: Path, detect: bool, processes: int) -> float:
    from pipelines.prepare import PrepareSettings, ReadSettings, prepare
    from pipelines.runners import RunnerSettings

    begin = time.perf_counter()
    mode = "detect" if detect else "assume"
    settings = PrepareSettings(inputs=[str(path)], out=str(out), read=ReadSettings(lang="en"), lang_filter=mode)
    prepare(settings, RunnerSettings(processes=processes))
    return time.perf_counter() - begin


def main() -> None:
    logging.getLogger().setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = write_corpus(folder, SENTENCES)
        loop(path, folder / "warm", False)
        for detect in (False, True):
            steps = loop(path, folder / f"loop{detect}", detect)
            alone = sum(steps.values())
            print(f"prepare, {SENTENCES:,} sentences, language filter {'on' if detect else 'off'}")
            print(f"  plain loop            {alone:6.2f} s  {SENTENCES / alone:9,.0f} sentences/s")
            print("    " + ", ".join(f"{step} {seconds:.2f} s" for step, seconds in steps.items()))
            for processes in (1, 2):
                seconds = staged(path, folder / f"staged{detect}{processes}", detect, processes)
                print(
                    f"  local runner, {processes} process {seconds:6.2f} s  {SENTENCES / seconds:9,.0f} sentences/s  "
                    f"{seconds / alone:.2f}x the loop"
                )
