"""Text that should be UTF-8 and is not: a few lines are counted, many are an error that names the likely encoding."""

from __future__ import annotations

import codecs
import re

from mining.errors import InputError
from mining.paths import compression_of

_FEW = 10
_SHARE = 0.02
_SAMPLE_BYTES = 1 << 16
_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_COMPRESSED = {
    "gz": re.compile(rb"\x1f\x8b"),
    "bz2": re.compile(rb"BZh[1-9]1AY&SY"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "zst": re.compile(rb"\x28\xb5\x2f\xfd"),
}


class Utf8Check:
    """Counts the lines of one file (or a part of it) that are not UTF-8, and refuses it when they are too many.

    Above 2% and ten lines, or above half of the lines, it is another encoding rather than damage.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.bad = 0
        self._sample = bytearray()

    def decoded(self, line: bytes, lines: int) -> str | None:
        """The last of the `lines` so far as text; None where it is not UTF-8."""
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            self.add(line, lines)
            return None

    def add(self, line: bytes, lines: int) -> None:
        """One more bad line, the last of the `lines` so far; long files do not wait for their end."""
        self.bad += 1
        if len(self._sample) < _SAMPLE_BYTES:
            self._sample += line
        if lines >= 1000:
            self.finish(lines)

    def finish(self, lines: int) -> None:
        if self.bad * 2 > lines or (self.bad > _FEW and self.bad > _SHARE * lines):
            encoding = likely_encoding(bytes(self._sample))
            looks = f"; it looks like {encoding}: {_advice(encoding, self.url)}" if encoding else "; convert the file"
            raise InputError(f"{self.url}: {self.bad:,} of {lines:,} lines are not valid UTF-8{looks}")


def require_no_mark(start: bytes, url: str) -> None:
    """InputError when text begins with the mark of UTF-16 or UTF-32, of which much would pass for UTF-8.

    Or with that of an archive: these are known by their extension, so this one has none or is inside of another.
    """
    for mark, name in _MARKS.items():
        if start.startswith(mark):
            raise InputError(f"{url} is {name}, not UTF-8; {_advice(name, url)}")
    for codec, signature in _COMPRESSED.items():
        if signature.match(start):
            advice = "decompress it once" if compression_of(url) else f"give it a name that says so, {url}.{codec}"
            raise InputError(f"{url} is compressed ({codec}), not text; {advice}")


def likely_encoding(sample: bytes) -> str | None:
    """The name, for iconv, of the encoding that a text is probably in."""
    from resiliparse.parse.encoding import detect_encoding

    name = codecs.lookup(detect_encoding(sample)).name
    return None if name in ("utf-8", "ascii") else name.upper().replace("CP125", "WINDOWS-125")


def _advice(encoding: str, url: str) -> str:
    return f"convert it by `iconv -f {encoding} -t UTF-8 {url}`"
