"""A chart under its title, with a sentence."""

from __future__ import annotations

from typing import NamedTuple

from pipelines.report.charts import Spec


class Panel(NamedTuple):
    """Without a specification the sentence says what is missing."""

    key: str
    title: str
    sentence: str
    spec: Spec | None = None
