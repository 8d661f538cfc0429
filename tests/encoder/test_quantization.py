"""Product codes of a bag: what they lose, and that a coded encoder is an encoder like any other."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from encoder import Encoder
from encoder.checkpoint import WEIGHTS
from encoder.models import BagSettings, TransformerSettings
from encoder.product_code import balanced_rotation, fit, nearest
from encoder.quantization import quantize_encoder
from mining.errors import InputError
from tests.encoder.fixtures import sentences, write_checkpoint


def low_rank(rows: int, dim: int, rank: int) -> np.ndarray:
    draw = np.random.default_rng(0)
    mixed = draw.normal(size=(rows, rank)) @ draw.normal(size=(rank, dim))
    return (mixed * draw.uniform(0.1, 3, (rows, 1))).astype(np.float32)


def test_nearest_is_the_nearest() -> None:
    draw = np.random.default_rng(1)
    part, words = draw.normal(size=(50, 3)).astype(np.float32), draw.normal(size=(256, 3)).astype(np.float32)
    distances = np.square(part[:, None] - words[None]).sum(-1)
    assert nearest(part, words).tolist() == distances.argmin(1).tolist()


def test_few_different_rows_are_coded_without_loss() -> None:
    rows = np.repeat(low_rank(40, 8, 8), 25, axis=0)
    coded = fit(rows, 4)
    assert coded.codes.shape == (1000, 4) and coded.codes.dtype == np.uint8
    np.testing.assert_allclose(coded.rows(), rows, rtol=1e-3, atol=1e-4)


def test_more_bytes_lose_less_and_length_survives() -> None:
    rows = low_rank(3000, 16, 16)
    errors = []
    for code_bytes in (2, 4, 8):
        coded = fit(rows, code_bytes).rows()
        errors.append(np.square(coded - rows).sum() / np.square(rows).sum())
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[2] < 0.02


def test_rotation_keeps_what_varies_and_spreads_it_over_the_bytes() -> None:
    rows = low_rank(500, 12, 6)
    rotation = balanced_rotation([rows[:200], rows[200:]], 8, 4)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(8), atol=1e-5)
    turned = rows @ rotation
    np.testing.assert_allclose(turned @ turned.T, rows @ rows.T, rtol=1e-3, atol=1e-2)
    variance = np.square(turned).sum(0).reshape(4, 2).sum(1)
    assert variance.max() / variance.min() < 20  # in order of variance the last byte would have nothing


def test_a_quantized_encoder_is_an_encoder_with_nearly_the_same_cosines(tmp_path: Path) -> None:
    settings = BagSettings(dim=32, bigrams=300, words=300, ngrams=300)
    whole = Encoder.load(write_checkpoint(tmp_path / "whole", settings))
    made = quantize_encoder(str(tmp_path / "whole"), tmp_path / "small", dim=32, code_bytes=16)
    small = Encoder.load(tmp_path / "small")
    assert small.fingerprint == made.fingerprint != whole.fingerprint
    assert small.languages == whole.languages
    texts = sentences(50)
    full, coded = (encoder.encode(texts, "en", normalize=True) for encoder in (whole, small))
    assert np.abs(full @ full.T - coded @ coded.T).max() < 0.1
    assert made.error < 0.05
    names = {name for name in load_file(tmp_path / "small" / WEIGHTS) if name.startswith("bigrams")}
    assert names == {"bigrams.weight.codes", "bigrams.weight.codebook", "bigrams.weight.scales"}


def test_fewer_dimensions(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "whole", BagSettings(dim=32, bigrams=50))
    quantize_encoder(str(tmp_path / "whole"), tmp_path / "small", dim=16, code_bytes=8)
    assert Encoder.load(tmp_path / "small").encode(["the old dog"], "en").shape == (1, 16)


@pytest.mark.parametrize(
    ("settings", "dim", "sentence"),
    [
        (BagSettings(dim=32), 64, "has 32 dimensions"),
        (BagSettings(dim=32), 24, "not a multiple of 16"),
        (TransformerSettings(preset="tiny"), None, "only a bag can be quantized"),
    ],
)
def test_what_cannot_be_quantized_is_refused(
    tmp_path: Path, settings: BagSettings | TransformerSettings, dim: int | None, sentence: str
) -> None:
    write_checkpoint(tmp_path / "whole", settings)
    with pytest.raises(InputError, match=sentence):
        quantize_encoder(str(tmp_path / "whole"), tmp_path / "small", dim=dim, code_bytes=8)
