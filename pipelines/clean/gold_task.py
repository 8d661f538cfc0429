"""Mining tasks whose answers people know: two corpora and their true pairs, in the form of BUCC."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from encoder.settings import Settings
from mining.errors import InputError
from mining.files import iterate_lines
from mining.scoring.tasks import MiningTask


class GoldTaskSettings(Settings):
    """Two corpora (`id TAB sentence`) that the encoder was not trained on, and their true pairs (`id TAB id`)."""

    pair: str = Field(pattern=r"^[^-]+-[^-]+$", description="The languages, such as de-en.")
    source: str = Field(description="Sentences of the first language.")
    target: str = Field(description="Sentences of the second.")
    gold: str = Field(description="The true pairs, by id.")


def read_gold_task(settings: GoldTaskSettings) -> MiningTask:
    """Sentences of a true pair have the same group, all others one of their own."""
    sides = [list(_two_columns(url)) for url in (settings.source, settings.target)]
    places = [{name: row for row, (name, _) in enumerate(side)} for side in sides]
    groups = [np.arange(len(sides[0])), len(sides[0]) + np.arange(len(sides[1]))]
    for number, (left, right) in enumerate(_two_columns(settings.gold), 1):
        if left not in places[0] or right not in places[1]:
            raise InputError(f"{settings.gold}, line {number}: no sentences of {left!r} and {right!r} in the corpora")
        groups[1][places[1][right]] = groups[0][places[0][left]]
    return MiningTask([text for _, text in sides[0]], [text for _, text in sides[1]], groups[0], groups[1])


def _two_columns(url: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(iterate_lines(url), 1):
        first, tab, second = line.partition("\t")
        if not tab:
            raise InputError(f"{url}, line {number}: two columns are needed")
        yield first.strip(), second.strip()
