"""Learning rates: warm-up by steps or by share, and every decay."""

import math

import pytest

from encoder.training.schedule import learning_rate_factor
from encoder.training.training_settings import ScheduleSettings


@pytest.mark.parametrize(
    ("schedule", "done", "step", "expected"),
    [
        ({"warmup": 0, "decay": "cosine"}, 0.5, 10, 0.5),
        ({"warmup": 0, "decay": "linear"}, 0.25, 10, 0.75),
        ({"warmup": 0, "decay": "linear", "end": 0.2}, 1.0, 10, 0.2),
        ({"warmup": 0.5, "decay": "linear"}, 0.75, 10, 0.5),
        ({"warmup": 400, "decay": "linear"}, 0.4, 400, 1.0),  # decay begins where the warm-up ends
        ({"warmup": 400, "decay": "linear"}, 0.7, 700, 0.5),
        ({"warmup": 400, "decay": "cosine"}, 0.7, 700, 0.5),
        ({"warmup": 400, "decay": "cosine"}, 0.2, 199, 0.5),
        ({"warmup": 400, "decay": "cosine"}, 1.0, 300, 301 / 400),  # a run that ends while it warms up
        ({"warmup": 4000, "decay": "inverse-sqrt"}, 0.01, 1999, 0.5),
        ({"warmup": 4000, "decay": "inverse-sqrt"}, 0.04, 3999, 1.0),
        ({"warmup": 4000, "decay": "inverse-sqrt"}, 0.16, 15_999, 0.5),  # Vaswani et al.: proportional to step^-0.5
        ({"warmup": 0.04, "decay": "inverse-sqrt"}, 0.64, 7, 0.25),
        ({"warmup": 0, "decay": "inverse-sqrt"}, 0.5, 7, 1.0),
    ],
)
def test_factor(schedule: dict[str, object], done: float, step: int, expected: float) -> None:
    assert math.isclose(learning_rate_factor(done, step, ScheduleSettings(**schedule)), expected, abs_tol=1e-6)
