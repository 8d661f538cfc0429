"""Moses tokenisation at compiled speed, with the tokens of the reference.

The compiled tokenizer departs from Moses (and sacremoses) in ways that can be stated: it deletes spacing vowel signs,
turns a back-tick into an apostrophe, splits some hyphens, splits numbers from caseless letters, always splits a full
stop from a number or a dotted word, and has English rules for the apostrophe in nearly every language. Sentences that
may be concerned are rewritten before and restored after; whatever comes out, no character of the sentence is ever lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path

from encoder.known_words import Segmenter
from encoder.normalize import LAST_LETTER

# A format character: the tokenizer never breaks at one, nor between the two characters it stands between.
_JOINER = "\u206f"
_HIEROGLYPHS = range(0x13000, 0x13000 + 1024)  # caseless letters, in no sentence we shall meet
_DOT, _HYPHEN = chr(_HIEROGLYPHS[0]), chr(_HIEROGLYPHS[1])
_UNUSUAL = re.compile(f"[{_JOINER}{chr(_HIEROGLYPHS[0])}-{chr(_HIEROGLYPHS[-1])}]")

_CASELESS = f"\u05d0-\u1bff\u3040-\ud7ff{_DOT}-{chr(_HIEROGLYPHS[-1])}"
_NUMBER_MEETS_CASELESS = re.compile(rf"(?<=\d)(?=[{_CASELESS}])|(?<=[{_CASELESS}])(?=\d)")
_COMMA_BEFORE_NUMBER = re.compile(r"(?<!\d),(?=\d)")
# Moses keeps a full stop before lower case, inside a word, and after a word with a letter and another full stop in it.
_STOP_BEFORE_WORD = re.compile(rf"(\d*)(?<=[\d{_CASELESS}])\.(?= (\w))")
_STOP_INSIDE_WORD = re.compile(rf"(?<=\w)\.(?=[{_CASELESS}])")
_STOP_AFTER_DOTTED = re.compile(r"(?<![\w.-])((?:[\w-]+\.)+[\w-]+)\.(?![\w.'`,-])")
# The first class is what makes this fast: the search skips to one of these characters before it tries anything.
_CONCERNED = re.compile(
    rf"[-`.,\d\u0900-\u1bff](?:(?<=`)|(?<=[\u0900-\u1bff])|(?<=-)(?:[^\w\s]|$)|(?<=[^\w\s]-)"
    rf"|(?<=[\d{_CASELESS}]\.) |(?<=\.)(?:\w+\.(?![\w.'`,-])|[{_CASELESS}])|(?<=,)(?<!\d,)\d|(?<=\d)[{_CASELESS}]"
    rf"|(?<=[{_CASELESS}]\d))"
)
_STOP = re.compile(r"\. (?=(.))")
_FOLLOWED = "\x1f"  # white space, so in no word
_APOSTROPHE_BEFORE_NO_LETTER = re.compile(r"'(?![^\W\d_])")


def _isolated(text: str) -> str:
    return text.replace("'", " ' ")


def _isolated_before_no_letter(text: str) -> str:
    return _APOSTROPHE_BEFORE_NO_LETTER.sub(" ' ", text)


class Moses(Segmenter):
    """The Moses tokenizer of one language.

    A word is tokenized the same wherever it stands, but for a full stop at its end, which falls off or not by the first
    character of the next word. So that nothing else matters, such a word is given with a letter or figure to stand for
    what follows.
    """

    def __init__(self, lang: str) -> None:
        from mosestokenizer import MosesTokenizer  # a large library, which an encoder that is only loaded does not need

        try:
            self._compiled = MosesTokenizer(lang, url_handling=False)
        except RuntimeError:  # no list of abbreviations for this language
            self._compiled = MosesTokenizer("en", url_handling=False)
        self._ordinals = _ordinals(lang)
        self._apostrophes: Callable[[str], str] | None = _isolated
        if lang == "en":
            self._apostrophes = None
        elif lang in ("fr", "it"):
            self._apostrophes = _isolated_before_no_letter

    def spaced(self, sentence: str) -> str:
        return _STOP.sub(_with_what_follows, sentence) if ". " in sentence else sentence

    def tokens(self, word: str) -> str:
        if word.isalpha():
            return word
        if _FOLLOWED in word:
            return self._tokenize(word.replace(_FOLLOWED, " "))[:-2]
        return self._tokenize(word)

    def _tokenize(self, text: str) -> str:
        spaced = self._apostrophes(text) if self._apostrophes and "'" in text else text
        if not _CONCERNED.search(spaced):
            tokens = " ".join(self._compiled.tokenize(spaced))
            if _same_characters(tokens, text):
                return tokens
        return self._careful(spaced)

    def _stop_before_word(self, found: re.Match[str]) -> str:
        number, following = found.groups()
        return number + (_DOT if following.islower() or number in self._ordinals else ".")

    def _careful(self, text: str) -> str:
        plain = " ".join(text.split())
        if _UNUSUAL.search(plain):
            return plain
        hidden = _COMMA_BEFORE_NUMBER.sub(", ", plain) if "," in plain else plain
        if "." in plain:
            hidden = _STOP_BEFORE_WORD.sub(self._stop_before_word, _STOP_INSIDE_WORD.sub(_DOT, hidden))
            hidden = _STOP_AFTER_DOTTED.sub(_stop_after_dotted, hidden)
        hidden = _NUMBER_MEETS_CASELESS.sub(_JOINER, hidden.translate(_hiding()))
        tokens = " ".join(self._compiled.tokenize(hidden)).replace(_JOINER, "").translate(_showing())
        return tokens if _same_characters(tokens, plain) else plain


def _with_what_follows(stop: re.Match[str]) -> str:
    """What Moses wants to know of the word after a full stop: whether it begins in lower case, or with a figure."""
    first = stop[1]
    return f".{_FOLLOWED}{'a' if first.islower() else '0' if first.isdigit() else 'A'} "


def _stop_after_dotted(found: re.Match[str]) -> str:
    return found[1] + (_DOT if any(map(str.isalpha, found[1])) else ".")


def _same_characters(tokens: str, text: str) -> bool:
    return tokens.replace(" ", "") == text.replace(" ", "")


def _ordinals(lang: str) -> set[str]:
    """The numbers among a language's abbreviations ("am 3. Mai"), which the compiled tokenizer overlooks."""
    import mosestokenizer

    prefixes = Path(mosestokenizer.__file__).parent / f"share/nonbreaking_prefixes/nonbreaking_prefix.{lang}"
    return {line for line in prefixes.read_text().split("\n") if line.isdigit()} if prefixes.exists() else set()


@cache
def _hiding() -> dict[int, str]:
    """Characters that the tokenizer deletes, changes or splits wrongly, each with a letter to stand for it."""
    signs = (i for i in range(LAST_LETTER + 1) if unicodedata.category(chr(i)) == "Mc")
    return {ord("-"): _HYPHEN} | {i: chr(s) for i, s in zip((ord("`"), *signs), _HIEROGLYPHS[2:], strict=False)}


@cache
def _showing() -> dict[int, str]:
    return {ord(stand_in): chr(original) for original, stand_in in _hiding().items()} | {ord(_DOT): "."}
