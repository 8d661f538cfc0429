"""Sentences and a teacher's vectors of them: read, encoded once, drawn in batches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple, cast

import numpy as np
import torch
from pydantic import Field, model_validator

from encoder.batch import Batch
from encoder.data.examples import Source
from encoder.data.exclusion import is_excluded, read_exclusions
from encoder.data.heldout import HeldOut
from encoder.data.preparation import Tokenizer
from encoder.data.store import text_hashes
from encoder.inference import Encoder
from encoder.settings import Settings
from encoder.tokens import Tokens
from mining.errors import InputError
from mining.files import atomic_path, iterate_lines
from mining.paths import matching, own_name

_ANY = "{lang}"


class TaughtText(Settings):
    """A file of one sentence a line; with `{lang}` in its name all such files, each of the language in that place."""

    path: str = Field(description="The file, compressed or not, such as text.en.txt or text.{lang}.txt.")
    lang: str | None = Field(None, description="Its language, where its name does not tell.")
    vectors: str | None = Field(None, description="The teacher's vectors of its lines (.npy), in place of `encoder`.")

    @model_validator(mode="after")
    def _of_one_language(self) -> TaughtText:
        if (self.lang is None) != (_ANY in _file_name(self.path)):
            raise ValueError(f"{self.path}: give either `lang`, or {_ANY} in the name of the file")
        return self

    def files(self) -> list[TaughtText]:
        """Itself, or one of these for each file that has its name with a language in it."""
        if self.lang is not None:
            return [self]
        before, after = _file_name(self.path).split(_ANY, 1)
        found = {
            _file_name(path).removeprefix(before).removesuffix(after): path
            for path in matching(self.path.replace(_ANY, "*"))
        }
        if not found:
            raise InputError(f"teacher.texts: there is no file {self.path}")
        vectors = self.vectors or ""
        return [
            TaughtText(path=path, lang=lang, vectors=vectors.replace(_ANY, lang) or None)
            for lang, path in sorted(found.items())
        ]


def _file_name(path: str) -> str:
    return PurePosixPath(own_name(path)).name


class TeacherSettings(Settings):
    """Another encoder whose vectors are learned beside the objective: any text in its languages, no translations."""

    texts: tuple[TaughtText, ...] = Field(min_length=1, description="What it teaches.")
    encoder: str | None = Field(None, description="A Hugging Face, sentence-transformers or twinlode encoder.")
    trust_remote_code: bool = Field(False, description="Run Python code that comes with the teacher.")
    sentences: int = Field(100_000, ge=2, description="Most sentences of each file, drawn at random.")
    batch: int = Field(512, ge=2, description="Sentences of one step.")
    weight: float = Field(1.0, gt=0, description="Of all of it beside the objective.")
    features: float = Field(1.0, ge=0, description="Weight of the vectors themselves, by a linear map.")
    similarities: float = Field(1.0, ge=0, description="Weight of the cosines between the sentences of a batch.")

    @model_validator(mode="after")
    def _someone_teaches(self) -> TeacherSettings:
        given = [text.vectors is not None for text in self.texts]
        if any(given) != all(given) or all(given) == (self.encoder is not None):
            raise ValueError("give either `encoder`, or `vectors` for every file of `texts`")
        return self


class Taught(NamedTuple):
    """Sentences as the encoder in training reads them, and the teacher's vectors of them."""

    tokens: Tokens
    vectors: np.ndarray  # (sentences, dim of the teacher)


class TaughtExamples:
    """Rows are (sentence,), numbers in `Taught`."""

    size = 1

    def __init__(self, tokens: Tokens) -> None:
        self._tokens, self._texts = tokens, text_hashes(tokens)
        self.sources = [Source(0, ("taught",), np.arange(len(tokens.lengths))[:, None])]

    def sentences(self, rows: np.ndarray) -> np.ndarray:
        return rows

    def repeats(self, rows: np.ndarray, held_out: HeldOut) -> np.ndarray:
        return held_out.repeated_by(rows, np.zeros((len(rows), 0), np.int64), self._texts)

    def batch(self, rows: np.ndarray, max_tokens: int, rng: np.random.Generator) -> Batch:
        chosen = torch.from_numpy(rows[:, 0])
        number = torch.arange(len(rows))
        tokens = self._tokens.take(rows[:, 0]).truncate(max_tokens).batch()
        return Batch(
            tokens, number, torch.zeros_like(number), torch.from_numpy(self._texts[rows[:, 0]]), chosen, len(rows)
        )


def prepare_teacher(
    settings: TeacherSettings, tokenizer: Tokenizer, cache: Path, seed: int, exclude: Sequence[str]
) -> Taught:
    """All texts of a teacher; vectors that it makes are kept in `cache` for the next run."""
    excluded = read_exclusions(exclude)
    teacher: Encoder | None = None
    parts: list[Taught] = []
    for text in (file for texts in settings.texts for file in texts.files()):
        lang = cast(str, text.lang)
        lines = list(iterate_lines(text.path))
        rows = _choose(lines, settings.sentences, excluded, seed, text.path)
        chosen = [lines[row] for row in rows.tolist()]
        if text.vectors is not None:
            vectors = _given_vectors(text.vectors, len(lines), text.path)[rows]
        else:
            path = cache / f"teacher-{_fingerprint(settings, lang, chosen)}.npy"
            if not path.exists():
                teacher = teacher or Encoder.load(settings.encoder, trust_remote_code=settings.trust_remote_code)
                _save(path, teacher.encode(chosen, lang, normalize=True))
            vectors = np.load(path)
        tokens = tokenizer.encode(chosen, lang)
        kept = np.flatnonzero(tokens.lengths > 0)
        parts.append(Taught(tokens.take(kept), np.asarray(vectors[kept], np.float16)))
    if len({part.vectors.shape[1] for part in parts}) > 1:
        raise InputError("teacher.texts: their vectors differ in dimensions; they must be of one teacher")
    return Taught(Tokens.concatenate([part.tokens for part in parts]), np.concatenate([part.vectors for part in parts]))


def _choose(lines: list[str], most: int, excluded: frozenset[int], seed: int, name: str) -> np.ndarray:
    rows = np.array([n for n, line in enumerate(lines) if line.strip() and not is_excluded([line], excluded)], np.int64)
    if len(rows) < 2:
        raise InputError(f"{name}: fewer than two sentences to learn from a teacher")
    return np.sort(np.random.default_rng(seed).permutation(rows)[:most])


def _given_vectors(path: str, lines: int, text: str) -> np.ndarray:
    try:
        vectors = np.load(path, mmap_mode="r")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a .npy file of vectors ({error})") from None
    if vectors.ndim != 2 or len(vectors) != lines:
        raise InputError(f"{path}: an array {vectors.shape}, but {text} has {lines:,} lines; one row a line is needed")
    return vectors


def _fingerprint(settings: TeacherSettings, lang: str, lines: list[str]) -> str:
    identity = json.dumps([settings.encoder, lang, lines])
    return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _save(path: Path, vectors: np.ndarray) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.save(stream, vectors.astype(np.float16))
