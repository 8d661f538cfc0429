"""gettext catalogs, `.po` and `.mo`: messages of an application with their translations."""

from __future__ import annotations

import struct
from typing import Any

from mining.errors import InputError
from mining.files import read_whole

_COMPILED = (b"\xde\x12\x04\x95", b"\x95\x04\x12\xde")


def read_catalog(url: str) -> Any:
    """The catalog as polib's list of entries; `.mo` or `.po` is told by the content."""
    import polib

    try:
        data = read_whole(url)
        return polib.mofile(data) if data[:4] in _COMPILED else polib.pofile(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{url}, line {line}: not valid UTF-8; convert the catalog with msgconv -t UTF-8") from None
    except InputError:
        raise
    except (OSError, ValueError, IndexError, struct.error) as error:
        raise InputError(f"{url}: not a readable gettext catalog ({error})") from None


def is_draft(entry: Any) -> bool:
    """Whether a translation is fuzzy or obsolete."""
    return bool(entry.obsolete or "fuzzy" in entry.flags)


def one_line(message: str) -> str:
    """A message of several lines as one sentence."""
    return " ".join(message.split())
