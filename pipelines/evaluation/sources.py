"""Where vectors come from: any encoder, or files of vectors that were computed elsewhere."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol, TextIO

import numpy as np
import xxhash

from encoder import Encoder
from encoder.checkpoint import file_hash, is_checkpoint
from encoder.settings import ComputeType
from mining.errors import InputError
from mining.files import atomic_text
from mining.vectors import open_vectors
from pipelines.evaluation.benchmark_files import Texts

VECTOR_ENDINGS = (".npy", ".arrow")
_PIECE = 1 << 16  # sentences encoded at a time, which bounds memory
_MOST_REMEMBERED = 200_000  # sentences whose vectors are looked for when another text has them, too
Report = Callable[[str, int, int], None]  # text, sentences done, sentences in all


class EncoderNeeded(InputError):
    """The benchmark takes more of an encoder than its vectors."""


class VectorSource(Protocol):
    """Vectors of texts, and what a reader of the figures must know about their maker."""

    name: str
    fingerprint: str
    truncation: str

    def vectors(self, texts: Texts) -> np.ndarray:
        """(sentences, dim) float32, row by row those of `texts`."""
        ...

    def passing(self, name: str, parts: Iterable[list[str]], lang: str | None) -> Iterator[np.ndarray]:
        """The same for a text too large to keep, part by part; nothing is remembered."""
        ...


class EncodedTexts:
    """Vectors by an encoder; a sentence is encoded once however many texts have it, and waits in a temporary file."""

    def __init__(self, encoder: Encoder, name: str, report: Report = lambda text, done, total: None) -> None:
        self.encoder = encoder
        self.name = name
        self.fingerprint = encoder.fingerprint
        self.truncation = _truncation(encoder)
        self._report = report
        self._spool = tempfile.TemporaryDirectory(prefix="twinlode-eval-")
        self._known: dict[tuple[str, str | None], np.ndarray] = {}
        self._places: dict[tuple[str, str | None], tuple[np.ndarray, int]] = {}  # of the vectors of sentences

    def vectors(self, texts: Texts) -> np.ndarray:
        key = texts.digest, texts.lang
        if key not in self._known:
            self._known[key] = self._encode(texts, Path(self._spool.name) / f"{len(self._known)}.npy")
        return self._known[key]

    def passing(self, name: str, parts: Iterable[list[str]], lang: str | None) -> Iterator[np.ndarray]:
        done = 0
        for lines in parts:
            self._report(name, done, done + len(lines))
            yield self.encoder.encode(lines, lang)
            done += len(lines)

    def _encode(self, texts: Texts, path: Path) -> np.ndarray:
        shape = (len(texts), self.encoder.dim)
        if not len(texts):
            return np.empty(shape, np.float32)
        stored = np.lib.format.open_memmap(path, "w+", np.float32, shape)
        new = []
        for row, line in enumerate(texts.lines):
            place = self._places.get((line, texts.lang))
            if place is None:
                new.append(row)
            else:
                stored[row] = place[0][place[1]]
        for start in range(0, len(new), _PIECE):
            self._report(texts.name, start, len(new))
            rows = new[start : start + _PIECE]
            stored[rows] = self.encoder.encode([texts.lines[row] for row in rows], texts.lang)
        if len(self._places) < _MOST_REMEMBERED:
            self._places |= {(texts.lines[row], texts.lang): (stored, row) for row in new[:_MOST_REMEMBERED]}
        return stored


class VectorFolder:
    """Vectors computed elsewhere: those of the text file `X` are in `X.npy` or `X.arrow`, under the same folders.

    Of a file with two columns of sentences (STS, PAWS-X) they are in `X.1.npy` and `X.2.npy`; X has no .xz or .gz.
    `TextWriter` writes all texts that a benchmark needs vectors of.
    """

    truncation = "unknown (precomputed vectors)"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = folder.name
        self.fingerprint = _folder_fingerprint(folder)

    def has(self, texts: Texts) -> bool:
        return self._path(texts) is not None

    def _path(self, texts: Texts) -> Path | None:
        return next((p for p in (self.folder / (texts.name + end) for end in VECTOR_ENDINGS) if p.is_file()), None)

    def vectors(self, texts: Texts) -> np.ndarray:
        path = self._require(texts, f" ({len(texts):,} sentences)")
        return np.asarray(open_vectors(str(path), rows=len(texts)).stored, np.float32)

    def passing(self, name: str, parts: Iterable[list[str]], lang: str | None) -> Iterator[np.ndarray]:
        path = self._require(Texts(name, [], lang))
        stored, start = open_vectors(str(path)).stored, 0
        for lines in parts:
            yield np.asarray(stored[start : start + len(lines)], np.float32)
            start += len(lines)
        if start != len(stored):
            raise InputError(f"{path}: {len(stored):,} vectors, but {name} has {start:,} lines")

    def _require(self, texts: Texts, size: str = "") -> Path:
        path = self._path(texts)
        if path is None:
            raise InputError(
                f"{self.folder / texts.name}.npy: no such file; precomputed vectors of {texts.name}{size} must be "
                "there, as .npy or .arrow"
            )
        return path


class RandomVectors:
    """Random vectors: what a benchmark reads and which scores it gives can be seen without any encoder."""

    name, fingerprint, truncation = "none", "none", "none"

    def vectors(self, texts: Texts) -> np.ndarray:
        return np.concatenate([np.zeros((0, 4), np.float32), *self.passing(texts.name, [texts.lines], texts.lang)])

    def passing(self, name: str, parts: Iterable[list[str]], lang: str | None) -> Iterator[np.ndarray]:
        for lines in parts:
            yield np.random.default_rng(0).normal(size=(len(lines), 4)).astype(np.float32)


class TextWriter(RandomVectors):
    """Writes the texts of a benchmark where `VectorFolder` will look for their vectors."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: dict[str, int] = {}

    def passing(self, name: str, parts: Iterable[list[str]], lang: str | None) -> Iterator[np.ndarray]:
        self.written[name] = 0
        with atomic_text(str(self.folder / name)) as stream:
            yield from super().passing(name, self._copied(name, parts, stream), lang)

    def _copied(self, name: str, parts: Iterable[list[str]], stream: TextIO) -> Iterator[list[str]]:
        for lines in parts:
            # A line feed inside a text would shift all that follow.
            stream.writelines(" ".join(line.splitlines()) + "\n" for line in lines)
            self.written[name] += len(lines)
            yield lines


