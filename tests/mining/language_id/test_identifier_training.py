"""The classifier learns, is made small, calibrated, stored and read again."""

from pathlib import Path

import numpy as np
import pytest

from mining.language_id import identifier
from mining.language_id.hashed_ngrams import MAX_FEATURES, code_points, hash_features, letter_kinds
from mining.language_id.identifier import Model, load_model, save_model, score
from mining.language_id.identifier_training import LabelledSentences, calibrate, fit, shrink
from mining.language_id.sentence_language import log_odds

LETTERS = {"de": "abcdef", "en": "defghi"}


def words(language: str, count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join("".join(rng.choice(list(LETTERS[language]), 5)) for _ in range(4)) for _ in range(count)]


@pytest.fixture(scope="module")
def model() -> Model:
    sample = LabelledSentences(words("de", 200, 0) + words("en", 200, 1), np.repeat([0, 1], 200))
    return shrink(fit(lambda epoch: sample, 2, epochs=2, rate=0.3), ["de", "en"], rows=3000)


def features(text: str) -> set[int]:
    points, ends = code_points([text])
    out = np.empty(MAX_FEATURES, np.int64)
    return set(out[: hash_features(points, 0, ends[0], letter_kinds(), out)].tolist())


def test_the_classifier_learns(model: Model) -> None:
    for number, language in enumerate(LETTERS):
        assert (score(model, words(language, 100, 7)).logits.argmax(axis=1) == number).mean() > 0.95


def test_remembered_words_change_nothing(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    text = [*words("de", 80, 5), "abc" * 30, "abc" * 30, *words("en", 80, 6), *words("de", 80, 5)]
    plain, expected = model._replace(scale=1.0, bias=np.zeros(2, np.float32)), []
    for sentence in text:
        points, ends = code_points([sentence])
        out = np.empty(MAX_FEATURES, np.int64)
        rows = model.rows[out[: hash_features(points, 0, ends[0], letter_kinds(), out)]]
        expected.append((model.weights[rows].sum(axis=0, dtype=np.int64), (rows > 0).sum()))
    for remembered in (1 << 16, 64):  # with room for all words, and for a few
        monkeypatch.setattr(identifier, "_REMEMBERED", remembered)
        monkeypatch.setattr(identifier, "_memory", identifier._Memory())
        for _ in range(2):
            found = score(plain, text)
            roots = np.sqrt(np.maximum(found.features, 1))
            np.testing.assert_array_equal(found.features, [count for _, count in expected])
            np.testing.assert_allclose(found.logits * roots[:, None], [sums for sums, _ in expected], rtol=1e-5)


def test_stored_and_read_again(model: Model, tmp_path: Path) -> None:
    save_model(tmp_path / "m.npz", model)
    again = load_model(tmp_path / "m.npz")
    text = words("en", 5, 3)
    assert np.array_equal(score(model, text).logits, score(again, text).logits)
    assert again.languages == model.languages


def test_the_prior_keeps_the_share_asked_for(model: Model) -> None:
    held_out = {"de": words("en", 100, 4)}  # all of them doubtful
    calibrated = calibrate(model, held_out, lost=0.1, least=0.0, most=100.0)
    kept = log_odds(calibrated, score(calibrated, held_out["de"]), "de") >= 0
    assert kept.mean() == pytest.approx(0.9, abs=0.02)
    assert calibrated.prior[1] == 0  # nothing held out, nothing to go by
    assert calibrate(model, held_out, lost=0.1, least=0.0, most=1.0).prior[0] == 1


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("Große WÖRTER", "große wörter"),
        ("see os.path and x86_64", "see and"),
        ("открой settings", "открой"),
        ("12 + 30 = 42", ""),
    ],
)
def test_what_is_looked_at(text: str, same_as: str) -> None:
    assert features(text) == features(same_as)


def test_a_sentence_of_any_length_has_bounded_features() -> None:
    assert 0 < len(features("abcde " * 10_000)) <= MAX_FEATURES
    assert 0 < len(features("字" * 10_000)) <= MAX_FEATURES
