"""Encoders in memory: found while somebody holds them, and not longer."""

from pathlib import Path

import pytest

from encoder.inference import Encoder
from pipelines.embed.loaded_encoders import held_encoder, load_encoder
from tests.pipelines.corpora import write_encoder


def test_what_is_held_is_not_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(write_encoder(tmp_path / "encoder"))
    loads: list[object] = []
    load = Encoder.load
    monkeypatch.setattr(Encoder, "load", lambda *given, **more: (loads.append(given), load(*given, **more))[1])
    first = load_encoder(path, "cpu", 1)
    assert held_encoder(path) is first and len(loads) == 1
    half = Encoder.load(path, "cpu", 1)
    monkeypatch.setattr(Encoder, "load", lambda *given, **more: (loads.append(given), half)[1])
    load_encoder(path, "cuda", 1, compute_dtype="float16")
    assert held_encoder(path) is first  # not what computes otherwise than another process would
    monkeypatch.setattr(Encoder, "load", lambda *given, **more: (loads.append(given), load(*given, **more))[1])
    loads.clear()
    del first
    assert held_encoder(path).dim and len(loads) == 1
