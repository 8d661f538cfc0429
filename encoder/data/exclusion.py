"""Keeping evaluation sentences out of training."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence

from encoder.data.readers import iterate_lines
from encoder.errors import InputError

_NOT_WORD = re.compile(r"[\W_]+")


def exclusion_key(text: str) -> int:
    """The same number for sentences that differ only in case, width, white space or punctuation."""
    plain = _NOT_WORD.sub("", unicodedata.normalize("NFKC", text).casefold()) or text.strip()
    return int.from_bytes(hashlib.blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def read_exclusions(paths: Sequence[str]) -> frozenset[int]:
    """Keys of every line of these text files, and of every column of a line with tabs."""
    keys: set[int] = set()
    for path in paths:
        lines = 0
        for line in iterate_lines(path):
            if line and line.strip():
                lines += 1
                keys.update(exclusion_key(part) for part in (line, *line.split("\t")) if part.strip())
        if not lines:
            raise InputError(f"--exclude {path}: the file has no text, so nothing would be excluded")
    return frozenset(keys)


def is_excluded(texts: Iterable[str], keys: frozenset[int]) -> bool:
    return bool(keys) and any(exclusion_key(text) in keys for text in texts)
