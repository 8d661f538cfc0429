"""The default encoder of this installation, as functions."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from encoder.default.language_card import CARD, Card, Status, read_card
from encoder.default.probe_vectors import PROBES, Probes, ProbeVectors, read_probes
from mining.errors import InputError

ROOT = Path(__file__).parent
MODEL = "model"


def has_default() -> bool:
    """Whether this installation brings an encoder; a checkout before its release does not."""
    return (ROOT / CARD).is_file()


def model_folder() -> Path:
    """What `Encoder.load()` loads."""
    _require()
    return ROOT / MODEL


def card() -> Card:
    _require()
    return _card(ROOT)


def status(lang: str) -> Status:
    """How well the default encoder knows a language, and a warning where it does not."""
    return card().status(lang)


def probes(source: str, target: str, *, encoder: str | None = None) -> Probes:
    """Vectors of pairs that the default encoder was not trained on, for a threshold without seed pairs.

    `encoder` is the fingerprint of the encoder in use: vectors of another one would say nothing about it.
    """
    if encoder is not None and encoder != card().fingerprint:
        raise InputError(f"probe vectors are those of {card().name}; this is another encoder, so give seed pairs")
    _require()
    return _probes(ROOT).pairs(source, target)


def probes_fingerprint() -> str:
    """A hash of the probe vectors of this installation."""
    return card().files[PROBES]


def check(root: Path | None = None) -> None:
    """Refuse an installation whose files do not fit each other."""
    from encoder.checkpoint import content_fingerprint

    root = root or ROOT
    found = read_card(root)
    if content_fingerprint(root / MODEL) != found.fingerprint:
        raise InputError(f"{root / MODEL}: its files do not fit the fingerprint {found.fingerprint} of {found.name}")
    for name, digest in found.files.items():
        if not (root / name).is_file() or hashlib.sha256((root / name).read_bytes()).hexdigest() != digest:
            raise InputError(f"{root / name}: missing, or not that of {found.name}; install twinlode again")


def _require() -> None:
    if not has_default():
        raise InputError("no default encoder in this installation; name one with --encoder")


@cache
def _card(root: Path) -> Card:
    return read_card(root)


@cache
def _probes(root: Path) -> ProbeVectors:
    return read_probes(root / PROBES)
