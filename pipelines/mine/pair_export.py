"""Pairs out of their dataset, into one file or one for each shard, in any pair format."""

from __future__ import annotations

from mining.errors import InputError
from mining.pair_formats import Format, check_format, format_of, write_pairs
from pipelines.datasets.manifest import Dataset, Shard
from pipelines.mine.pair_shards import read_pair_shard
from pipelines.mine.pair_stage import pair_batches


def check_target(url: str, format: str | None) -> Format:
    """The format that will be written; a name that tells none is an error before any work is done."""
    if format is not None and format not in set(Format):
        raise InputError(f"there is no pair format {format}; use one of {', '.join(Format)}")
    return Format(format) if format else format_of(url)


def written_files(url: str, format: str | None, languages: tuple[str | None, str | None]) -> list[str]:
    """The names that `export_pairs` will write; a `*` in them stands for the number of a shard."""
    return check_format(url, check_target(url, format), *languages)


def export_pairs(
    pairs: Dataset, url: str, format: str | None, src_lang: str | None, tgt_lang: str | None, *, rejected: bool = False
) -> int:
    """Write the pairs best first and return how many; a `*` in the name becomes the number of each shard."""
    kind = check_target(url, format)
    if "*" not in url:
        batches = pair_batches(pairs, rejected)
        return write_pairs(url, batches, format=kind, src_lang=src_lang, tgt_lang=tgt_lang)
    how = url, format, src_lang, tgt_lang
    return sum(export_shard(shard, pairs.url, *how, rejected=rejected) for shard in pairs.shards)


def export_shard(
    shard: Shard,
    folder: str,
    url: str,
    format: str | None,
    src_lang: str | None,
    tgt_lang: str | None,
    *,
    rejected: bool = False,
) -> int:
    """Write one shard of the pairs in a folder into its file and return how many it has."""
    batch = read_pair_shard(folder, shard, rejected)
    name, kind = url.replace("*", f"{shard.index:05d}"), check_target(url, format)
    return write_pairs(name, [batch], format=kind, src_lang=src_lang, tgt_lang=tgt_lang)
