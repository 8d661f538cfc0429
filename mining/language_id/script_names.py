"""Scripts that the language detector knows no language of."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from mining.language_id.hashed_ngrams import UNKNOWN, letter_kinds


def unknown_script(texts: Iterable[str]) -> str | None:
    """The most frequent of these scripts, by Unicode's names of its letters; None where there is no such letter."""
    kinds = letter_kinds()
    letters = Counter(letter for text in texts for letter in text if kinds[ord(letter)] == UNKNOWN)
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        if unicodedata.category(letter).startswith("L"):  # marks may be of any script
            scripts[_script(unicodedata.name(letter, "UNKNOWN"))] += count
    return scripts.most_common(1)[0][0] if scripts else None


def _script(name: str) -> str:
    """`OL CHIKI LETTER LA` is of Ol Chiki, `CANADIAN SYLLABICS E` of Canadian Syllabics."""
    words = name.partition(" LETTER ")[0] if " LETTER " in name else name.rpartition(" ")[0] or name
    return words.removesuffix(" CAPITAL").removesuffix(" SMALL").title()
