"""Whether two documents say what they say in the same order.

An alignment is in order by construction, and a bead of several sentences holds them in any: of a short document whose
other side is backwards enough may be aligned to look like a translation. Sentences that are nearest to each other, in
whatever order, tell the two apart.
"""

from __future__ import annotations

import numpy as np

from mining.alignment_path import unit_sums

_UNITS = 64  # that a document is cut into at most; single sentences of long documents are often like several others
_PAIRS = 3  # counted in as in order: two or three sentences may well change places in a translation
_DECIMALS = 4  # of cosines, so that of a sentence that is repeated the first is always the nearest


def order_agreement(source: np.ndarray, target: np.ndarray) -> float:
    """Of any two sentences that each have a mutually nearest one in the other document, how often both are in order.

    As Kendall's tau (1938), but from 0, backwards, to 1; shuffled documents have about a half, and those of a sentence
    1. Neighbouring sentences of long documents are added up. `source` and `target` are (sentences, dim).
    """
    if not len(source) or not len(target):
        return 1.0
    size = -(-max(len(source), len(target)) // _UNITS)
    cosines = np.round(unit_sums(source, size) @ unit_sums(target, size).T, _DECIMALS)
    nearest = cosines.argmax(1)
    places = nearest[cosines.argmax(0)[nearest] == np.arange(len(nearest))]
    in_order = np.triu(places[:, None] < places, 1).sum()
    return float((in_order + _PAIRS) / (len(places) * (len(places) - 1) / 2 + _PAIRS))
