"""Any encoder of ours as a model of the `mteb` package: `mteb.evaluate(MtebModel("runs/small/best"), tasks)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from encoder import Encoder
from mining.errors import InputError
from mining.language_id import detect

try:
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ModelMeta, ScoringFunction
except ImportError:
    raise InputError("mteb is not installed: pip install 'twinlode[mteb]'") from None

_SAMPLE = 300


class MtebModel(AbsEncoder):
    """The language of a batch decides how it is segmented; mteb does not tell it, so it is detected from the text."""

    def __init__(self, model_name: str | None = None, revision: str | None = None, **kwargs: Any) -> None:
        """`model_name` is whatever `Encoder.load` takes; with none, it is the encoder of the package."""
        self.encoder = Encoder.load(model_name, **kwargs)
        name = PurePosixPath(model_name).name if model_name else "default"
        about = {
            "name": f"twinlode/{name}",
            "revision": revision or self.encoder.fingerprint,
            "embed_dim": self.encoder.dim,
            "similarity_fn_name": ScoringFunction.COSINE,
            "framework": ["PyTorch"],
        }
        self.mteb_model_meta = ModelMeta.create_empty(about)

    def encode(self, inputs: Iterable[Mapping[str, Any]], **_: Any) -> np.ndarray:
        """Unit vectors of the `text` of all batches."""
        texts = [text for batch in inputs for text in batch["text"]]
        return self.encoder.encode(texts, _language(texts), normalize=True)


def _language(texts: list[str]) -> str | None:
    found = detect(texts[:: max(1, len(texts) // _SAMPLE)])
    return found.language if found.sure else None
