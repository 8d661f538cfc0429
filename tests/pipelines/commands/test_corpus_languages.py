"""Corpora whose languages are named the wrong way round."""

from __future__ import annotations

from pathlib import Path

import pytest

from encoder.data.corpora import CorpusSettings, DataSettings
from mining.errors import InputError
from pipelines.commands.corpus_languages import require_order

PAIRS = [
    ("The train to the coast leaves at seven.", "Der Zug an die Küste fährt um sieben ab."),
    ("She forgot her umbrella in the library.", "Sie hat ihren Schirm in der Bibliothek vergessen."),
    ("Bread is cheaper on Thursdays.", "Brot ist donnerstags billiger."),
]


def _data(folder: Path, pairs: list[tuple[str, str]], *langs: str) -> DataSettings:
    path = folder / "corpus.tsv"
    path.write_text("".join(f"{left}\t{right}\n" for left, right in pairs), encoding="utf-8")
    return DataSettings(corpora=(CorpusSettings(path=str(path), langs=langs),))


def test_languages_the_wrong_way_round_are_refused(tmp_path: Path) -> None:
    require_order(_data(tmp_path, PAIRS, "en", "de"))
    with pytest.raises(InputError, match=r"give `langs: \[en, de\]`"):
        require_order(_data(tmp_path, PAIRS, "de", "en"))


@pytest.mark.parametrize("pairs", [[], [("12", "12")], [("OK", "Taxi"), ("Radio", "Zoo")]])
def test_what_tells_no_language_is_not_refused(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    for langs in (("en", "de"), ("de", "en"), ("en", "tlh")):
        require_order(_data(tmp_path, pairs, *langs))