def load_source(
    path: str,
    report: Report = lambda text, done, total: None,
    device: str = "auto",
    *,
    compute_dtype: ComputeType = "float32",
    trust_remote_code: bool = False,
) -> VectorSource:
    """A folder of vector files, or anything that `Encoder.load` takes."""
    folder = Path(path)
    if folder.is_dir() and not is_checkpoint(folder) and not (folder / "config.json").exists():
        if any(path.suffix in VECTOR_ENDINGS for path in folder.rglob("*")):
            return VectorFolder(folder)
        if not (folder / "modules.json").exists():
            raise InputError(
                f"{path} is neither a checkpoint, a Hugging Face or sentence-transformers folder, nor a folder of "
                "vectors (.npy or .arrow)"
            )
    encoder = Encoder.load(path, device, compute_dtype=compute_dtype, trust_remote_code=trust_remote_code)
    return EncodedTexts(encoder, path, report)


def _truncation(encoder: Encoder) -> str:
    limits = [getattr(getattr(encoder.text, "settings", None), "max_tokens", None), encoder.model.max_tokens]
    known = [limit for limit in limits if limit]
    return f"{min(known)} tokens" if known else "none"


def _folder_fingerprint(folder: Path) -> str:
    total = xxhash.xxh3_128()
    for path in sorted(p for p in folder.rglob("*") if p.suffix in VECTOR_ENDINGS):
        total.update(f"{path.relative_to(folder).as_posix()} {file_hash(path)}\n".encode())
    return total.hexdigest()
