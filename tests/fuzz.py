"""`make fuzz MINUTES=10`: the property tests on random examples, round after round with another seed.

A round is every property test with up to 2,000 examples (fewer where a test says so). The first test that fails ends
it: pytest shows the smallest example that fails, and how to run that round again is printed below it.
"""

from __future__ import annotations

import argparse
import random
import time

import pytest


def fuzz(minutes: float, seed: int | None, paths: list[str]) -> int:
    """Exit code: 0 when all rounds passed, pytest's own otherwise."""
    end = time.monotonic() + 60 * minutes
    for number in range(1, 1_000_000):
        drawn = random.SystemRandom().randrange(2**31) if seed is None else seed
        print(f"round {number}, seed {drawn}", flush=True)
        chosen = ["-x", "-m", "hypothesis", "--hypothesis-profile=fuzz", f"--hypothesis-seed={drawn}", "--timeout=0"]
        code = int(pytest.main([*chosen, "--durations=0", "--durations-min=60", *paths]))
        if code:
            print(f"again: make fuzz SEED={drawn} TESTS='{' '.join(paths)}'; or put the @reproduce_failure line")
            print("that is printed above, if there is one, over the test that failed.")
            return code
        if seed is not None or time.monotonic() >= end:
            print(f"{number} rounds passed")
            return 0
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="no new round begins after so many")
    parser.add_argument("--seed", type=int, help="one round with this seed")
    parser.add_argument("tests", nargs="*", default=["tests"], help="files or folders of tests")
    given = parser.parse_args()
    raise SystemExit(fuzz(given.minutes, given.seed, given.tests))
