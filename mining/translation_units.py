"""The translation units of a TMX file as a stream, so that memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from mining.errors import InputError
from mining.files import open_decompressed

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


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
            for event, element in ElementTree.iterparse(stream, events=("start", "end")):
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
    except OSError as error:
        raise InputError(f"{url}: cannot be read ({error})") from None


def local_name(element: ElementTree.Element) -> str:
    """The tag without its namespace."""
    return element.tag.rpartition("}")[2]


def _variant(element: ElementTree.Element) -> Variant:
    segment = next((child for child in element if local_name(child) == "seg"), None)
    text = "" if segment is None else "".join(segment.itertext())
    return Variant(element.get(_LANGUAGE) or element.get("lang") or "", text, element)
