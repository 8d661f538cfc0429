"""Text in, vectors out: segmentation, SentencePiece, models, objectives, training and inference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from encoder.inference import Encoder

__all__ = ["Encoder"]


def __getattr__(name: str) -> Any:
    # torch takes seconds to import, and `encoder.languages` alone does not need it
    if name == "Encoder":
        from encoder.inference import Encoder

        return Encoder
    raise AttributeError(f"module 'encoder' has no attribute {name!r}")
