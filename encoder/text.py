"""The whole text path: normalize, segment, cut into subwords, truncate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

from encoder.known_words import Segmenter, WordTable
from encoder.normalize import NormalizeSettings, lowercase, normalize, require_text
from encoder.segment import by_word, segment
from encoder.subword import SPACE_PIECE, Subword
from encoder.tokens import Tokens
from mining.errors import InputError


class TextSettings(BaseModel):
    """What happens to a sentence before a model sees it; the defaults are those of EMS."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    normalize: NormalizeSettings = NormalizeSettings()
    segment: bool = Field(True, description="Cut words as their language does, before subwords.")
    jumanpp: bool = Field(False, description="Segment Japanese by Juman++, which must be installed.")
    simplified_chinese: bool = Field(
        False, description="Write traditional Chinese, where `lang` says it is Chinese, in simplified characters."
    )
    clitics: bool = Field(
        False,
        description="Cut conjunctions, article and pronouns off Arabic words, where `lang` says it is Arabic.",
    )
    max_tokens: int = Field(120, ge=1, description="Longer sentences are cut.")

    @model_validator(mode="after")
    def _segmenter_does_them(self) -> TextSettings:
        for step in ("simplified_chinese", "clitics"):
            if getattr(self, step) and not self.segment:
                raise ValueError(f"{step} is a step of segmentation; switch on segment, or leave both off")
        return self

    def segmentation(self) -> dict[str, bool]:
        """What `encoder.segment` takes."""
        return {"jumanpp": self.jumanpp, "simplified": self.simplified_chinese, "clitics": self.clitics}


def prepare(sentences: Sequence[str], lang: str | None, settings: TextSettings) -> list[str]:
    """Sentences as SentencePiece is trained on them and encodes them.

    Lower case comes after segmentation, which tells a full stop from an abbreviation by the capital that follows.
    """
    if not settings.segment:
        return normalize(sentences, settings.normalize)
    cased = normalize(sentences, settings.normalize.model_copy(update={"lowercase": False}))
    segmented = segment(cased, lang, **settings.segmentation())
    return lowercase(segmented) if settings.normalize.lowercase else segmented


def tokenizer_fingerprint(subword: str, settings: TextSettings) -> str:
    """What identifies the tokens of a text path: the hash of its SentencePiece model, and its settings."""
    return f"{subword} {settings!r}"


class NewWords(NamedTuple):
    """Words that were not known yet, their characters, and what it took to cut them into subwords."""

    words: int = 0
    characters: int = 0
    seconds: float = 0.0

    def __add__(self, other: NewWords) -> NewWords:  # type: ignore[override]
        return NewWords(self.words + other.words, self.characters + other.characters, self.seconds + other.seconds)

    def __sub__(self, other: NewWords) -> NewWords:
        return NewWords(self.words - other.words, self.characters - other.characters, self.seconds - other.seconds)


class TextEncoder:
    """Sentences to token ids; cheap to pickle, so that workers of any kind can have one each.

    Segmentation holds the interpreter lock: `threads` are SentencePiece's, and more cores want more processes.
    """

    met: ClassVar[NewWords] = NewWords()  # by all of this process: what a plan counts on

    def __init__(self, settings: TextSettings, subword: Subword, *, threads: int = 1) -> None:
        self.settings = settings
        self.subword = subword
        self.threads = threads
        self._cased = settings.normalize.model_copy(update={"lowercase": False, "whitespace": True})
        self._known: dict[Segmenter, WordTable] = {}

    def __reduce__(self) -> tuple[partial[TextEncoder], tuple[()]]:
        return partial(TextEncoder, self.settings, self.subword, threads=self.threads), ()

    def encode(
        self, sentences: Sequence[str], lang: str | None, *, normalized: NormalizeSettings | None = None
    ) -> Tokens:
        """The first `max_tokens` ids of every sentence, in order; an empty sentence has none.

        They are those of `prepare` and then SentencePiece, but each distinct word takes that way only once. Steps
        that the sentences are `normalized` by already are not taken again.
        """
        if isinstance(sentences, str):
            raise InputError("encode takes a list of sentences, not one string; write [sentence]")
        settings = self.settings
        cut = by_word(lang, **settings.segmentation()) if settings.segment else None
        try:
            steps = self._cased if normalized is None else self._cased.after(normalized)
            tokens = self._gather(normalize(sentences, steps), cut) if cut is not None else None
        except (TypeError, UnicodeEncodeError, InputError):
            require_text(sentences)
            raise
        if tokens is None:
            tokens = self.subword.encode(prepare(sentences, lang, settings), threads=self.threads)
        return tokens.truncate(settings.max_tokens)

    def _gather(self, sentences: Sequence[str], cut: Segmenter) -> Tokens | None:
        if any(SPACE_PIECE in sentence for sentence in sentences):  # which SentencePiece takes for a space
            return None
        known = self._known.setdefault(cut, WordTable())
        return known.encode(list(map(cut.spaced, sentences)), partial(self._encode_words, cut))

    def _encode_words(self, cut: Segmenter, words: list[str]) -> Tokens:
        begun = time.thread_time()
        segmented = [cut.tokens(word) for word in words]
        lower = lowercase(segmented) if self.settings.normalize.lowercase else segmented
        tokens = self.subword.encode(lower, threads=self.threads)
        TextEncoder.met += NewWords(len(words), sum(map(len, words)), time.thread_time() - begun)
        return tokens
