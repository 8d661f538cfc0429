"""Parallel corpora whose two languages are named the wrong way round: held-out pairs would share the mistake."""

from __future__ import annotations

from itertools import islice

from encoder.data.corpora import CorpusFile, DataSettings, find_files
from encoder.data.parallel_readers import read_groups
from encoder.data.parallel_rows import Group
from mining.errors import InputError
from mining.language_id import is_known, language_probabilities

_LOOKED_AT = 200  # rows of a file
_SURE = 0.5  # by so much of the two probabilities, together at most 2, the other order must be likelier


def require_order(data: DataSettings) -> None:
    """Refuse a file of pairs that are plainly in the other order."""
    for file in find_files(data):
        if file.langs is not None and len(file.langs) == 2 and all(map(is_known, file.langs)):
            _require_order(file, file.langs[0], file.langs[1])


def _require_order(file: CorpusFile, first: str, second: str) -> None:
    rows = (row for row in islice(read_groups(file), _LOOKED_AT) if isinstance(row, Group))
    sides = list(zip(*(row.texts for row in rows), strict=True))
    if not sides:
        return

    def fits(*langs: str) -> float:
        return sum(float(language_probabilities(side, lang).mean()) for side, lang in zip(sides, langs, strict=True))

    if fits(second, first) > fits(first, second) + _SURE:
        raise InputError(
            f"{file.name}: its first sentences look like {second} and its second ones like {first}, not like {first} "
            f"and {second}; give `langs: [{second}, {first}]`, or another name to a file that is called so"
        )
