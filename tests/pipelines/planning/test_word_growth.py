"""New words of a text: fewer and fewer, until all that are known were forgotten."""

from __future__ import annotations

import numpy as np
import pytest

from encoder import default
from encoder.known_words import MOST_CHARACTERS, MOST_WORDS
from encoder.text import TextEncoder
from pipelines.embed.embed_settings import default_encoder
from pipelines.planning import word_growth
from pipelines.planning.word_growth import NO_WORDS, WindowSample, WordGrowth, measure_growth

pytestmark = pytest.mark.skipif(not default.has_default(), reason="needs the encoder of the package")


def words_of(lines: int, power: float, width: int = 6) -> list[str]:
    """Every line has a word of its own as often as Heaps' law of this power wants it, and else a known one."""
    number = np.floor(np.arange(1, lines + 1) ** power).astype(int)
    return [f"w{value:0{width}d}" for value in number]


@pytest.mark.parametrize("power", [0.5, 0.8, 1.0])
def test_the_power_is_that_of_the_text(power: float) -> None:
    lines = words_of(4000, power)
    found = measure_growth([lines, lines], default_encoder(), "en")
    assert (found.lines, found.words) == (4000, pytest.approx(len(set(lines)), abs=2))
    assert found.power == pytest.approx(power, abs=0.02)
    known = min(MOST_WORDS, MOST_CHARACTERS / 7)
    assert found.remembered == pytest.approx(known, rel=0.01)
    longer = len(set(words_of(32_000, power)))
    assert found.new_words(32_000) == pytest.approx(longer, rel=0.06)


def test_what_is_forgotten_is_met_again() -> None:
    growth = WordGrowth(lines=100, words=100, power=0.5, remembered=1000)
    assert growth.new_words(100) == pytest.approx(100)
    assert growth.new_words(10_000) == pytest.approx(1000), "then all are known that can be"
    assert growth.new_words(50_000) == pytest.approx(5000)
    assert NO_WORDS.new_words(10**9) == 0


@pytest.mark.parametrize("windows", [[], [[]], [["a"]], [[], ["a b"]], [["the same"] * 50]])
def test_little_text_grows_little(windows: list[list[str]]) -> None:
    found = measure_growth(windows, default_encoder(), "en")
    assert 0 < found.power <= 1 and found.new_words(1000) <= 2000


def test_the_words_that_are_met_are_counted_by_every_encoder() -> None:
    before = TextEncoder.met
    measure_growth([["one two two three", "three four"]], default_encoder(), "en")
    met = TextEncoder.met - before
    assert met.words >= 4 and met.characters >= 15 and met.seconds >= 0


@pytest.mark.parametrize("lines", [0, 3, 10, 25, 95, 1000])
def test_windows_are_spread_over_the_text(lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_growth, "WINDOW", 10)
    sample, text = WindowSample(), [f"{number}\n".encode() for number in range(lines)]
    for block in (text[: lines // 3], text[lines // 3 :]):
        sample.add(block)
    windows = [[int(line) for line in window] for window in sample.texts()]
    whole = lines // 10
    assert len(windows) == min(max(whole, 1), word_growth.WINDOWS)
    for window in windows:
        assert window == list(range(window[0], window[0] + len(window))) if window else not lines
        assert len(window) == (10 if whole else lines)
    if whole > 8:
        middle = np.mean([window[0] + 5 for window in windows])
        assert middle == pytest.approx(lines / 2, abs=lines / 20), "none of its ends has more of them than the other"
