"""Brute force: what the kernels must agree with. The LASER procedure follows its published description."""

from dataclasses import replace

import numpy as np

from mining.vectors import Vectors


def cosine_matrix(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = x.astype(np.float64), y.astype(np.float64)
    x, y = x / np.linalg.norm(x, axis=1, keepdims=True), y / np.linalg.norm(y, axis=1, keepdims=True)
    return (x @ y.T).astype(np.float32)


def nearest(similarities: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids and scores (rows, min(k, columns)), best first, ties by lowest id."""
    ids = np.argsort(-similarities, axis=1, kind="stable")[:, :k]
    return ids, np.take_along_axis(similarities, ids, 1)


def laser_pairs(x: np.ndarray, y: np.ndarray, k: int, margin: str, retrieval: str) -> list[tuple[int, int, float]]:
    """LASER's mining: means of k neighbours, a margin for every candidate, best per row, then the retrieval."""
    similarities = cosine_matrix(x, y)
    forward, forward_sim = nearest(similarities, k)
    backward, backward_sim = nearest(similarities.T, k)
    a, b = forward_sim.mean(1, dtype=np.float64), backward_sim.mean(1, dtype=np.float64)
    functions = {"absolute": lambda c, m: c, "distance": lambda c, m: c - m, "ratio": lambda c, m: c / m}
    score = functions[margin]
    forward_scores = np.array([[score(s, (a[i] + b[j]) / 2) for j, s in zip(forward[i], forward_sim[i], strict=True)]
                               for i in range(len(x))])  # fmt: skip
    backward_scores = np.array([[score(s, (a[i] + b[j]) / 2) for i, s in zip(backward[j], backward_sim[j], strict=True)]
                                for j in range(len(y))])  # fmt: skip
    forward_best = forward[np.arange(len(x)), forward_scores.argmax(1)]
    backward_best = backward[np.arange(len(y)), backward_scores.argmax(1)]
    forward_edges = [(i, int(j), s) for i, (j, s) in enumerate(zip(forward_best, forward_scores.max(1), strict=True))]
    backward_edges = [
        (int(i), j, s) for j, (i, s) in enumerate(zip(backward_best, backward_scores.max(1), strict=True))
    ]
    if retrieval == "forward":
        return forward_edges
    if retrieval == "backward":
        return backward_edges
    if retrieval == "intersect":
        both = {edge[:2] for edge in backward_edges}
        return [edge for edge in forward_edges if edge[:2] in both]
    taken_x, taken_y, pairs = set(), set(), []
    for i, j, s in sorted(forward_edges + backward_edges, key=lambda edge: -edge[2]):
        if i not in taken_x and j not in taken_y:
            taken_x.add(i)
            taken_y.add(j)
            pairs.append((i, j, s))
    return pairs


def excluding(vectors: Vectors, rows: np.ndarray) -> Vectors:
    """The same file with some rows kept out, as rows without a direction are."""
    inverse_norms = vectors.inverse_norms.copy()
    inverse_norms[rows] = np.nan
    return replace(vectors, inverse_norms=inverse_norms)
