"""Product codes of a bag: what they lose, and that a coded encoder is an encoder like any other."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from encoder import Encoder, weights
from encoder.checkpoint import WEIGHTS
from encoder.models import Bag, BagSettings, TransformerSettings
from encoder.product_fit import balanced_rotation, fit, nearest
from encoder.quantization import quantize_encoder, quantize_tables
from encoder.tokens import Tokens
from encoder.training.row_use import row_use, training_sentences
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
    rotation = balanced_rotation([rows[:200], rows[200:]], 8)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(8), atol=1e-5)
    turned = rows @ rotation
    np.testing.assert_allclose(turned @ turned.T, rows @ rows.T, rtol=1e-3, atol=1e-2)
    variance = np.square(turned).sum(0).reshape(4, 2).sum(1)
    assert variance.min() > 0.02 * variance.sum()  # in order of variance the last byte would have nothing


def test_a_quantized_encoder_is_an_encoder_with_nearly_the_same_cosines(tmp_path: Path) -> None:
    settings = BagSettings(dim=32, bigrams=300, words=300, ngrams=300)
    whole = Encoder.load(write_checkpoint(tmp_path / "whole", settings))
    made = quantize_encoder(str(tmp_path / "whole"), tmp_path / "small", megabytes=1)
    small = Encoder.load(tmp_path / "small")
    assert small.fingerprint == made.fingerprint != whole.fingerprint
    assert small.languages == whole.languages
    texts = sentences(50)
    full, coded = (encoder.encode(texts, "en", normalize=True) for encoder in (whole, small))
    assert np.abs(full @ full.T - coded @ coded.T).max() < 0.1
    assert {weight.dtype for weight in small.model.parameters()} == {torch.float16}, "half of the memory"
    np.testing.assert_allclose(np.linalg.norm(coded, axis=1), 1, atol=1e-6)  # made unit in float32
    assert made.error < 0.05 and made.dropped == 0
    names = {name for name in load_file(tmp_path / "small" / WEIGHTS) if name.startswith("bigrams")}
    assert names == {f"bigrams.weight.{part}" for part in ("layers", "3.codes", "3.codebook", "3.scales")}


def test_tables_are_decoded_by_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path / "whole", BagSettings(dim=32, bigrams=50))
    quantize_encoder(str(tmp_path / "whole"), tmp_path / "small")
    threads, decode, before = [], weights._decode, torch.get_num_threads()

    def watched(*arguments: Any) -> torch.Tensor:
        threads.append(torch.get_num_threads())
        return decode(*arguments)

    monkeypatch.setattr(weights, "_decode", watched)
    torch.set_num_threads(3)
    try:
        Encoder.load(tmp_path / "small")
        assert threads == [1, 1] and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_rows_of_little_use_are_coarse_or_dropped_where_bytes_are_short() -> None:
    rows = torch.from_numpy(low_rank(4000, 16, 16))
    use = {"tokens.weight": np.ones(4000, np.float32), "words.weight": np.repeat([1e-6, 1.0, 100.0, 1e4], 1000)}
    state = {"tokens.weight": rows, "words.weight": rows}
    wide, narrow = (quantize_tables(state, use, 16, room, 0) for room in (200_000, 122_000))
    assert wide.tensors["words.weight.layers"].tolist() == [3] * 4000 and wide.dropped == 0
    layers = narrow.tensors["words.weight.layers"].numpy().reshape(4, 1000).mean(1)
    assert 0 == layers[0] < layers[1] < layers[2] and layers[3] > 2.9
    assert narrow.error < 0.05


def test_use_is_that_of_the_sentences() -> None:
    torch.manual_seed(0)
    bag = Bag(BagSettings(dim=8, bigrams=5000, words=5000, ngrams=5000), 10, torch.arange(10) % 2 == 0)
    plain, counted = row_use(bag, None), row_use(bag, Tokens.from_lists([[2, 3, 4], [2]]))
    assert all((use == 1).all() for use in plain.values())
    assert np.argsort(-counted["tokens.weight"])[:3].tolist() == [2, 3, 4]
    assert (counted["bigrams.weight"] > counted["bigrams.weight"].min()).sum() == 2
    assert (counted["words.weight"] > counted["words.weight"].min()).sum() == 1


def test_an_encoder_beside_its_run_is_coded_by_the_use_of_its_training_data(tmp_path: Path) -> None:
    assert training_sentences(tmp_path / "best") is None


def test_fewer_dimensions(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "whole", BagSettings(dim=32, bigrams=50))
    quantize_encoder(str(tmp_path / "whole"), tmp_path / "small", dim=16)
    assert Encoder.load(tmp_path / "small").encode(["the old dog"], "en").shape == (1, 16)


def test_too_few_bytes_are_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "whole", BagSettings(dim=32, bigrams=50))
    with pytest.raises(InputError, match="more are needed for codebooks and tokens alone"):
        quantize_encoder(str(tmp_path / "whole"), tmp_path / "small", megabytes=0.05)


@pytest.mark.parametrize(
    ("settings", "dim", "sentence"),
    [
        (BagSettings(dim=32), 64, "a multiple of 8, 32 at most"),
        (BagSettings(dim=32), 20, "a multiple of 8"),
        (TransformerSettings(preset="tiny"), None, "only a bag can be quantized"),
    ],
)
def test_what_cannot_be_quantized_is_refused(
    tmp_path: Path, settings: BagSettings | TransformerSettings, dim: int | None, sentence: str
) -> None:
    write_checkpoint(tmp_path / "whole", settings)
    with pytest.raises(InputError, match=sentence):
        quantize_encoder(str(tmp_path / "whole"), tmp_path / "small", dim=dim)


def test_an_encoder_appears_with_its_card_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of it would be refused, because it is there, when the command is run again."""

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    write_checkpoint(tmp_path / "whole", BagSettings(dim=16))
    monkeypatch.setattr("encoder.quantization.add_section", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quantize_encoder(str(tmp_path / "whole"), tmp_path / "small")
    assert not (tmp_path / "small").exists() and not list(tmp_path.glob(".small*"))
