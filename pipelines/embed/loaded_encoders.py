"""Encoders in the memory of this process: loaded once, however many steps of a mine ask for them.

Steps get descriptors, as they may run on other machines, so an encoder is not handed on to them. What one step holds,
another finds here; when nobody holds it any more, its memory is free.
"""

from __future__ import annotations

from weakref import WeakValueDictionary

from encoder.inference import Encoder
from encoder.settings import ComputeType
from mining.threads import core_count

_HELD: WeakValueDictionary[str, Encoder] = WeakValueDictionary()


def load_encoder(
    path: str,
    device: str,
    threads: int | None,
    *,
    compute_dtype: ComputeType = "float32",
    trust_remote_code: bool = False,
) -> Encoder:
    """The encoder to embed with."""
    loaded = Encoder.load(
        path, device, threads or core_count(), compute_dtype=compute_dtype, trust_remote_code=trust_remote_code
    )
    if compute_dtype == "float32":  # later steps would else depend on whether they find it here
        _HELD[path] = loaded
    return loaded


def held_encoder(path: str) -> Encoder:
    """The encoder that this process has in memory already, or else loaded now."""
    return _HELD.get(path) or Encoder.load(path)
