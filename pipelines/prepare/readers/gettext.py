"""gettext catalogs (.po, .mo): the source messages, or the translations, of an application."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from mining.catalogs import is_draft, one_line, read_catalog
from mining.errors import InputError
from pipelines.prepare.readers.blocks import UNTRANSLATED, Block, ReadSettings, RowBatch, keep_rows

DEFAULT_SIDE = "msgstr"


def read(block: Block, settings: ReadSettings) -> Iterator[RowBatch]:
    """`settings.column` "msgstr" (default) or "msgid"; `ref` is the message context or its first occurrence.

    `line` is that of the entry (.mo files, which have no lines: its number). Fuzzy and missing translations count as
    untranslated, and a message of several lines becomes one sentence.
    """
    side = settings.column or DEFAULT_SIDE
    if side not in ("msgid", "msgstr"):
        raise InputError(f"column {side!r}: a gettext catalog has msgid and msgstr")
    entries = list(read_catalog(block.url))
    texts = [one_line(entry.msgid) if side == "msgid" else _translation(entry) for entry in entries]
    batch = keep_rows(texts, 1, settings, +Counter({UNTRANSLATED: texts.count(None)}), [_ref(e) for e in entries])
    numbers = np.array([getattr(entry, "linenum", i) for i, entry in enumerate(entries, 1)], np.int64)
    yield batch._replace(lines=numbers[batch.lines - 1])


def _translation(entry: Any) -> str | None:
    text = entry.msgstr or (entry.msgstr_plural or {}).get(0, "")
    return None if is_draft(entry) else one_line(text) or None


def _ref(entry: Any) -> str | None:
    occurrences = entry.occurrences or [("",)]
    return entry.msgctxt or ":".join(occurrences[0]) or None
