"""Property tests are the same every time, but for `make fuzz`, which says how to repeat what it finds."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz import fuzz


def test_every_run_draws_the_same_examples() -> None:
    assert settings().derandomize and settings().database is None
    drawn: list[list[float]] = [[], []]
    for kept in drawn:

        @given(st.floats())
        def see(value: float, kept: list[float] = kept) -> None:
            kept.append(value)

        see()
    assert str(drawn[0]) == str(drawn[1])


def test_rounds_have_seeds_of_their_own_until_one_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[list[str]] = []
    monkeypatch.setattr(pytest, "main", lambda arguments: given.append(arguments) or int(len(given) == 3))
    assert fuzz(5, None, ["tests/mining"]) == 1
    seeds = [next(found[1] for text in arguments if (found := re.search(r"seed=(\d+)", text))) for arguments in given]
    assert len(set(seeds)) == 3
    assert f"make fuzz SEED={seeds[-1]} TESTS='tests/mining'" in capsys.readouterr().out
    assert fuzz(5, int(seeds[-1]), ["tests/mining"]) == 0
    assert f"--hypothesis-seed={seeds[-1]}" in given[-1] and len(given) == 4
