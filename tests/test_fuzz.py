"""Property tests are the same every time, but for `make fuzz`, which says how to repeat what it finds."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import fuzz


def test_every_run_draws_the_same_examples() -> None:
    assert settings().derandomize and settings().database is None
    drawn: list[str] = []

    @given(st.floats())
    def see(value: float) -> None:
        drawn.append(str(value))

    see()
    count = len(drawn)
    see()
    assert count > 50 and drawn[:count] == drawn[count:]


def test_rounds_have_seeds_of_their_own_until_one_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(pytest, "main", lambda arguments: asked.append(arguments) or int(len(asked) == 3))
    assert fuzz(5, None, ["tests/mining"]) == 1
    seeds = [next(found[1] for text in arguments if (found := re.search(r"seed=(\d+)", text))) for arguments in asked]
    assert len(set(seeds)) == 3
    assert f"make fuzz SEED={seeds[-1]} TESTS='tests/mining'" in capsys.readouterr().out
    assert fuzz(5, int(seeds[-1]), ["tests/mining"]) == 0
    assert f"--hypothesis-seed={seeds[-1]}" in asked[-1] and len(asked) == 4
