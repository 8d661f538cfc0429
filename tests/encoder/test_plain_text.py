"""Plain texts are those that no step of normalisation changes."""

import random
import unicodedata

import numpy as np
import pytest

from encoder import normalize as module
from encoder.normalize import NormalizeSettings, normalize
from encoder.plain_text import plain_characters, special_rows

EVERY_STEP = NormalizeSettings(vowel_marks=True)


def test_no_step_changes_plain_texts() -> None:
    rng = random.Random(0)
    plain = [chr(code) for code in np.flatnonzero(plain_characters()).tolist()]
    rng.shuffle(plain)
    texts = ["".join(plain[start : start + 7]) for start in range(0, len(plain), 7)]
    assert not len(special_rows(texts))
    steps = EVERY_STEP.model_copy(update={"lowercase": False})
    assert [normalize([text], steps)[0] for text in texts] == texts
    assert all(unicodedata.is_normalized("NFKC", text) for text in texts)


@pytest.mark.parametrize(
    "text",
    ["", " a", "a ", "a  b", "a\tb", "a\u00a0b", "e\u0301", "\u2460", "ﬁne", "\u05d0", "a\u200bb", "\U0001f600", "ᄀ"],
)
def test_what_a_step_may_change_is_special(text: str) -> None:
    assert special_rows(["plain", text, "größer – “als”"]).tolist() == [1]


def test_many_texts_are_normalised_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        "Plain text.",
        "ﬁne  print",
        "Ärger",
        "A\u0308rger",
        "שָׁלוֹם",
        " ",
        "\ufeffmark",
        "Ⅷ ½",
        "İstanbul",
        "half \ud800",
    ]
    few = normalize(texts, EVERY_STEP)
    assert normalize(texts * 100, EVERY_STEP) == few * 100
    monkeypatch.setattr(module, "_MANY", 1)
    assert normalize(texts[:-1], EVERY_STEP) == few[:-1]
