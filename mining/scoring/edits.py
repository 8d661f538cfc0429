"""English sentences changed by little so that they say something else, as in xsim++ (Chen et al. 2023).

One number, name or word is another one, or the words are the same in another order: hard candidates for a test of an
encoder, hard negatives for its training. No tagger and no model, so that anybody gets the same edits anywhere.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeVar

import numpy as np
import xxhash

from mining.scoring.antonyms import ANTONYMS
from mining.scoring.noise import other_digits

Choice = TypeVar("Choice")
GENERATOR = (
    "twinlode-edits/1"  # whoever changes what an edit is counts this up: figures of two generators do not compare
)

_WORD = re.compile(r"\w+n['’]t\b|\w+(?:[.,\-]\w+)*")
_TRIES = 4  # for each edit that is wanted, before a sentence counts as having no more
_FEWEST_SHUFFLED = 4  # words
_CLASSES = tuple(
    tuple(words.split())
    for words in (
        "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty",
        "hundred thousand million billion",
        "second third fourth fifth sixth seventh eighth ninth tenth",
        "january february march april june july august september october november december",
        "monday tuesday wednesday thursday friday saturday sunday",
    )
)
_NUMBER_WORDS = {word: words for words in _CLASSES for word in words}
_CALENDAR = {word for words in _CLASSES[-2:] for word in words}
_MODALS = {
    "may": ("must", "will"), "might": ("must", "will"), "could": ("must", "should"), "can": ("must", "should"),
    "must": ("may", "might"), "shall": ("may", "might"), "should": ("may", "might"), "will": ("might", "could"),
    "would": ("might", "must"), "possibly": ("certainly",), "perhaps": ("certainly",), "probably": ("certainly",),
    "maybe": ("certainly",), "certainly": ("possibly",), "definitely": ("possibly",), "surely": ("perhaps",),
    "sometimes": ("always",), "need": ("want",), "needs": ("wants",), "tried": ("managed",), "want": ("have",),
    "wants": ("has",), "wanted": ("had",),
}  # fmt: skip
_BE_OR_DO = {"is", "are", "was", "were", "do", "does", "did"}
_MODAL_VERBS = {"can", "could", "will", "would", "should", "must", "may", "might", "shall"}
_HAVE = {"has", "have", "had"}
_CONTRACTED = {"can't": "can", "won't": "will", "shan't": "shall", "cannot": "can"}
_NO_CONTRACTION = {"may", "might", "shall"}


class Edit(StrEnum):
    """What of a sentence is changed."""

    number = "number"
    name = "name"
    antonym = "antonym"
    negation = "negation"
    modality = "modality"
    shuffled = "shuffled"


class HardCandidate(NamedTuple):
    """An edited sentence, the row of the original, and what was changed."""

    text: str
    row: int
    kind: str


class _Word(NamedTuple):
    text: str
    start: int
    end: int


class EditMaker:
    """Edits of the sentences of a corpus: names are swapped for others of its own."""

    def __init__(self, texts: Sequence[str], seed: int = 0) -> None:
        self.seed = seed
        words = [_words(text) for text in texts]
        self._lower = {word.text for sentence in words for word in sentence if word.text[:1].islower()}
        # A sentence begins with a capital whatever its first word is: only one that is seen elsewhere is a name there.
        self._inner = {word.text for sentence in words for word in sentence[1:] if self._is_name(word.text)}
        names: dict[int, set[str]] = defaultdict(set)
        for text, sentence in zip(texts, words, strict=True):
            for run in self._names(text, sentence):
                names[len(run)].add(_between(text, run))
        self._names_of_size = {size: sorted(found) for size, found in names.items()}
        self._ways: dict[Edit, Callable[[str, np.random.Generator], str | None]] = {
            Edit.number: self._change_number,
            Edit.name: self._change_name,
            Edit.antonym: self._change_antonym,
            Edit.negation: self._change_negation,
            Edit.modality: self._change_modality,
            Edit.shuffled: self._shuffle,
        }

    def make(self, text: str, kind: Edit, most: int = 1) -> list[str]:
        """Up to `most` different edits; which, depends on the sentence and the seed but not on its place."""
        rng = np.random.default_rng([self.seed, xxhash.xxh3_64_intdigest(f"{kind}\t{text}".encode())])
        found: dict[str, None] = {}
        for _ in range(_TRIES * most):
            made = self._ways[kind](text, rng)
            if made is None:
                break
            if made != text:
                found[made] = None
            if len(found) == most:
                break
        return list(found)

    def _is_name(self, word: str) -> bool:
        capital = word[:1].isupper() and word != "I" and word.lower() not in _CALENDAR
        return capital and word.lower() not in self._lower

    def _names(self, text: str, words: Sequence[_Word]) -> list[list[_Word]]:
        """Runs of names with nothing but a space between them."""
        runs: list[list[_Word]] = []
        for place, word in enumerate(words):
            if not (word.text in self._inner if place == 0 else self._is_name(word.text)):
                continue
            if runs and text[runs[-1][-1].end : word.start] == " ":
                runs[-1].append(word)
            else:
                runs.append([word])
        return runs

    def _change_number(self, text: str, rng: np.random.Generator) -> str | None:
        numbers = [word for word in _words(text) if word.text[:1].isdigit() or word.text.lower() in _NUMBER_WORDS]
        if not numbers:
            return None
        word = _pick(numbers, rng)
        if word.text[0].isdigit():
            # The last two digits: another year, not one that nobody would write.
            head, tail = _last_digits(word.text)
            return _replaced(text, word, head + other_digits(tail, rng))
        return _replaced(text, word, _other(_NUMBER_WORDS[word.text.lower()], word.text, rng))

    def _change_name(self, text: str, rng: np.random.Generator) -> str | None:
        runs = self._names(text, _words(text))
        runs = [run for run in runs if len(self._names_of_size.get(len(run), ())) > 1]
        if not runs:
            return None
        run = _pick(runs, rng)
        old = _between(text, run)
        new = _pick([name for name in self._names_of_size[len(run)] if name != old], rng)
        return text[: run[0].start] + new + text[run[-1].end :]

    def _change_antonym(self, text: str, rng: np.random.Generator) -> str | None:
        known = [word for word in _words(text) if word.text.lower() in ANTONYMS]
        if not known:
            return None
        word = _pick(known, rng)
        return _replaced(text, word, ANTONYMS[word.text.lower()])

    def _change_modality(self, text: str, rng: np.random.Generator) -> str | None:
        words = _words(text)
        known = [
            word
            for word, after in zip(words, [*words[1:], None], strict=True)
            if word.text.lower() in _MODALS
            and (word.text.islower() or word is words[0])  # not the month or Will Smith
            and (after is None or after.text != "not")
        ]
        if not known:
            return None
        word = _pick(known, rng)
        return _replaced(text, word, _pick(_MODALS[word.text.lower()], rng))

    def _change_negation(self, text: str, rng: np.random.Generator) -> str | None:
        """Takes a negation away where there is one, else adds one to an auxiliary; without any there is none."""
        words = _words(text)
        removed = _without_negation(text, words)
        if removed is not None:
            return removed
        verbs = [word for place, word in enumerate(words) if _takes_not(words, place)]
        if not verbs:
            return None
        verb = _pick(verbs, rng)
        if text.rstrip().endswith("?") and verb.text.lower() not in _NO_CONTRACTION:
            return _replaced(text, verb, _contracted(verb.text.lower()))
        return text[: verb.end] + " not" + text[verb.end :]

    def _shuffle(self, text: str, rng: np.random.Generator) -> str | None:
        words = text.split()
        if len(words) < _FEWEST_SHUFFLED:
            return None
        end = re.search(r"\W*$", words[-1])
        mark = end[0] if end else ""
        words[-1] = words[-1].removesuffix(mark)
        return " ".join(words[place] for place in rng.permutation(len(words)).tolist()) + mark


def hard_candidates(
    texts: Sequence[str], seed: int = 0, per_sentence: int = 1, per_kind: int = 0
) -> list[HardCandidate]:
    """Edits of all kinds: of each at most `per_sentence` of a sentence, and `per_kind` in all where it is not 0.

    None equals an original, whatever its capitals.
    """
    maker = EditMaker(texts, seed)
    originals = {text.casefold() for text in texts}
    chosen: list[HardCandidate] = []
    for number, kind in enumerate(Edit):
        made = [
            HardCandidate(edit, row, kind)
            for row, text in enumerate(texts)
            for edit in maker.make(text, kind, per_sentence)
        ]
        made = [candidate for candidate in made if candidate.text.casefold() not in originals]
        if 0 < per_kind < len(made):
            kept = np.random.default_rng([seed, number]).choice(len(made), per_kind, replace=False)
            made = [made[place] for place in np.sort(kept).tolist()]
        chosen += made
    return chosen


def _words(text: str) -> list[_Word]:
    return [_Word(match[0], match.start(), match.end()) for match in _WORD.finditer(text)]


def _between(text: str, run: Sequence[_Word]) -> str:
    return text[run[0].start : run[-1].end]


def _replaced(text: str, word: _Word, new: str) -> str:
    """`new` in place of the word, with its capital."""
    new = new[:1].upper() + new[1:] if word.text[:1].isupper() else new
    return text[: word.start] + new + text[word.end :]


def _pick(choices: Sequence[Choice], rng: np.random.Generator) -> Choice:
    return choices[int(rng.integers(len(choices)))]


def _other(choices: Sequence[str], word: str, rng: np.random.Generator) -> str:
    return _pick([choice for choice in choices if choice != word.lower()], rng)


def _last_digits(number: str) -> tuple[str, str]:
    """All before the last two digits, and the rest."""
    places = [match.start() for match in re.finditer(r"\d", number)]
    start = places[-2] if len(places) > 2 else 0
    return number[:start], number[start:]


def _takes_not(words: Sequence[_Word], place: int) -> bool:
    """Whether the word is an auxiliary: have is one before a participle."""
    word = words[place].text.lower()
    if word in _HAVE:
        after = words[place + 1].text.lower() if place + 1 < len(words) else ""
        return after == "been" or after.endswith(("ed", "en"))
    return word in _BE_OR_DO or (word in _MODAL_VERBS and (place == 0 or words[place].text.islower()))


def _contracted(verb: str) -> str:
    return {"can": "can't", "will": "won't"}.get(verb, f"{verb}n't")


def _without_negation(text: str, words: Sequence[_Word]) -> str | None:
    for word in words:
        plain = word.text.lower().replace("’", "'")
        if plain in _CONTRACTED:
            return _replaced(text, word, _CONTRACTED[plain])
        if plain.endswith("n't"):
            return _replaced(text, word, plain.removesuffix("n't"))
        if plain in ("not", "never") and word is not words[0]:
            return text[: word.start].rstrip() + text[word.end :]
    return None
