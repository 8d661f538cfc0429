"""Text in, vectors out: segmentation, SentencePiece, models, objectives, training and inference.

>>> from encoder import Encoder
>>> vectors = Encoder.load("runs/small/best").encode(["Good morning."], "en")

The names here are the public ones; docs/how-to/python.md has an example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mining.lazy import lazy_attributes

if TYPE_CHECKING:
    from encoder.inference import Encoder
    from encoder.settings import load_settings
    from encoder.training.session import train
    from encoder.training.training_settings import TrainSettings

    __version__: str

__all__ = ["Encoder", "TrainSettings", "__version__", "load_settings", "train"]

__getattr__ = lazy_attributes(
    "encoder",
    {
        "Encoder": "encoder.inference",
        "TrainSettings": "encoder.training.training_settings",
        "load_settings": "encoder.settings",
        "train": "encoder.training.session",
    },
)
