"""The seed of a loop: a sample of known bitext to train on, and probe pairs, which are never trained on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from pydantic import BaseModel, ConfigDict

from encoder.data.corpora import CorpusFile, DataSettings, find_files
from encoder.data.exclusion import exclusion_key, is_excluded
from encoder.data.parallel_readers import read_groups, with_tokens
from encoder.data.parallel_rows import Group
from encoder.data.preparation import sampled
from mining.errors import InputError
from mining.files import atomic_text, atomic_writer, iterate_lines
from pipelines.datasets.manifest import read_model, write_model
from pipelines.datasets.sentences import pieces_column
from pipelines.loop.loop_settings import SeedSettings
from pipelines.mine.probe_pairs import read_seed_pairs
from pipelines.prepare.pieces import has_subwords, load_text_encoder, pieces_tokenizer

RECORD = "seed.json"


class SeedRecord(BaseModel):
    """How many pairs of each language pair are trained on; written when all files of the seed are there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pairs: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.pairs.values())


class _Drawn(NamedTuple):
    order: float
    texts: tuple[str, str]


def seed_files(settings: SeedSettings) -> list[CorpusFile]:
    return find_files(DataSettings(corpora=settings.corpora))


def trained_path(folder: Path, pair: str) -> Path:
    return folder / f"{pair}.tsv"


def probes_path(folder: Path, pair: str) -> Path:
    return folder / "probes" / f"{pair}.tsv"


def tokenized_seed(folder: Path, pair: str, encoder: str) -> Path:
    """What is trained on, with the subwords of the encoder that all rounds share; made once."""
    texts, path = trained_path(folder, pair), folder / f"{pair}.parquet"
    if not has_subwords(encoder) or not texts.stat().st_size:
        return texts
    if not path.exists():
        tokenizer = load_text_encoder(encoder)
        sides = list(zip(*(line.split("\t") for line in iterate_lines(str(texts))), strict=True))
        source, target = (
            pieces_column(tokenizer.encode(side, lang)) for side, lang in zip(sides, pair.split("-"), strict=True)
        )
        pairs = pa.table({name: list(side) for name, side in zip(("src_text", "tgt_text"), sides, strict=True)})
        with atomic_writer(str(path)) as stream:
            pq.write_table(with_tokens(pairs, source, target, pieces_tokenizer(encoder)), stream, compression="zstd")
    return path


def make_seed(
    settings: SeedSettings, pairs: Sequence[str], folder: Path, excluded: frozenset[int], random_seed: int
) -> SeedRecord:
    """Draw the seed once; the probe pairs of a language pair are never trained on."""
    done = read_model(str(folder / RECORD), SeedRecord)
    if done is not None:
        return done
    found = {pair: _distinct(drawn) for pair, drawn in _read(settings, pairs, excluded, random_seed).items()}
    room = {pair: len(drawn) - settings.probes for pair, drawn in found.items()}
    for pair, left in room.items():
        if left < 1:
            raise InputError(
                f"{pair}: the seed has {left + settings.probes:,} pairs, but {settings.probes:,} of them are to be "
                "probes; give more seed, or lower seed.probes"
            )
    shares = even_shares(room, settings.pairs)
    for pair, drawn in found.items():
        probes, rest = drawn[: settings.probes], drawn[settings.probes :]
        _write(probes_path(folder, pair), probes)
        _write(trained_path(folder, pair), rest[: shares[pair]])
    record = SeedRecord(pairs=shares)
    write_model(str(folder / RECORD), record)
    return record


def even_shares(room: dict[str, int], wanted: int | None) -> dict[str, int]:
    """As equal as can be, at most `room` of each, `wanted` in sum where possible."""
    if wanted is None:
        return dict(room)
    shares: dict[str, int] = {}
    left = wanted
    for done, pair in enumerate(sorted(room, key=lambda name: room[name])):
        shares[pair] = min(room[pair], left // (len(room) - done))
        left -= shares[pair]
    return {pair: shares[pair] for pair in room}


def seed_keys(folder: Path, pair: str) -> frozenset[tuple[int, int]]:
    """Both sides of every pair that is trained on or a probe, as `exclusion_key`s."""
    paths = (trained_path(folder, pair), probes_path(folder, pair))
    known = [texts for path in paths if path.stat().st_size for texts in read_seed_pairs(str(path))]
    return frozenset((exclusion_key(source), exclusion_key(target)) for source, target in known)


def _read(
    settings: SeedSettings, pairs: Sequence[str], excluded: frozenset[int], random_seed: int
) -> dict[str, list[_Drawn]]:
    """All pairs of each language pair with the place that chance, and the weight of the corpus, give them."""
    found: dict[str, list[_Drawn]] = {pair: [] for pair in pairs}
    for number, files in groupby(seed_files(settings), key=lambda file: file.corpus):
        corpus = settings.corpora[number]
        for group in _groups(files, corpus.most, random_seed):
            for pair, texts in _pairs_of(group, pairs):
                if not is_excluded(texts, excluded):
                    found[pair].append(_Drawn(_place(pair, texts, random_seed) / corpus.weight, texts))
    return found


def _groups(files: Iterable[CorpusFile], most: int | None, random_seed: int) -> Iterable[Group]:
    """Those of one corpus, or `most` of them, drawn as `train` does."""
    groups = (group for file in files for group in read_groups(file) if isinstance(group, Group))
    return groups if most is None else sampled(groups, most, random_seed)


def _pairs_of(group: Group, pairs: Sequence[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    texts = dict(group.sentences)
    for pair in pairs:
        source, target = (texts.get(lang) for lang in pair.split("-"))
        if source and target:
            yield pair, (" ".join(source.split()), " ".join(target.split()))


def _place(pair: str, texts: tuple[str, str], random_seed: int) -> float:
    """An exponential variate made of the pair itself: dividing it by weights gives a weighted sample (Efraimidis)."""
    digest = xxhash.xxh3_64_intdigest("\t".join((pair, *texts)).encode(), seed=random_seed)
    return -math.log((digest + 1) / float(np.iinfo(np.uint64).max))


def _distinct(drawn: list[_Drawn]) -> list[_Drawn]:
    """In random order, no sentence of either side twice."""
    seen: tuple[set[int], set[int]] = (set(), set())
    kept = []
    for item in sorted(drawn):
        keys = [exclusion_key(text) for text in item.texts]
        if not any(key in known for key, known in zip(keys, seen, strict=True)):
            kept.append(item)
            for key, known in zip(keys, seen, strict=True):
                known.add(key)
    return kept


def _write(path: Path, drawn: Sequence[_Drawn]) -> None:
    with atomic_text(str(path)) as stream:
        stream.writelines("\t".join(item.texts) + "\n" for item in drawn)
