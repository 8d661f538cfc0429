"""Published ways to align the sentences of two documents, by our vectors: what the fitted model has to beat."""

from __future__ import annotations

import numpy as np

from mining.alignment import Document, alignment_task
from mining.alignment_formats import Bead, beads_of
from mining.alignment_lattice import search, trace
from mining.alignment_scores import BeadWeights
from mining.alignment_weights import TERMS

BEADS = 8
_QUANTILE = 0.2
_SKIP, _LARGEST = -0.1, 5  # of Bertalign


def vecalign(source: Document, target: Document) -> list[Bead]:
    """Least sum of n m c, c the distance normalised by random spans; deletions at a quantile of random distances."""
    wordless = [side._replace(words=None) for side in (source, target)]
    task = alignment_task(wordless[0], wordless[1], model=dict.fromkeys(TERMS, 0.0))
    src, tgt = task.src, task.tgt
    cosines = (src.spans[0] @ tgt.spans[0].T) / np.outer(src.norms[0], tgt.norms[0])
    random = 2 * (1 - cosines) / np.add.outer(src.unlike[0], tgt.unlike[0])
    skip = -float(np.quantile(random, _QUANTILE))
    sizes = np.arange(BEADS + 1.0)
    prior = np.zeros((BEADS + 1, BEADS + 1))
    weights = BeadWeights(np.outer(sizes, sizes), prior, 0.0, 0.0, 0.0, 0.0, 0.0, skip, skip, BEADS)
    lattice = search(task._replace(weights=weights))
    return beads_of(trace(task.band, lattice.step, lattice.gap))


def bertalign(source: Document, target: Document) -> list[Bead]:
    """Its second pass over the whole matrix: cosine less those of neighbours, times a factor of the lengths."""
    count, other = source.sentences, target.sentences
    sides = [_prefixes(source.vectors), _prefixes(target.vectors)]
    letters = [np.concatenate([[0.0], np.cumsum(side.lengths)]) for side in (source, target)]
    letters[1] *= letters[0][-1] / letters[1][-1]
    best = np.full((count + 1, other + 1), -np.inf)
    best[0, 0] = 0.0
    step = np.zeros((count + 1, other + 1, 2), np.int64)
    for i in range(count + 1):
        for j in range(other + 1):
            for n in range(min(i, _LARGEST) + 1):
                for m in range(min(j, _LARGEST - n) + 1):
                    if n + m == 0 or (n * m == 0 and n + m > 1):
                        continue
                    score = _SKIP if n * m == 0 else _margin(sides, letters, (i - n, i), (j - m, j))
                    if best[i - n, j - m] + score > best[i, j]:
                        best[i, j], step[i, j] = best[i - n, j - m] + score, (n, m)
    beads, (i, j) = [], (count, other)
    while i or j:
        n, m = step[i, j].tolist()
        beads.append((tuple(range(i - n, i)), tuple(range(j - m, j))))
        i, j = i - n, j - m
    return beads[::-1]


def _prefixes(vectors: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, 0, dtype=np.float64)])


def _margin(sides: list[np.ndarray], letters: list[np.ndarray], x: tuple[int, int], y: tuple[int, int]) -> float:
    def cosine(a: tuple[int, int], b: tuple[int, int]) -> float:
        left, right = sides[0][a[1]] - sides[0][a[0]], sides[1][b[1]] - sides[1][b[0]]
        return float(left @ right / max(np.linalg.norm(left) * np.linalg.norm(right), 1e-9))

    beside = []
    for number, span in enumerate((x, y)):
        last = len(sides[number]) - 1
        around = [(span[0] - 1, span[0])] * (span[0] > 0) + [(span[1], span[1] + 1)] * (span[1] < last)
        beside.append([cosine(part, y) if number == 0 else cosine(x, part) for part in around])
    lengths = letters[0][x[1]] - letters[0][x[0]], letters[1][y[1]] - letters[1][y[0]]
    neighbours = sum(float(np.mean(rows)) if rows else 0.0 for rows in beside) / 2
    return (cosine(x, y) - neighbours) * float(np.log2(1 + min(lengths) / max(max(lengths), 1e-9)))
