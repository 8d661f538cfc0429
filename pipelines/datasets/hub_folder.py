"""Pairs as a folder that Hugging Face's `datasets` loads: `data/train-00000-of-0000N.parquet`, and a card."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from encoder.cards import CARD, TAG, markdown_table, write_card
from mining import __version__
from mining.errors import InputError
from mining.files import atomic_text, atomic_writer
from mining.pairs import conform
from mining.paths import exists, local_path, open_url, resolve
from mining.temporary_files import remove_leftovers

ROWS_PER_FILE = 1_000_000


class Columns(StrEnum):
    """Names that the texts have, after conventions in use."""

    src_trg = "src_text"
    sentences = "sentence1"
    translation = "translation"


class HubFolder(NamedTuple):
    """Where a folder goes, what its columns are called, and the languages of its pairs."""

    url: str
    columns: Columns
    languages: tuple[str, str]

    def check(self) -> None:
        """Refuse a folder with something else in it before hours of work, not after."""
        filesystem, path = resolve(self.url)
        local = local_path(self.url)
        if local is not None:
            remove_leftovers(Path(local))
        if not filesystem.exists(path) or not filesystem.ls(path):
            return
        if not exists(f"{self.url}/{CARD}") or TAG not in _read(f"{self.url}/{CARD}"):
            raise InputError(f"{self.url} holds something else than a dataset of ours; choose a new folder")

    def write(self, pairs: Iterable[pa.Table | pa.RecordBatch], rows: int, how: Sequence[tuple[str, str]]) -> None:
        """Write this many pairs, and a card that tells how they were made; an earlier dataset of ours is replaced."""
        self._clear()
        with atomic_text(f"{self.url}/{CARD}") as card:  # by which a run that was killed knows its own folder
            card.write(f"---\ntags: [{TAG}]\n---\n\nThis dataset is not whole yet: it is being written.\n")
        files = max(1, -(-rows // ROWS_PER_FILE))
        named = map(self._named, pairs)
        for number, tables in enumerate(_files(named, files)):
            url = f"{self.url}/data/train-{number:05d}-of-{files:05d}.parquet"
            with ExitStack() as stack:
                stream = stack.enter_context(atomic_writer(url))
                writer = stack.enter_context(pq.ParquetWriter(stream, self.schema, compression="zstd"))
                for table in tables:
                    writer.write_table(table)
        self._write_card(rows, how)

    @property
    def schema(self) -> pa.Schema:
        text = pa.string()
        if self.columns is Columns.sentences:  # what trains on it takes every column for a text
            return pa.schema({"sentence1": text, "sentence2": text})
        if self.columns is Columns.translation:
            both = pa.struct(dict.fromkeys(sorted(self.languages), text))  # in the order that `datasets` expects
            feature = {"languages": list(self.languages), "_type": "Translation"}
            score = {"dtype": "float32", "_type": "Value"}
            info = {"info": {"features": {"translation": feature, "score": score}}}
            return pa.schema({"translation": both, "score": pa.float32()}, metadata={"huggingface": json.dumps(info)})
        origin = {f"{side}_{name}": kind for side in ("src", "trg") for name, kind in _ORIGIN.items()}
        return pa.schema({"src_text": text, "trg_text": text, "score": pa.float32(), **origin})

    def _named(self, pairs: pa.Table | pa.RecordBatch) -> pa.Table:
        table = conform(pairs)
        source, target = table["src_text"], table["tgt_text"]
        if self.columns is Columns.sentences:
            columns = [source, target]
        elif self.columns is Columns.translation:
            texts = dict(zip(self.languages, (source.combine_chunks(), target.combine_chunks()), strict=True))
            fields = list(self.schema.field("translation").type)
            columns = [pa.StructArray.from_arrays([texts[field.name] for field in fields], fields=fields)]
            columns.append(table["score"])
        else:
            origin = [table[f"{side}_{name}"] for side in ("src", "tgt") for name in _ORIGIN]
            columns = [source, target, table["score"], *origin]
        return pa.table(columns, schema=self.schema)

    def _clear(self) -> None:
        filesystem, path = resolve(self.url)
        for old in filesystem.glob(f"{path}/data/train-*-of-*.parquet"):
            filesystem.rm(old)

    def _write_card(self, rows: int, how: Sequence[tuple[str, str]]) -> None:
        source, target = self.languages
        head = {
            "language": sorted({source, target}),
            "multilinguality": "translation",
            "task_categories": ["translation"],
            "size_categories": [_size(rows)],
            "tags": ["bitext-mining", TAG],
            "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*.parquet"}]}],
        }
        shown = [(field.name, str(field.type)) for field in self.schema]
        body = f"""# {source}-{target}, {rows:,} pairs

Translation pairs made with twinlode {__version__}.

    from datasets import load_dataset
    pairs = load_dataset("path/of/this/folder", split="train")

## Columns

{markdown_table(["column", "type"], shown)}

## How it was made

{markdown_table(["", ""], how)}

## Limits

Nobody has read these pairs: a program found them, and some are wrong. The text has the licence of where it comes from,
which this card does not know.
"""
        write_card(f"{self.url}/{CARD}", head, body)


_ORIGIN = {"source": pa.string(), "line": pa.int64()}


def _files(tables: Iterator[pa.Table], files: int) -> Iterator[Iterator[pa.Table]]:
    """The tables of each file, cut where one is full; exactly this many files, the last of which may be empty."""
    rest: list[pa.Table] = []

    def fill() -> Iterator[pa.Table]:
        room = ROWS_PER_FILE
        while room:
            table = rest.pop() if rest else next(tables, None)
            if table is None:
                return
            yield table.slice(0, room)
            if table.num_rows > room:
                rest.append(table.slice(room))
            room -= min(room, table.num_rows)

    for _ in range(files):
        yield fill()


def _read(url: str) -> str:
    with open_url(url) as stream:
        return stream.read().decode("utf-8", "replace")


def _size(rows: int) -> str:
    """Hugging Face's classes."""
    bounds = [("n<1K", 10**3), ("1K<n<10K", 10**4), ("10K<n<100K", 10**5), ("100K<n<1M", 10**6), ("1M<n<10M", 10**7)]
    bounds += [("10M<n<100M", 10**8), ("100M<n<1B", 10**9)]
    return next((name for name, bound in bounds if rows < bound), "n>1B")
