"""A source of vectors whose sentences are the vectors, and files made for a test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from pipelines.evaluation.benchmark_files import Texts


class LiteralVectors:
    """The sentence "1 0.5" has the vector (1, 0.5)."""

    fingerprint = "literal"
    truncation = "none"

    def __init__(self, name: str = "literal", noise: float = 0.0) -> None:
        self.name = name
        self.noise = noise

    def vectors(self, texts: Texts) -> np.ndarray:
        exact = np.array([[float(word) for word in line.split()] for line in texts.lines], np.float32)
        spread = np.random.default_rng(list(texts.name.encode())).normal(size=exact.shape) * self.noise
        return (exact + spread).astype(np.float32)

    def passing(self, name: str, parts: Iterable[list[str]], lang: str | None) -> Iterator[np.ndarray]:
        return (self.vectors(Texts(name, lines, lang)) for lines in parts)


def write(folder: Path, name: str, *lines: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def literal(vectors: np.ndarray) -> list[str]:
    return [" ".join(f"{value:.6f}" for value in row) for row in vectors]


def scores_of(outcome: object) -> dict[tuple[str, str], float]:
    return {(score.dataset, score.metric): score.value for score in outcome.scores}  # type: ignore[attr-defined]
