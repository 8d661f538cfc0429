"""Tokens in Latin letters, so that a name looks much the same in every script."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from anyascii import anyascii

from encoder.models.spelling import WIDTH

_OTHER = re.compile("[^a-z0-9]+")


def romanise(token: str) -> str:
    """Small Latin letters and digits, and nothing of the rest.

    Vowels stay, though Arabic and Hebrew have few: consonants alone were no better there and worse elsewhere.
    """
    return _OTHER.sub("", anyascii(token).lower())


def spell(tokens: Sequence[str]) -> np.ndarray:
    """(tokens, WIDTH) uint8 letters of each token, zeros after the last."""
    rows = [romanise(token).encode("ascii")[:WIDTH].ljust(WIDTH, b"\0") for token in tokens]
    return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), WIDTH).copy()
