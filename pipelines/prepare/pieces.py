"""The text side of an encoder folder, for stages that cut sentences into subwords without loading the model."""

from __future__ import annotations

from functools import lru_cache

import xxhash
import yaml

from encoder.settings import validate_settings
from encoder.subword import Subword
from encoder.text import TextEncoder, TextSettings, tokenizer_fingerprint
from mining.errors import InputError
from mining.paths import exists, open_url
from pipelines.datasets.manifest import SUBWORDS, Input, fingerprint, join

# As encoder.checkpoint names them, which loads torch and so is not for text workers.
CONFIG = "config.yaml"
SUBWORD = "sentencepiece.model"


def load_text_encoder(folder: str, threads: int = 1) -> TextEncoder:
    """The text path of the encoder at a path or URL; the same object again for the same files."""
    return _build(join(folder, CONFIG), _bytes(folder, CONFIG), _bytes(folder, SUBWORD), threads)


def has_subwords(folder: str) -> bool:
    """Whether the encoder of a checkpoint cuts sentences by subwords of its own, and not by a pretrained tokenizer."""
    return exists(join(folder, SUBWORD))


def pieces_tokenizer(folder: str) -> str:
    """How training names the text path that makes pieces, so that it takes them in place of its own."""
    encoder = load_text_encoder(folder)
    return tokenizer_fingerprint(xxhash.xxh3_128_hexdigest(encoder.subword.model), encoder.settings)


@lru_cache(maxsize=2)
def _build(where: str, config: bytes, subword: bytes, threads: int) -> TextEncoder:
    tree = yaml.safe_load(config)
    if not isinstance(tree, dict):
        raise InputError(f"{where}: settings must be `key: value` lines")
    settings = validate_settings(TextSettings, tree.get("text") or {}, where)
    return TextEncoder(settings, Subword(subword), threads=threads)


def text_encoder_input(folder: str) -> Input:
    """The fingerprint of everything that decides which pieces a sentence becomes."""
    encoder = load_text_encoder(folder)
    return Input(role=SUBWORDS, name=folder, fingerprint=fingerprint(encoder.settings, encoder.subword.model))


def _bytes(folder: str, name: str) -> bytes:
    try:
        with open_url(join(folder, name)) as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError):
        hint = "; a pretrained encoder cuts sentences while it embeds, prepare without it" if name == SUBWORD else ""
        raise InputError(f"{folder} is not an encoder folder with subwords: it has no {name}{hint}") from None
