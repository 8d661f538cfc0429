"""Language codes: whatever a corpus calls a language, one code for it here."""

from __future__ import annotations

import re
from functools import cache

import langcodes
from langcodes.tag_parser import LanguageTagError
from rapidfuzz import fuzz, process

from mining.errors import InputError

# CLDR keeps these apart from, or prefers a three-letter name to, the code under which corpora file the same language.
_CORPUS_CODES = {"nb": "no", "fil": "tl"}
_NOT_A_LANGUAGE = {"und", "mis", "mul", "zxx"}


@cache
def canonical(code: str) -> str:
    """The two-letter code of a language, or its three-letter one where there is none; script and region are dropped.

    A language that stands for its macrolanguage takes that code: cmn and zh-TW are zh, lvs is lv, but yue stays yue.
    """
    try:
        tag = langcodes.get(langcodes.standardize_tag(code.strip(), macro=True))
    except LanguageTagError:
        raise _unknown(code) from None
    if not tag.language or tag.language in _NOT_A_LANGUAGE or not tag.is_valid():
        raise _unknown(code)
    return _CORPUS_CODES.get(tag.language, tag.language)


def _unknown(code: str) -> InputError:
    known = {canonical(short) for short in _two_letter_codes()} | {"yue", "wuu"}
    primary = re.split("[-_]", code.strip().lower())[0]
    # Half of a short code in common is a slip of the finger; half of a long word is chance.
    nearest = process.extractOne(
        primary, sorted(known), scorer=fuzz.ratio, score_cutoff=50 if len(primary) <= 3 else 60
    )
    hint = f"; the nearest known code is {nearest[0]!r}" if nearest else ""
    return InputError(f"{code!r} is not a language code (ISO 639, such as de, deu or pt-BR){hint}")


@cache
def _two_letter_codes() -> tuple[str, ...]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return tuple(a + b for a in letters for b in letters if langcodes.tag_is_valid(a + b))
