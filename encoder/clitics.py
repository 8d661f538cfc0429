"""Arabic words without what is written onto them: "and", "with", "the" in front, pronouns behind.

A bag knows a word by its letters, so that a noun with its article and the same noun without were two. The rules ask no
dictionary: a word is cut wherever its letters allow, in the same way every time.
"""

from __future__ import annotations

import re

from encoder.moses import Moses

ARABIC = frozenset({"ar", "arz", "arq"})

_WORD = re.compile("[\u0621-\u063a\u0641-\u064a]+")
# و ف (and), ب ك (with, as) and the article ال, or لل (for the), before two letters or more; و alone before four.
_BEFORE = re.compile("([وف]?)([بك]?)(ال)(?=..)|([وف]?)(لل)(?=..)|(و)(?=....)")
_BEHIND = re.compile("(?<=...)(?:هما|كما|هم|كم|هن|نا|ها)$")


class ArabicWords(Moses):
    """Moses tokens, Arabic ones cut once more."""

    def tokens(self, word: str) -> str:
        return _WORD.sub(lambda found: _cut(found[0]), super().tokens(word))


def _cut(word: str) -> str:
    before = _BEFORE.match(word)
    stem = word[before.end() :] if before else word
    pronoun = _BEHIND.search(stem)
    parts = [*filter(None, before.groups())] if before else []
    return " ".join([*parts, stem[: pronoun.start()], pronoun[0]] if pronoun else [*parts, stem])
