"""Pairs out of their dataset, into one file or one for each shard, in any pair format."""

from __future__ import annotations

from mining.errors import InputError
from mining.pair_formats import Format, check_format, format_of, write_pairs
from pipelines.datasets.manifest import Dataset
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
    batches = pair_batches(pairs, rejected)
    if "*" not in url:
        return write_pairs(url, batches, format=kind, src_lang=src_lang, tgt_lang=tgt_lang)
    written = 0
    for number, batch in enumerate(batches):
        name = url.replace("*", f"{number:05d}")
        written += write_pairs(name, [batch], format=kind, src_lang=src_lang, tgt_lang=tgt_lang)
    return written
