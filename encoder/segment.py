"""Words: the segmenter that each language needs, made once in a process."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache

from encoder.clitics import ARABIC, ArabicWords
from encoder.known_words import Remembered, Segmenter
from encoder.languages import canonical
from encoder.moses import Moses
from encoder.normalize import require_text, single_spaced
from mining.errors import InputError

CHINESE = frozenset({"zh", "yue", "wuu"})
UNSEGMENTED = frozenset({"km", "lo", "my"})  # no spaces, no dependable segmenter: SentencePiece finds the words

# jieba cuts a run of Latin letters, digits and signs that is not in its dictionary into these and what lies between.
_LATIN_WORD = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")
_LATIN_RUN = re.compile(r"[a-zA-Z0-9][-+#&._%]|[-+#&._%][-+#&._%a-zA-Z0-9]")


def segment(
    sentences: Sequence[str],
    lang: str | None,
    *,
    jumanpp: bool = False,
    simplified: bool = False,
    clitics: bool = False,
) -> list[str]:
    """Each sentence as tokens joined by single spaces; but by `simplified`, nothing but white space is changed.

    Languages without rules of their own, and None, are segmented as English is. `jumanpp` has Japanese
    segmented by the Juman++ program (as in EMS) in place of MeCab. `simplified` has traditional Chinese written in
    simplified characters first: the words that jieba knows, and one spelling for both. `clitics` has them cut off
    Arabic words.
    """
    cut = by_word(lang, jumanpp=jumanpp, simplified=simplified, clitics=clitics)
    if cut is None:
        return _jumanpp(sentences)
    known = _remembered(cut)
    try:
        spaced = map(cut.spaced, single_spaced(sentences))
        return [" ".join(filter(None, map(known.__getitem__, sentence.split(" ")))) for sentence in spaced]
    except (AttributeError, TypeError, UnicodeEncodeError):
        require_text(sentences)
        raise


def by_word(
    lang: str | None, *, jumanpp: bool = False, simplified: bool = False, clitics: bool = False
) -> Segmenter | None:
    """The segmenter of a language; None for Juman++, which wants many sentences at a time."""
    code = canonical(lang) if lang is not None else "en"
    if code == "ja" and jumanpp:
        return None
    return _segmenter(code, simplified and code in CHINESE, clitics and code in ARABIC)


def libraries(lang: str | None) -> tuple[str, ...]:
    """The packages that decide where the words of a language are cut."""
    code = canonical(lang) if lang is not None else "en"
    if code in CHINESE:
        return ("rjieba", "opencc")
    if code == "ja":
        return ("fugashi", "unidic-lite")
    if code == "th":
        return ("budoux",)
    return () if code in UNSEGMENTED else ("opus-fast-mosestokenizer",)


@cache
def _segmenter(code: str, simplified: bool, clitics: bool) -> Segmenter:
    """Made once for a canonical language code, and never pickled, so that each process makes its own."""
    if code in CHINESE:
        return _SimplifyingJieba() if simplified else _Jieba()
    if code == "ja":
        return _Mecab()
    if code == "th":
        return _Budoux()
    if clitics:
        return ArabicWords(code)
    return Segmenter() if code in UNSEGMENTED else Moses(code)


@cache
def _remembered(cut: Segmenter) -> Remembered:
    return Remembered(cut.tokens)


class _Jieba(Segmenter):
    def __init__(self) -> None:
        import rjieba  # reads its dictionary, which only Chinese needs

        self._cut, self._has_word = rjieba.cut, rjieba.has_word

    def spaced(self, sentence: str) -> str:
        words = self._cut(sentence)
        if _LATIN_RUN.search(sentence):
            words = [part for word in words for part in self._as_jieba(word)]
        return " ".join(words)

    def _as_jieba(self, word: str) -> Sequence[str]:
        """rjieba keeps such as "sha-1" and "os.path" whole; jieba does so only for words of its dictionary."""
        if len(word) == 1 or not _LATIN_RUN.search(word) or self._has_word(word):
            return (word,)
        return _LATIN_WORD.split(word)


class _SimplifyingJieba(_Jieba):
    def __init__(self) -> None:
        from opencc import OpenCC

        super().__init__()
        self._simplified = OpenCC("t2s").convert

    def spaced(self, sentence: str) -> str:
        return super().spaced(self._simplified(sentence))


class _Mecab(Segmenter):
    def __init__(self) -> None:
        import fugashi  # its dictionary takes 250 MB, and only Japanese needs it

        self._tagger = fugashi.Tagger("-Owakati")

    def spaced(self, sentence: str) -> str:
        return self._tagger.parse(sentence.replace("\0", " "))  # MeCab reads a byte stream: NUL would end it


class _Budoux(Segmenter):
    def __init__(self) -> None:
        import budoux

        self._parse = budoux.load_default_thai_parser().parse

    def spaced(self, sentence: str) -> str:
        return " ".join(self._parse(sentence))


def _jumanpp(sentences: Sequence[str]) -> list[str]:
    program = shutil.which("jumanpp")
    if program is None:
        raise InputError("the program jumanpp is not on the PATH; install Juman++ 2 or leave Japanese to MeCab")
    lines = "".join(f"{' '.join(sentence.split())}\n" for sentence in sentences)
    run = subprocess.run([program, "--segment"], input=lines, capture_output=True, text=True, encoding="utf-8")
    segmented = run.stdout.split("\n")[:-1]
    if run.returncode or len(segmented) != len(sentences):
        raise InputError(f"{program} failed on {len(sentences)} sentences: {run.stderr.strip() or 'lines are missing'}")
    return [" ".join(line.split()) for line in segmented]
