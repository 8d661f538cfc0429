"""What a text itself says of how its sentences belong together: whether one goes on in the next."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MARKS = ("colon", "comma", "no end", "lower case", "bracket")

_CLOSING = " \t\u00a0\"'»«”’›」』)]}）"
_ENDS = frozenset(".!?…。！？؟।॥։")
_COLONS = frozenset(":：")
_COMMAS = frozenset(";,；，、،؛")
_WORD_CHARACTER = re.compile(r"[^\W_]")


def find_marks(texts: Sequence[str]) -> NDArray[np.bool_]:
    """(texts, `MARKS`): how each sentence ends, and whether the next one seems to go on with it.

    Splitters cut at abbreviations, colons and inside brackets.
    """
    found = np.zeros((len(texts), len(MARKS)), bool)
    for place, text in enumerate(texts):
        end = text.rstrip(_CLOSING)[-1:]
        following = _WORD_CHARACTER.search(texts[place + 1]) if place + 1 < len(texts) else None
        found[place] = (
            end in _COLONS,
            end in _COMMAS,
            end not in _ENDS and end not in _COLONS and end not in _COMMAS,
            following is not None and following[0].islower(),
            _depth(text) > 0,
        )
    return found


def _depth(text: str) -> int:
    """Brackets that are opened and not closed."""
    return sum(map(text.count, "([（")) - sum(map(text.count, ")]）"))
