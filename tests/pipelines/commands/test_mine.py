"""What `mine` says when it is done."""

from __future__ import annotations

import pytest

from pipelines.commands.mine_summary import known_measures, sentence_rows
from pipelines.datasets.manifest import Counters


@pytest.mark.parametrize(
    ("measures", "rows"),
    [
        ({}, {}),
        ({"threshold": 1.05}, {"threshold": "1.0500"}),
        ({"precision": 0.5, "recall": 0.25, "f1": 1 / 3}, {"precision": "50.0%", "recall": "25.0%", "f1": "33.3%"}),
        (
            {"precision_low": 0.85, "precision_high": 0.95, "precision": 0.9, "recall": 0.7, "true_pairs": 826.28},
            {"estimated precision": "90.0% (85% to 95%)", "estimated recall": "70.0%", "estimated true pairs": "826"},
        ),
        ({"precision_low": 0.2, "precision_high": 0.9}, {"estimated precision": "not known (20% to 90%)"}),
    ],
)
def test_the_summary_claims_what_is_known(measures: dict[str, float], rows: dict[str, str]) -> None:
    assert dict(known_measures(measures)) == rows


def test_the_summary_says_what_became_of_the_lines() -> None:
    counters = Counters(rows_in=300, kept=290, dropped={"empty": 2, "bad_utf8": 8})
    assert list(sentence_rows("source", counters)) == [
        ("source sentences", "290"),
        ("source dropped: bad utf8", "8"),
        ("source dropped: empty", "2"),
    ]
