"""The text side of an encoder folder, for stages that cut sentences into subwords without loading the model."""

from __future__ import annotations

from typing import Any

import fsspec
import yaml

from encoder.settings import validate_settings
from encoder.subword import Subword
from encoder.text import TextEncoder, TextSettings
from mining.errors import InputError
from pipelines.datasets import Input, fingerprint, join

CONFIG = "config.yaml"
SUBWORD = "sentencepiece.model"


def load_text_encoder(folder: str, threads: int = 1) -> TextEncoder:
    """The text path of the encoder at a path or URL."""
    tree = yaml.safe_load(_bytes(folder, CONFIG))
    where = join(folder, CONFIG)
    section: Any = tree.get("text") if isinstance(tree, dict) else None
    if not isinstance(section, dict):
        raise InputError(
            f"{where} has no `text` section; this encoder brings no text path of ours, embed without pieces"
        )
    return TextEncoder(
        validate_settings(TextSettings, section, where), Subword(_bytes(folder, SUBWORD)), threads=threads
    )


def text_encoder_input(folder: str) -> Input:
    """The fingerprint of everything that decides which pieces a sentence becomes."""
    encoder = load_text_encoder(folder)
    return Input(name=folder, fingerprint=fingerprint(encoder.settings, encoder.subword.model))


def _bytes(folder: str, name: str) -> bytes:
    try:
        with fsspec.open(join(folder, name), "rb") as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder} is not an encoder folder: it has no {name}") from None
