"""URLs in several links, such as `zip://po/*.po::wheels/django.whl`: a file inside of an archive."""

from __future__ import annotations

from fsspec import AbstractFileSystem

_LINK = "::"


def own_name(url: str) -> str:
    """The part of a URL that names the file itself: what is before the archive, and after a cache."""
    first, _, rest = url.partition(_LINK)
    return first if "://" in first or not rest else rest


def found_url(filesystem: AbstractFileSystem, path: str, pattern: str) -> str:
    """A path that was found under `pattern`, as a URL with all links of the pattern; local paths stay paths."""
    first, link, rest = pattern.partition(_LINK)
    if link and "://" not in first:
        return first + link + str(filesystem.unstrip_protocol(path))
    whole = str(filesystem.unstrip_protocol(path)).removeprefix("file://")
    return whole + link + rest
