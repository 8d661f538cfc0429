"""Messages of a program as plain sentences: what programmers and designers put into them taken out."""

from __future__ import annotations

import html
import re

GAP = "…"  # where a program fills in a value
_FEWEST_WORDS, _MOST_WORDS, _MOST_CHARACTERS = 4, 40, 300

_PLACEHOLDER = re.compile(
    r"%\([^()]*\)[-#0+ ]*\d*(?:\.\d+)?[a-zA-Z]"  # %(name)s
    r"|%(?:\d+\$)?[-#0+]*\d*(?:\.\d+)?[sdifgrxu](?![a-z])"  # %s, %1$d, %.2f
    r"|%\d+"  # Qt's %1
    r"|\$\{[^{}]*\}|\{\{[^{}]*\}\}|\{%[^{}]*%\}|\{[^{}]*\}|\$\w+"  # templates and str.format
)
_SPACING_TAG = re.compile(r"</?(?:br|p|li|ul|ol|div|h\d|tr|td)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_SHORTCUT_SUFFIX = re.compile(r"\s*\([&_][A-Za-z0-9]\)")  # Chinese and Japanese menus: 打开(&O)
_SHORTCUT = re.compile(r"&(?=\w)|(?<!\w)_(?=\w)")
_MARKUP = re.compile(r"`+|\*{2,}|:[a-z]+:(?=`)")
_GAPS = re.compile(rf"{GAP}(?:\s*{GAP})+")


def plain(message: str) -> str:
    """The message as a reader of the program would see it, every value that it leaves open as `…`."""
    text = _TAG.sub("", _SPACING_TAG.sub(" ", message))
    text = html.unescape(text)
    text = _PLACEHOLDER.sub(GAP, text).replace("%%", "%")
    text = _SHORTCUT.sub("", _SHORTCUT_SUFFIX.sub("", _MARKUP.sub("", text)))
    return " ".join(_GAPS.sub(GAP, text).split())


def is_sentence_pair(english: str, other: str) -> bool:
    """Four or more English words, not a page of them, translated, and words rather than signs on both sides."""
    words = sum(any(c.isalpha() for c in word) for word in english.split())
    if not _FEWEST_WORDS <= words <= _MOST_WORDS or len(other) > _MOST_CHARACTERS:
        return False
    return identity(english) != identity(other) and _is_wordy(english) and _is_wordy(other)


def identity(text: str) -> str:
    """What two spellings of one sentence have in common: its letters and digits."""
    return "".join(c for c in text.casefold() if c.isalnum())


def _is_wordy(text: str) -> bool:
    # Combining vowels of some scripts are marks, not letters, and do not count against a text.
    return sum(c.isalpha() or c.isspace() for c in text) >= 0.7 * len(text)
