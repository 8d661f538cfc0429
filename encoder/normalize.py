"""Text normalisation: explicit steps, each of which can be switched off."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from pydantic import BaseModel, ConfigDict, Field

from mining.errors import InputError

# Invisible characters that carry no text: C0/C1 controls that are not white space, soft hyphen, zero-width space, marks
# of direction, byte-order mark, non-characters and lone surrogates (which have no UTF-8). The zero-width joiner
# and non-joiner stay: they spell words in Persian and the scripts of India.
_CONTROL = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\ud800-\udfff]"
)
VOWEL_MARKS = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
)
ARABIC_LETTERS = str.maketrans("\u0623\u0625\u0622\u0671\u0649\u0629", "\u0627\u0627\u0627\u0627\u064a\u0647")
_SEMITIC = re.compile("[\u0590-\u06ff]")  # where all of these are
LAST_LETTER = 0x3FFFF  # the planes above have no letters, marks or forms of letters, and take seconds to look through
_MANY = 256  # texts from which on plain ones are sorted out first
_SURROGATE = re.compile("[\ud800-\udfff]")
_MEANINGFUL_FORMS = {"<super>", "<sub>", "<fraction>", "<circle>", "<square>"}
_LETTER_FORMS = {"<compat>", "<initial>", "<medial>", "<final>", "<isolated>"}


class NormalizeSettings(BaseModel):
    """Which steps to take, in the order control, NFKC, marks, white space, case; the defaults are those of EMS."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nfkc: bool = Field(True, description="Unicode's compatibility forms.")
    # Arabic and Hebrew as they are mostly written: no vowel marks, one alef, one yeh, no stretched letters.
    vowel_marks: bool = Field(False, description="Take vowel marks off Arabic and Hebrew.")
    control: bool = Field(True, description="Take out control characters.")
    whitespace: bool = Field(True, description="One space for all white space.")
    lowercase: bool = Field(True, description="Lower case.")

    def after(self, done: NormalizeSettings) -> NormalizeSettings:
        """The steps that are left to take on text that went through others; none of them changes anything twice."""
        marks, nfkc = self.vowel_marks and not done.vowel_marks, self.nfkc and not done.nfkc
        return NormalizeSettings(
            nfkc=nfkc,
            vowel_marks=marks,
            control=self.control and not done.control,
            whitespace=self.whitespace and (marks or nfkc or not done.whitespace),  # a mark may be a word of its own
            lowercase=self.lowercase and not done.lowercase,
        )


def normalize(sentences: Sequence[str], settings: NormalizeSettings) -> list[str]:
    """Every sentence through the steps that are switched on."""
    texts = list(sentences)
    try:
        if len(texts) < _MANY:
            texts = _all_steps(texts, settings)
        else:
            _normalize_special(texts, settings)
        return lowercase(texts) if settings.lowercase else texts
    except (AttributeError, TypeError):
        require_text(sentences)
        raise


def _normalize_special(texts: list[str], settings: NormalizeSettings) -> None:
    """Many texts in place; most are plain, and stay as they are."""
    from encoder.plain_text import special_rows  # compiled, for which few texts do not wait

    try:
        rows = special_rows(texts).tolist()
    except UnicodeEncodeError:  # lone surrogates, which a step may take out
        rows = range(len(texts))
    for row, text in zip(rows, _all_steps([texts[row] for row in rows], settings), strict=True):
        texts[row] = text


def _all_steps(texts: list[str], settings: NormalizeSettings) -> list[str]:
    """All but lower case."""
    if settings.control:
        texts = [text if text.isprintable() else _CONTROL.sub("", text) for text in texts]
    if settings.nfkc:
        texts = [text if text.isascii() else _compose(text) for text in texts]
    if settings.vowel_marks:
        texts = [_unmarked(text) if _SEMITIC.search(text) else text for text in texts]
    return single_spaced(texts) if settings.whitespace else texts


def single_spaced(sentences: Sequence[str]) -> list[str]:
    """Each sentence with single spaces between its words for white space, no other kind of which is printable."""
    return [
        text if text.isprintable() and "  " not in text and text.strip() is text else " ".join(text.split())
        for text in sentences
    ]


def lowercase(sentences: Sequence[str]) -> list[str]:
    """Lower case; the dotted capital I of Turkish becomes i, not the i with a loose dot that Unicode prescribes."""
    return [text.lower() if text.isascii() else text.replace("İ", "i").lower() for text in sentences]


def require_text(sentences: Sequence[str]) -> None:
    """InputError for the first sentence that is no string, or holds a lone surrogate and so has no UTF-8 form."""
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            raise InputError(f"sentence {number} is {type(sentence).__name__}, not text; give a list of strings")
        if _SURROGATE.search(sentence):
            raise InputError(
                f"sentence {number} ({sentence[:40]!r}) holds half a surrogate pair, which is not valid text; "
                "switch on normalize.control to drop it"
            )


def _unmarked(text: str) -> str:
    return VOWEL_MARKS.sub("", text).translate(ARABIC_LETTERS)


def _compose(text: str) -> str:
    if unicodedata.is_normalized("NFKC", text):
        return text
    return unicodedata.normalize("NFC", text.translate(safe_forms()))


@cache
def safe_forms() -> dict[int, str]:
    """The compatibility characters that NFKC may replace, with what it replaces them by.

    Replaced: wide and narrow forms, no-break and typographic spaces, letters in another font, ligatures and the
    presentation forms of Arabic letters. Kept, because the plain characters would say something else or the character
    is punctuation in its own right: 10² and H₂O, ½, ①, ㎡, №, …, and spacing accents such as ´.
    """
    characters = [c for c in map(chr, range(0xA0, LAST_LETTER + 1)) if not unicodedata.is_normalized("NFKC", c)]
    compatibility = [c for c in characters if unicodedata.decomposition(c)[:1] == "<"]
    forms = {ord(c): plain for c in compatibility if _is_safe(c, plain := unicodedata.normalize("NFKC", c))}
    # A character may be canonically equal to one of these (U+2000 is U+2002), or be composed of one (U+1E9B).
    for character in characters:
        parts = unicodedata.normalize("NFD", character)
        if ord(character) not in forms and (replaced := parts.translate(forms)) != parts:
            forms[ord(character)] = unicodedata.normalize("NFC", replaced)
    return forms


def _is_safe(character: str, plain: str) -> bool:
    form = unicodedata.decomposition(character).split()[0]
    if form in _MEANINGFUL_FORMS:
        return False
    if form in _LETTER_FORMS:
        # Arabic ligatures of whole phrases (U+FDFA) are symbols, not spellings; and № is a sign, not the word "no".
        spelled = unicodedata.category(character) != "So" and len(plain) <= 4
        return character.isspace() or (spelled and all(unicodedata.category(c)[0] in "LM" for c in plain))
    return True
