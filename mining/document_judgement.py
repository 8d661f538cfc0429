"""How likely two aligned documents are translations of each other, and which of several pairs is the better one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mining.alignment import Alignment

_HALF_WAY, _STEEPNESS = 0.30, 40.0
_SHORT, _HALF_WAY_MORE = 4, 0.12  # strangers of so few sentences may be like each other by chance
# Of counterparts of which one is cut to half, the shorter one holds 0.28 and more of the longer one. What holds less is
# a part that many documents could have, unless it is long: twenty sentences may hold a twentieth.
_PART = 0.25
_WHOLE = 0.2  # exponent: an extract is as like its document as the whole is. With 0.3 halves lose to other documents


class DocumentJudgement(NamedTuple):
    """`confidence` says how likely the two are translations; among pairs that share a document `agreement`, times their
    margin, tells the best."""

    confidence: float
    agreement: float


def judge_pair(alignment: Alignment, source: np.ndarray, target: np.ndarray, order: float) -> DocumentJudgement:
    """By two documents alone: of the shorter one's text, the part that is aligned, each bead by its similarity and how
    sure it is, times `order`, their `order_agreement`; less where hardly anything of the longer one is aligned.

    Of the development sets of `eval/documents` 95% of the strangers have less than 0.25, and those of ten sentences and
    more that are backwards 0.11 at most; counterparts have 0.37 and more, freely translated articles 0.34. `source` and
    `target` are sentence lengths.
    """
    two = alignment.two_sided
    shorter = int(target.sum() < source.sum())
    if not two.any() or not source.sum() or not target.sum():
        return DocumentJudgement(0.0, 0.0)
    sure = alignment.confidence[two]
    similar = np.clip(1 - alignment.distance[two], 0, 1) * sure
    shares = [_shares(alignment.beads[two][:, 2 * side : 2 * side + 2], (source, target)[side]) for side in range(2)]
    likeness, covered = order * float(shares[shorter] @ similar), float(shares[1 - shorter] @ sure)
    sentences = min(len(source), len(target))
    half_way = _HALF_WAY + _HALF_WAY_MORE * _shortness(sentences)
    excess = likeness * more_than_a_part(covered, sentences) - half_way
    return DocumentJudgement(float(1 / (1 + np.exp(-_STEEPNESS * excess))), likeness * covered**_WHOLE)


def more_than_a_part(share: float, sentences: int) -> float:
    """From 0 to 1, how far `sentences` that hold this share of another document are more than a part of it."""
    return min(1.0, share / (_PART * _shortness(sentences)))


def _shortness(sentences: int) -> float:
    return min(1.0, _SHORT / max(sentences, 1))


def _shares(spans: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Of a document's text the part that lies in each span (first, last + 1)."""
    edges = np.concatenate([[0.0], np.cumsum(lengths)])
    return (edges[spans[:, 1]] - edges[spans[:, 0]]) / edges[-1]
