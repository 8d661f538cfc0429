"""Tokens in Latin letters, so that a name looks much the same in every script."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np

from encoder.models.spelling import WIDTH

_OTHER = re.compile("[^a-z0-9]+")
_DIGRAPH = re.compile("(?<=[bcdgkstz])h")
_VOWELS = re.compile("[aeiouy]+")
_DOUBLE = re.compile(r"(.)\1+")
_FOLD = str.maketrans("cqwz", "kkvs")
MODE = os.environ.get("SPELL", "full")


def romanise(token: str) -> str:
    """Small Latin letters and digits; nothing of the rest."""
    from anyascii import anyascii

    plain = _OTHER.sub("", anyascii(token).lower())
    if MODE == "skeleton":
        plain = plain.replace("ph", "f")
        plain = _DIGRAPH.sub("", plain)
        plain = _VOWELS.sub("", plain).translate(_FOLD)
        plain = _DOUBLE.sub(r"\1", plain)
    return plain


def spell(tokens: Sequence[str]) -> np.ndarray:
    """(tokens, WIDTH) uint8 letters of each token, zeros after the last."""
    rows = [romanise(token).encode("ascii")[:WIDTH].ljust(WIDTH, b"\0") for token in tokens]
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), WIDTH).copy()
