"""SentencePiece: training on a balanced sample of many languages, and encoding by the batch."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import sentencepiece
from pydantic import BaseModel, ConfigDict, Field

from encoder.known_words import WordTable
from encoder.languages import canonical
from encoder.normalize import require_text
from encoder.tokens import Tokens
from mining.errors import InputError
from mining.files import atomic_writer

PAD_ID, UNK_ID = 0, 1
SPACE_PIECE = "\u2581"
_LANGUAGE_TOKEN = re.compile(r"<2([a-z]{2,3})>")
_TOO_HIGH = re.compile(r"Vocabulary size too high .*<= (\d+)")
_TOO_LOW = re.compile(r"smaller than required_chars\. \d+ vs (\d+)")


class SubwordSettings(BaseModel):
    """How to train SentencePiece; the defaults are those of EMS.

    `vocabulary` counts pad and unk but not the language tokens, which come on top.
    `temperature` flattens the share of each language: n^(1/temperature), so 1 keeps the corpus as it is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    vocabulary: int = Field(60_000, ge=8, description="Subwords.")
    model: Literal["bpe", "unigram"] = Field("bpe", description="SentencePiece's algorithm.")
    character_coverage: float = Field(
        0.9995, gt=0, le=1, description="Share of characters that get a subword; rarer ones are unknown."
    )
    sample_sentences: int = Field(2_000_000, ge=1, description="Sentences that it is learned from, at most.")
    temperature: float = Field(
        2.0, ge=1, description="Of the sample over languages: 1 takes them as they are, more evens them out."
    )
    random_seed: int = Field(0, description="For the sample.")


def train_subword(
    sentences_by_lang: Mapping[str, Iterable[str]], settings: SubwordSettings, out: str | os.PathLike[str]
) -> None:
    """Train on sentences that are already sampled, normalized and segmented, and write the model to `out`."""
    by_lang = {canonical(lang): sentences for lang, sentences in sentences_by_lang.items()}
    if len(by_lang) < len(sentences_by_lang):
        raise InputError(f"two of the languages {', '.join(sentences_by_lang)} are the same one; merge their sentences")
    sample = [sentence for lang in sorted(by_lang) for sentence in by_lang[lang]]
    if not sample:
        raise InputError("there is no sentence to train SentencePiece on; the corpus is empty")
    model = io.BytesIO()
    languages = sorted(by_lang)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sample),
            model_writer=model,
            model_type=settings.model,
            vocab_size=settings.vocabulary + len(languages),
            character_coverage=settings.character_coverage,
            # Ours is done before, and keeps what NFKC would destroy (see encoder.normalize).
            normalization_rule_name="identity",
            pad_id=PAD_ID,
            unk_id=UNK_ID,
            bos_id=-1,
            eos_id=-1,
            # Control symbols, so that no text can spell one.
            control_symbols=[f"<2{lang}>" for lang in languages],
            num_threads=os.cpu_count() or 1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _advice(error, settings, len(sample), len(languages)) from None
    with atomic_writer(str(out)) as stream:
        stream.write(model.getvalue())


def _advice(error: RuntimeError, settings: SubwordSettings, sentences: int, languages: int) -> Exception:
    if found := _TOO_HIGH.search(str(error)):
        return InputError(
            f"a vocabulary of {settings.vocabulary} is too large for a sample of {sentences} sentences; "
            f"set it to {int(found[1]) - languages} or less, or give more text"
        )
    if found := _TOO_LOW.search(str(error)):
        return InputError(
            f"a vocabulary of {settings.vocabulary} is too small for the characters of the corpus; "
            f"set it to {int(found[1]) - languages} or more, or lower character_coverage"
        )
    return error


class Subword:
    """A trained SentencePiece model; pickles as its bytes."""

    pad_id = PAD_ID
    unk_id = UNK_ID

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self._words = WordTable()
        control = filter(self._processor.is_control, range(len(self._processor)))
        found = ((_LANGUAGE_TOKEN.fullmatch(self._processor.id_to_piece(i)), i) for i in control)
        self._language_ids = {match[1]: i for match, i in found if match}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Subword:
        try:
            subword = cls(Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from None
        except RuntimeError:
            raise InputError(f"{path} is not a SentencePiece model") from None
        if (subword._processor.pad_id(), subword._processor.unk_id()) != (PAD_ID, UNK_ID):
            raise InputError(
                f"{path}: its pad and unk are not tokens {PAD_ID} and {UNK_ID}; train it with train_subword"
            )
        return subword

    def __reduce__(self) -> tuple[type[Subword], tuple[bytes]]:
        return Subword, (self.model,)

    @property
    def vocabulary(self) -> int:
        """The number of token ids, language tokens included."""
        return len(self._processor)

    def is_text(self, token: int) -> bool:
        """Whether text can spell the token."""
        found = self._processor
        return not any(is_it(token) for is_it in (found.is_control, found.is_unknown, found.is_unused, found.is_byte))

    def word_starts(self) -> np.ndarray:
        """(vocabulary,) bool: the tokens that begin a word."""
        return np.fromiter((piece.startswith(SPACE_PIECE) for piece in self.pieces()), bool, len(self._processor))

    def pieces(self) -> list[str]:
        """The text of each token; pad, unk and language tokens have none."""
        whole = range(len(self._processor))
        return [self._processor.id_to_piece(i) if self.is_text(i) else "" for i in whole]

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(sorted(self._language_ids))

    def encode(self, sentences: Sequence[str], *, threads: int = 1) -> Tokens:
        """Token ids of every sentence, exactly as SentencePiece gives them for the sentence alone.

        No piece crosses a space, so each distinct word is encoded once, remembered, and gathered by index.
        """
        try:
            if any(SPACE_PIECE in sentence for sentence in sentences):  # which SentencePiece takes for a space
                return self._encode_rows(list(sentences), threads)
            return self._words.encode(sentences, partial(self._encode_rows, threads=threads))
        except (TypeError, UnicodeEncodeError):
            require_text(sentences)
            raise

    def _encode_rows(self, texts: list[str], threads: int) -> Tokens:
        return Tokens.from_lists(self._processor.encode(texts, out_type=int, num_threads=threads))

    def decode(self, tokens: Tokens) -> list[str]:
        """The segmented text of each sentence; language tokens and padding leave no trace."""
        rows = [row.tolist() for row in np.split(tokens.ids, tokens.offsets[1:-1])] if len(tokens.offsets) > 1 else []
        return self._processor.decode(rows) if rows else []
