"""Sentences not written in the script of their language."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from mining.filters.characters import count_characters
from mining.filters.length import DENSE
from mining.filters.pair_filter import PairFilter, TextPairs, base_language

_LATIN = (
    "af az br bs ca ceb co cs cy da de en eo es et eu fi fil fo fr fy ga gd gl ha hr ht hu id ig is it jv ku la lb lt "
    "lv mg mi ms mt nb nl nn no oc pl pt qu rm ro rw sc sk sl sn so sq st su sv sw tk tl tr uz vi wo xh yo zu"
)
_OTHERS = {
    "Arabic": "ar arz azb ckb fa ks ps sd ug ur",
    "Armenian": "hy",
    "Bengali": "as bn",
    "Cyrillic": "ba be bg ce cv kk ky mk mn os ru tg tt uk",
    "Devanagari": "hi mai mr ne sa",
    "Ethiopic": "am ti",
    "Georgian": "ka",
    "Greek": "el",
    "Gujarati": "gu",
    "Gurmukhi": "pa",
    "Han": "wuu yue zh",
    "Hebrew": "he yi",
    "Kannada": "kn",
    "Khmer": "km",
    "Lao": "lo",
    "Malayalam": "ml",
    "Myanmar": "my",
    "Oriya": "or",
    "Sinhala": "si",
    "Tamil": "ta",
    "Telugu": "te",
    "Thai": "th",
    "Tibetan": "bo dz",
}
# Languages with several scripts, or two in everyday use.
_SCRIPTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_LATIN.split(), ("Latin",)),
    **{language: (script,) for script, languages in _OTHERS.items() for language in languages.split()},
    "az": ("Latin", "Cyrillic"),
    "ja": ("Han", "Hiragana", "Katakana"),
    "ko": ("Hangul", "Han"),
    "ku": ("Latin", "Arabic"),
    "sh": ("Latin", "Cyrillic"),
    "sr": ("Latin", "Cyrillic"),
    "uz": ("Latin", "Cyrillic"),
}


class ScriptFilter(PairFilter):
    """Share of each side's letters that belong to a script of its language; no letters at all is a share of 0.

    Names and code in Latin letters take much room in a Chinese, Japanese or Korean sentence, so a character there
    counts as the letters it replaces. A language that is not listed here is not judged.
    """

    reason: ClassVar[str] = "script"
    min_share: float = Field(
        default=0.3, ge=0.0, le=1.0, description="Least share of letters in a script of the language."
    )

    def score(self, pairs: TextPairs) -> NDArray[np.float64]:
        """(n, 2): the share of the source and of the target."""
        return np.stack([_share(text, language) for text, language in pairs.sides()], axis=1)

    def accept(self, scores: NDArray) -> NDArray[np.bool_]:
        return np.all(scores >= self.min_share, axis=1)


def scripts_of(language: str | None) -> tuple[str, ...]:
    """The Unicode scripts a language is written in, or none when it is not known here."""
    return _SCRIPTS.get(base_language(language) or "", ())


def _share(text: pa.Array, language: str | None) -> NDArray[np.float64]:
    scripts = scripts_of(language)
    if not scripts:
        return np.ones(len(text))
    own = "[" + "".join(f"\\p{{{script}}}" for script in scripts) + "]"
    letters, own_letters = count_characters(text, r"\p{L}", own).kinds.T.astype(np.float64)
    own_letters = np.minimum(own_letters, letters)  # a script has marks and signs besides its letters
    weighted = own_letters * DENSE.get(base_language(language) or "", 1.0)
    total = weighted + letters - own_letters
    return np.divide(weighted, total, out=np.zeros(len(text)), where=total > 0)
