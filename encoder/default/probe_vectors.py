"""Vectors of held-out translations, coded: some hundred pairs for each language with English, of several domains.

Vectors of all languages that translate the same English sentence are in one group, which gives pairs of any two.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from encoder.languages import canonical
from encoder.product_code import ProductCode
from mining.errors import InputError

PROBES = "probes.safetensors"
_BYTES = 128  # of a vector: 4 bits a dimension at 256


class Probes(NamedTuple):
    """Row `i` of both is one pair; unit vectors."""

    source: np.ndarray  # (pairs, dim) float32
    target: np.ndarray  # (pairs, dim) float32


class ProbeVectors(NamedTuple):
    """Vectors with their language (index in `languages`) and group."""

    vectors: np.ndarray  # (n, dim) float32
    language: np.ndarray  # (n,) uint8
    group: np.ndarray  # (n,) int32
    languages: tuple[str, ...]

    def pairs(self, source: str, target: str) -> Probes:
        """All pairs of two languages, through the English sentence that both translate; there may be none."""
        left, right = self._rows(source), self._rows(target)
        _, here, there = np.intersect1d(self.group[left], self.group[right], assume_unique=True, return_indices=True)
        return Probes(self.vectors[left[here]], self.vectors[right[there]])

    def _rows(self, lang: str) -> np.ndarray:
        code = canonical(lang)
        if code not in self.languages:
            return np.zeros(0, np.int64)
        return np.flatnonzero(self.language == self.languages.index(code))


def write_probes(path: Path, probes: ProbeVectors) -> None:
    from encoder.product_fit import fit  # its compiler is of no use to those who only read

    coded = fit(probes.vectors, min(_BYTES, probes.vectors.shape[1]))
    tensors = {
        "codes": coded.codes,
        "codebook": coded.codebook.astype(np.float16),
        "language": probes.language,
        "group": probes.group,
    }
    save_file(tensors, path, {"languages": " ".join(probes.languages)})


def read_probes(path: Path) -> ProbeVectors:
    try:
        tensors = load_file(path)
        with safe_open(path, "numpy") as file:
            languages = tuple(file.metadata()["languages"].split())
        coded = ProductCode(tensors["codes"], tensors["codebook"], np.ones(len(tensors["codes"]), np.float32))
    except FileNotFoundError:
        raise InputError(f"{path} is missing; install twinlode again") from None
    except (SafetensorError, KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error}); install twinlode again") from None
    vectors = coded.rows()
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return ProbeVectors(vectors, tensors["language"], tensors["group"], languages)
