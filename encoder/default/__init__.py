"""The encoder that comes with the package: its folder, what it knows of each language, and its probe vectors.

`model/` is an encoder folder like any other. `card.json` names and versions it, with a figure for each language.
`probes.safetensors` holds vectors of held-out translations, so that a threshold for a wanted precision needs no seed
pairs; they fit this encoder alone.
"""

from __future__ import annotations

from encoder.default.folder import card, check, has_default, model_folder, probes, probes_fingerprint, status
from encoder.default.language_card import Card, Figure, Status, read_card
from encoder.default.probe_vectors import Probes

__all__ = [
    "Card",
    "Figure",
    "Probes",
    "Status",
    "card",
    "check",
    "has_default",
    "model_folder",
    "probes",
    "probes_fingerprint",
    "read_card",
    "status",
]
