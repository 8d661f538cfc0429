"""What a run tells of its validation: a table of cases."""

import pytest

from encoder.training.course import Course

FELL, WORSE = "fell from", "at the start: training made the encoder worse"


@pytest.mark.parametrize(
    ("course", "told"),
    [
        (Course(None, 10, 0.9, 90, 0.89), []),
        (Course(None, 10, 0.9, 90, 0.46), []),
        (Course(None, 10, 0.9, 90, 0.44), [FELL]),
        (Course(None, 10, 0.9, 10, 0.81), []),
        (Course(None, 10, 0.9, 10, 0.79), [FELL]),
        (Course(None, 10, 0.0, 10, 0.0), []),
        (Course(0.8, 10, 0.9, 90, 0.9), []),
        (Course(0.9, 10, 0.9, 10, 0.9), []),
        (Course(0.95, 10, 0.9, 90, 0.9), [WORSE]),
        (Course(0.95, 10, 0.9, 10, 0.2), [FELL, WORSE]),
    ],
)
def test_what_is_told(course: Course, told: list[str]) -> None:
    messages = course.warnings("held-out P@1")
    assert len(messages) == len(told)
    assert all(part in message for part, message in zip(told, messages, strict=True))


def test_figures_are_named() -> None:
    (message,) = Course(None, 10, 0.9, 1000, 0.123).warnings("held-out P@1")
    assert message.startswith("held-out P@1 fell from 90.0 at step 1,000 to 12.3 at the end")
