"""How often beads of each kind are: the habits of the model, moved towards those of the two documents at hand.

Weights are fitted to few documents; of one of them four beads in ten join several sentences, elsewhere it is one in
ten. So what a first alignment finds is counted, and the weight of each kind of bead rises by the log of its share here
over its usual share, as class priors of a classifier are moved (Saerens et al. 2002). The same for deletions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np

from mining.alignment_scores import BeadWeights
from mining.alignment_weights import prior_term

Shares = Mapping[str, float]  # of beads of two sides by their kind, which sum to 1; "deletion": gaps for each of them
_BEADS, _GAPS = 30, 60  # beads of usual documents that are counted in, so that short documents change little
_MOST = 16  # sentences of one side


def bead_shares(alignments: list[np.ndarray]) -> dict[str, float]:
    """The shares in some alignments (beads, 4), each kind counted half a time more than it is there."""
    kinds, gaps = Counter[str](), 0
    for beads in alignments:
        found, deletions = _count(beads)
        kinds, gaps = kinds + found, gaps + deletions
    counts = {prior_term(n, m): 0.5 for n in range(1, 5) for m in range(1, 5)}
    counts = {name: half + kinds[name] for name, half in counts.items()}
    total = sum(counts.values())
    return {name: round(count / total, 4) for name, count in (counts | {"deletion": gaps + 0.5}).items()}


def refit_priors(weights: BeadWeights, beads: np.ndarray, usual: Shares) -> BeadWeights:
    """`weights` for documents in which `beads` (count, 4) were found; `usual` are the shares that they fit."""
    kinds, gaps = _count(beads)
    total = kinds.total()
    prior = weights.prior.copy()
    for n, m in np.argwhere(np.ones_like(prior[1:, 1:])).tolist():
        kind = prior_term(n + 1, m + 1)
        prior[n + 1, m + 1] += math.log((kinds[kind] / usual[kind] + _BEADS) / (total + _BEADS))
    more_gaps = math.log((gaps / usual["deletion"] + _GAPS) / (total + _GAPS))
    return weights._replace(prior=prior, deletion=weights.deletion + more_gaps)


def _count(beads: np.ndarray) -> tuple[Counter[str], int]:
    """Beads of two sides by their kind, and gaps: deletions that follow one another are one."""
    n, m = beads[:, 1] - beads[:, 0], beads[:, 3] - beads[:, 2]
    two = (n > 0) & (m > 0)
    kinds = Counter[str]()
    for code, count in enumerate(np.bincount(n[two] * _MOST + m[two]).tolist()):
        if count:
            kinds[prior_term(code // _MOST, code % _MOST)] += count
    return kinds, int((~two & np.concatenate([[True], two[:-1]])).sum())
