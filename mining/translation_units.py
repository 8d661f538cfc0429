"""The translation units of a TMX file as a stream, so that memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, NamedTuple
from xml.etree import ElementTree

from mining.errors import InputError
from mining.files import LONGEST, open_decompressed

_CODES = {"bpt", "ept", "it", "ph", "ut"}
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


class _WithoutEntities:
    """The bytes of an XML file that declares no entities: these can grow without bound, or name other files.

    Nor is there an element whose end does not come, which the parser would hold in memory.
    """

    def __init__(self, stream: IO[bytes], url: str) -> None:
        self._stream, self._url, self._last = stream, url, b""
        self.pending = 0  # bytes since the parser saw the last tag

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.pending += len(data)
        if self.pending > LONGEST:
            raise InputError(f"{self._url}: {LONGEST >> 20} MB without a tag, so this is no translation memory")
        plain = self._last + data.replace(b"\0", b"")  # UTF-16, too
        if b"<!ENTITY" in plain:
            raise InputError(f"{self._url}: declares XML entities, which are not read; write what they stand for")
        self._last = plain[-8:]
        return data


class Variant(NamedTuple):
    """One language's segment of a unit, and the element that holds its properties."""

    language: str  # as the file writes it, empty where it does not
    text: str
    element: ElementTree.Element


def iterate_units(url: str) -> Iterator[tuple[ElementTree.Element, list[Variant]]]:
    """Every `tu` with its variants, in the order of the file; with or without XML namespaces."""
    try:
        with open_decompressed(url) as stream:
            parents: list[ElementTree.Element] = []
            source = _WithoutEntities(stream, url)
            for event, element in ElementTree.iterparse(source, events=("start", "end")):
                source.pending = 0
                if event == "start":
                    parents.append(element)
                    continue
                parents.pop()
                if local_name(element) == "tu":
                    yield element, [_variant(inner) for inner in element.iter() if local_name(inner) == "tuv"]
                    if parents:
                        parents[-1].remove(element)
    except ElementTree.ParseError as error:
        line, column = error.position
        raise InputError(f"{url}, line {line}, column {column}: not valid XML ({error})") from None
    except (OSError, LookupError) as error:  # also an encoding that nobody knows
        raise InputError(f"{url}: cannot be read ({error})") from None


def _words(element: ElementTree.Element) -> Iterator[str]:
    """The text of a segment without the codes of a word processor, whatever these stand for."""
    yield element.text or ""
    for child in element:
        if local_name(child) not in _CODES:
            yield from _words(child)
        yield child.tail or ""


def local_name(element: ElementTree.Element) -> str:
    """The tag without its namespace."""
    return element.tag.rpartition("}")[2]


def _variant(element: ElementTree.Element) -> Variant:
    segment = next((child for child in element if local_name(child) == "seg"), None)
    text = "" if segment is None else "".join(_words(segment))
    return Variant(element.get(_LANGUAGE) or element.get("lang") or "", text, element)
