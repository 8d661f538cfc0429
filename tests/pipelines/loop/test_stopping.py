import pytest

from pipelines.loop.stopping import Verdict, judge

PATIENT = {"max_rounds": 10, "patience": 2, "least_gain": 0.0}


@pytest.mark.parametrize(
    ("scores", "changes", "best", "stop"),
    [
        ([10], {}, 0, None),
        ([10], {"max_rounds": 0}, 0, "all 0 rounds"),
        ([10, 12, 15], {}, 2, None),
        ([10, 12, 15], {"max_rounds": 2}, 2, "all 2 rounds"),
        ([10, 12, 11], {}, 1, None),
        ([10, 12, 11, 11.5], {}, 1, "no better score for 2 rounds after round 1"),
        ([10, 9], {"patience": 1}, 0, "no better score for a round after round 0"),
        ([10, 10], {"patience": 1}, 0, "no better"),
        ([10, 10.4, 10.8], {"least_gain": 0.5}, 2, None),
        ([10, 10.4, 10.3], {"least_gain": 0.5}, 0, "no better score for 2 rounds"),
        ([10, 9, 12], {}, 2, None),
    ],
)
def test_verdict(scores: list[float], changes: dict[str, float], best: int, stop: str | None) -> None:
    verdict = judge(scores, **{**PATIENT, **changes})  # type: ignore[arg-type]
    assert verdict.best == best
    assert (verdict.stop is None) == (stop is None), verdict
    assert stop is None or stop in (verdict.stop or "")
    assert isinstance(verdict, Verdict)
