"""The whole text path: normalise, segment, cut into subwords, truncate."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from encoder.errors import InputError
from encoder.normalise import NormaliseSettings, lowercase, normalise
from encoder.segment import segment
from encoder.subword import Subword
from encoder.tokens import Tokens


class TextSettings(BaseModel):
    """What happens to a sentence before a model sees it; the defaults are those of EMS."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    normalise: NormaliseSettings = NormaliseSettings()
    segment: bool = True
    jumanpp: bool = False
    max_tokens: int = Field(120, ge=1)


def prepare(sentences: Sequence[str], lang: str | None, settings: TextSettings) -> list[str]:
    """Sentences as SentencePiece is trained on them and encodes them.

    Lower case comes after segmentation, which tells a full stop from an abbreviation by the capital that follows.
    """
    if not settings.segment:
        return normalise(sentences, settings.normalise)
    cased = normalise(sentences, settings.normalise.model_copy(update={"lowercase": False}))
    segmented = segment(cased, lang, jumanpp=settings.jumanpp)
    return lowercase(segmented) if settings.normalise.lowercase else segmented


class TextEncoder:
    """Sentences to token ids; cheap to pickle, so that workers of any kind can have one each.

    Segmentation holds the interpreter lock: `threads` are SentencePiece's, and more cores want more processes.
    """

    def __init__(self, settings: TextSettings, subword: Subword, *, threads: int = 1) -> None:
        self.settings = settings
        self.subword = subword
        self.threads = threads

    def encode(self, sentences: Sequence[str], lang: str | None) -> Tokens:
        """The first `max_tokens` ids of every sentence, in order; an empty sentence has none."""
        if isinstance(sentences, str):
            raise InputError("encode takes a list of sentences, not one string; write [sentence]")
        prepared = prepare(sentences, lang, self.settings)
        return self.subword.encode(prepared, threads=self.threads).truncate(self.settings.max_tokens)
