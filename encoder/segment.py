"""Words: the segmenter that each language needs, made once in a process."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from functools import cache

import rjieba

from encoder.errors import InputError
from encoder.languages import canonical
from encoder.moses import Moses
from encoder.normalise import require_text

Segmenter = Callable[[str], str]

CHINESE = frozenset({"zh", "yue", "wuu"})
UNSEGMENTED = frozenset({"th", "km", "lo", "my"})  # no spaces, no dependable segmenter: SentencePiece finds the words

# jieba cuts a run of Latin letters, digits and signs that is not in its dictionary into these and what lies between.
_LATIN_WORD = re.compile(r"([a-zA-Z0-9]+(?:\.\d+)?%?)")
_LATIN_RUN = re.compile(r"[a-zA-Z0-9][-+#&._%]|[-+#&._%][-+#&._%a-zA-Z0-9]")


def segment(sentences: Sequence[str], lang: str | None, *, jumanpp: bool = False) -> list[str]:
    """Each sentence as tokens joined by single spaces; no character is lost but white space.

    Languages without rules of their own, and None, are segmented as English is. `jumanpp` has Japanese
    segmented by the Juman++ program (as in EMS) in place of MeCab.
    """
    code = canonical(lang) if lang is not None else "en"
    if code == "ja" and jumanpp:
        return _jumanpp(sentences)
    cut = segmenter(code)
    try:
        return [cut(sentence) for sentence in sentences]
    except (AttributeError, TypeError, UnicodeEncodeError):
        require_text(sentences)
        raise


@cache
def segmenter(code: str) -> Segmenter:
    """The segmenter of a canonical language code; never pickled, so that each process makes its own."""
    if code in CHINESE:
        return _chinese
    if code == "ja":
        return _mecab()
    if code in UNSEGMENTED:
        return _unsegmented
    return Moses(code)


def _unsegmented(sentence: str) -> str:
    return " ".join(sentence.split())


def _chinese(sentence: str) -> str:
    words = rjieba.cut(sentence)
    if _LATIN_RUN.search(sentence):
        words = [part for word in words for part in _as_jieba(word)]
    return _unsegmented(" ".join(words))


def _as_jieba(word: str) -> Sequence[str]:
    """rjieba keeps such as "sha-1" and "os.path" whole; jieba does so only for words of its dictionary."""
    if len(word) == 1 or not _LATIN_RUN.search(word) or rjieba.has_word(word):
        return (word,)
    return _LATIN_WORD.split(word)


def _mecab() -> Segmenter:
    import fugashi  # its dictionary takes 250 MB, and only Japanese needs it

    tagger = fugashi.Tagger("-Owakati")

    def cut(sentence: str) -> str:
        # MeCab reads a byte stream: NUL would end it.
        return _unsegmented(tagger.parse(sentence.replace("\0", " ")))

    return cut


def _jumanpp(sentences: Sequence[str]) -> list[str]:
    program = shutil.which("jumanpp")
    if program is None:
        raise InputError("the program jumanpp is not on the PATH; install Juman++ 2 or leave Japanese to MeCab")
    lines = "".join(f"{_unsegmented(sentence)}\n" for sentence in sentences)
    run = subprocess.run([program, "--segment"], input=lines, capture_output=True, text=True, encoding="utf-8")
    segmented = run.stdout.split("\n")[:-1]
    if run.returncode or len(segmented) != len(sentences):
        raise InputError(f"{program} failed on {len(sentences)} sentences: {run.stderr.strip() or 'lines are missing'}")
    return [_unsegmented(line) for line in segmented]
