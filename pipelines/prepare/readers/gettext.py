"""gettext catalogs (.po, .mo): the source messages, or the translations, of an application."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import fsspec
import numpy as np

from mining.errors import InputError
from pipelines.prepare.readers.blocks import UNTRANSLATED, Batch, Block, ReadSettings, keep_rows

DEFAULT_SIDE = "msgstr"


def read(block: Block, settings: ReadSettings) -> Iterator[Batch]:
    """`settings.column` "msgstr" (unless told) or "msgid"; `ref` is the message context or its first occurrence.

    `line` is that of the entry (.mo files, which have no lines: its number). Fuzzy and missing translations count as
    untranslated, and a message of several lines becomes one sentence.
    """
    side = settings.column or DEFAULT_SIDE
    if side not in ("msgid", "msgstr"):
        raise InputError(f"column {side!r}: a gettext catalog has msgid and msgstr")
    entries = _entries(block.url)
    texts = [_message(entry) if side == "msgid" else _translation(entry) for entry in entries]
    batch = keep_rows(texts, 1, settings, +Counter({UNTRANSLATED: texts.count(None)}), [_ref(e) for e in entries])
    numbers = np.array([getattr(entry, "linenum", i) for i, entry in enumerate(entries, 1)], np.int64)
    yield batch._replace(lines=numbers[batch.lines - 1])


def _message(entry: Any) -> str:
    return " ".join(entry.msgid.split())


def _translation(entry: Any) -> str | None:
    text = entry.msgstr or (entry.msgstr_plural or {}).get(0, "")
    stale = entry.obsolete or "fuzzy" in entry.flags
    return None if stale else " ".join(text.split()) or None


def _ref(entry: Any) -> str:
    occurrences = entry.occurrences or [("",)]
    return entry.msgctxt or ":".join(occurrences[0])


def _entries(url: str) -> list[Any]:
    try:
        import polib
    except ImportError:
        raise InputError("reading gettext catalogs needs polib: pip install 'twinlode[web]'") from None
    with fsspec.open(url, "rb", compression="infer") as stream:
        data = stream.read()
    try:
        if data[:4] in (b"\xde\x12\x04\x95", b"\x95\x04\x12\xde"):
            return list(polib.mofile(data))
        return list(polib.pofile(data.decode("utf-8")))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{url}, line {line}: not valid UTF-8; convert the catalog with msgconv -t UTF-8") from None
    except (OSError, ValueError, IndexError) as error:
        raise InputError(f"{url}: not a readable gettext catalog ({error})") from None
