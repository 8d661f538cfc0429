"""What a text itself says of how its sentences belong together: whether one goes on in the next."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MARKS = ("colon", "comma", "no end", "lower case", "bracket", "number")

_CLOSING = " \t\u00a0\"'»«”’›」』)]}）"
_ENDS = frozenset(".!?…。！？؟।॥։")
_COLONS = frozenset(":：")
_COMMAS = frozenset(";,；，、،؛")
_WORD_CHARACTER = re.compile(r"[^\W_]")
_BRACKET = re.compile(r"[()\[\]（）]")
_NUMBERED = re.compile(r"\s*\d{1,3}\s?[.)]\s")


def find_marks(texts: Sequence[str]) -> NDArray[np.bool_]:
    """(texts, `MARKS`): how each sentence ends, and whether the next one seems to go on with it.

    Splitters cut at abbreviations, colons and inside brackets; what is numbered begins anew.
    """
    found = np.zeros((len(texts), len(MARKS)), bool)
    for place, text in enumerate(texts):
        end = text.rstrip(_CLOSING)[-1:]
        behind = texts[place + 1] if place + 1 < len(texts) else ""
        following = _WORD_CHARACTER.search(behind)
        found[place] = (
            end in _COLONS,
            end in _COMMAS,
            end not in _ENDS and end not in _COLONS and end not in _COMMAS,
            following is not None and following[0].islower(),
            _depth(text) > 0,
            _NUMBERED.match(behind) is not None,
        )
    return found


def _depth(text: str) -> int:
    """Brackets that are open at the end; one that was opened before and is closed here counts for nothing."""
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth = depth + 1 if bracket in "([（" else max(depth - 1, 0)
    return depth
