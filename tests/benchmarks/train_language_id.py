"""Makes `mining/language_id/model.npz`, in some four minutes of one core:

    python -m tests.benchmarks.train_language_id PACKAGE_TEXT [OUT]

Text: what of the shared training corpora may go into a model that is shipped; messages of programs and wikis in the
further languages of the packaged encoder (PACKAGE_TEXT, made by `python -m tests.benchmarks.package_text`); and, so
that everyday words of languages with documentation only are known, too, lists of frequent words of the packages
`langidentify` (Apache 2.0, from Wikipedia) and `wordfreq` (CC-BY-SA 4.0), which must be installed for this.
"""

from __future__ import annotations

import gzip
import json
import lzma
import random
import sys
import zlib
from collections import defaultdict
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
from wordfreq import available_languages, get_frequency_dict

from mining.language_id.identifier import MODEL_FILE, Model, file_digest, save_model, score
from mining.language_id.identifier_training import LabelledSentences, calibrate, fit, shrink
from mining.language_id.sentence_language import log_odds

CORPORA = Path(__file__).resolve().parents[3] / "shared" / "data" / "train"
EPOCHS, RATE = 2, 0.6
ROWS = 80_000
NOT_TO_BE_SHIPPED = {"multi30k"}
MESSAGES = ("catalogs", "mediawiki", "wesnoth")  # of package text: sentences, not names or lists of words
# Languages of fewer held-out sentences, or of which a larger share is lost, compete, but no corpus is judged by them.
FEWEST_HELD_OUT, MOST_LOST = 30, 0.04
# Have little text, and were measured on some that is not for training (UDHR).
MEASURED = {"ha", "lo", "mi", "rw", "sn", "so", "sw", "ti", "wo", "zu"}
# Priors (log odds). What is held out of documentation says little of everyday sentences, so languages with few of these
# (or with lists of words only) get more.
LOST, LEAST_PRIOR, MOST_PRIOR = 0.005, 0.5, 3.0
FEW, OF_FEW, DOCUMENTATION_PRIOR, WORDS_PRIOR = 100, 1.0, 4.0, 5.0
# Every language alike, so that what is common to everyday text does not speak for languages that have some.
OF_CORPUS, OF_TATOEBA = 1_000, 3_500  # sentences of a language from one corpus in an epoch
OF_LANGUAGE = 5_000
OF_LIST = 2_500  # sentences made of one list of words
OF_HELD_OUT = 500  # sentences of one corpus
_NAMES = 0.25  # of the sentences get a name: Tom is in every tenth of Tatoeba
_HELD_OUT = 40  # one in so many
_LATIN = [*"abvgdđežzijkl", "lj", *"mn", "nj", *"oprstćufhcč", "dž", "š"]
_CYRILLIC = dict(zip("абвгдђежзијклљмнњопрстћуфхцчџш", _LATIN, strict=True))

# What the file calls Slovene is Slovak; written Cantonese is not told from Chinese.
_MISNAMED = {("tatoeba", "sl"): "sk", ("mediawiki", "yue"): "zh", ("catalogs", "yue"): "zh"}

Corpora = dict[str, dict[str, list[str]]]  # language -> corpus -> sentences


def read(package_text: Path) -> Iterator[tuple[str, str, str, str]]:
    """Language, corpus, sentence and the text by which translations go the same way: train or held out."""
    messages = [package_text / f"{name}.jsonl.xz" for name in MESSAGES]
    for path in [*sorted((CORPORA / "nway").glob("*.jsonl.xz")), *messages]:
        corpus = path.name.removesuffix(".jsonl.xz")
        if corpus in NOT_TO_BE_SHIPPED:
            continue
        with lzma.open(path, "rt") as stream:
            for group in map(json.loads, stream):
                for lang, text in group.items():
                    if not _copied(text, group):
                        yield _MISNAMED.get((corpus, lang), lang), corpus, text, group["en"]
    for corpus in ("tatoeba", "tatoeba_pivot", "mdn", "k8s"):
        for path in sorted((CORPORA / corpus).glob("*.tsv.xz")):
            languages = path.name.removesuffix(".tsv.xz").split("-")
            with lzma.open(path, "rt") as stream:
                for line in stream:
                    sides = line.rstrip("\n").split("\t")[:2]
                    for lang, text in zip(languages, sides, strict=True):
                        lang = _MISNAMED.get((corpus, lang), lang)
                        if lang == "en" or not _copied(text, {"en": sides[0]}):
                            yield lang, corpus, text, text


def _copied(text: str, group: dict[str, str]) -> bool:
    """Untranslated, though the file says otherwise."""
    words = set(text.lower().split())
    return text is not group["en"] and len(words & set(group["en"].lower().split())) > len(words) / 2


def split(package_text: Path) -> tuple[Corpora, Corpora]:
    """What to train on, and what is held out for the priors."""
    parts: tuple[dict, dict] = (defaultdict(lambda: defaultdict(set)), defaultdict(lambda: defaultdict(set)))
    for lang, corpus, text, key in read(package_text):
        parts[zlib.crc32(key.encode()) % _HELD_OUT == 0][lang][corpus].add(text)
    train, held_out = (
        {lang: {name: sorted(texts) for name, texts in sorted(of.items())} for lang, of in sorted(part.items())}
        for part in parts
    )
    train = {lang: _preferred(of) for lang, of in train.items()}
    kept = {lang: {name: of[name] for name in of if name in train[lang]} for lang, of in held_out.items()}
    return train, kept


def _preferred(corpora: dict[str, list[str]]) -> dict[str, list[str]]:
    """All but messages, where that is enough: words that all programs have say little of a language."""
    others = {name: texts for name, texts in corpora.items() if name not in MESSAGES}
    return others if sum(map(len, others.values())) >= OF_LANGUAGE else corpora


class WordList(NamedTuple):
    words: np.ndarray
    cumulative: np.ndarray  # probability


def word_lists() -> dict[str, list[WordList]]:
    """By language, lists of frequent words."""
    lists: dict[str, list[WordList]] = defaultdict(list)
    for file in sorted(files("langidentify").joinpath("models/lite").iterdir(), key=lambda file: file.name):
        if file.name.startswith("topwords-"):
            lines = gzip.decompress(file.read_bytes()).decode().splitlines()
            fields = [line.split(" ") for line in lines if not line.startswith("#")]
            language = file.name.removeprefix("topwords-").split(".")[0]
            lists[language].append(_word_list({word: np.exp(float(value)) for word, value in fields}))
    for language in sorted(available_languages("small")):
        found = _word_list(get_frequency_dict(language, "small"))
        for name in {"nb": ["no"], "fil": ["tl"], "sh": ["bs", "hr", "sr"], "ja": [], "zh": []}.get(
            language, [language]
        ):
            lists[name].append(found)
    return lists


def _word_list(frequencies: dict[str, float]) -> WordList:
    words = sorted(frequencies)
    cumulative = np.cumsum([frequencies[word] for word in words])
    return WordList(np.array(words), cumulative / cumulative[-1])


def names(sentences: list[str]) -> list[str]:
    """Capitalised words inside sentences, as often as they are there."""
    return [
        word.strip(".,?!") for text in sentences for word in text.split()[1:] if word[0].isupper() and len(word) > 2
    ]


class Draw:
    """A sample for each epoch."""

    def __init__(self, corpora: Corpora) -> None:
        self.corpora, self.lists = corpora, word_lists()
        self.names = names(corpora["en"]["tatoeba"])
        self.languages = sorted({*corpora, *self.lists})

    def __call__(self, epoch: int) -> LabelledSentences:
        rng = random.Random(epoch)
        sentences: list[str] = []
        labels: list[int] = []
        for number, language in enumerate(self.languages):
            own = self._sentences(language, rng)
            sentences += own
            labels += [number] * len(own)
        print(f"epoch {epoch}: {len(sentences):,} sentences in {len(self.languages)} languages", flush=True)
        return LabelledSentences(sentences, np.array(labels))

    def _sentences(self, language: str, rng: random.Random) -> list[str]:
        own: list[str] = []
        for corpus, texts in self.corpora.get(language, {}).items():
            own += rng.sample(texts, min(len(texts), OF_TATOEBA if corpus == "tatoeba" else OF_CORPUS))
        if own:
            own = (rng.sample(own, len(own)) * (OF_LANGUAGE // len(own) + 1))[:OF_LANGUAGE]
        own = [_piece(text, rng) if rng.random() < 0.4 else text for text in own]
        for found in self.lists.get(language, []):
            own += _sentences_of_words(found, np.random.default_rng(rng.randrange(2**32)))
        if language == "sr":
            own = [_in_latin(text) if rng.random() < 0.5 else text for text in own]
        return [f"{text} {rng.choice(self.names)}" if rng.random() < _NAMES else text for text in own]


def _piece(text: str, rng: random.Random) -> str:
    """A few words of a sentence: short sentences are what is hard."""
    words = text.split()
    if len(words) < 4:
        return text
    length = rng.randint(2, min(8, len(words)))
    begin = rng.randrange(len(words) - length + 1)
    return " ".join(words[begin : begin + length])


def _sentences_of_words(found: WordList, rng: np.random.Generator) -> list[str]:
    lengths = rng.integers(2, 10, OF_LIST)
    drawn = found.words[np.searchsorted(found.cumulative, rng.random(lengths.sum()), side="right")]
    return [" ".join(part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def _in_latin(text: str) -> str:
    return "".join(_CYRILLIC.get(letter, letter) for letter in text.lower())


def with_priors(model: Model, held_out: Corpora) -> Model:
    samples = {lang: [text for texts in of.values() for text in texts[:OF_HELD_OUT]] for lang, of in held_out.items()}
    prior = calibrate(model, samples, LOST, LEAST_PRIOR, MOST_PRIOR).prior.copy()
    for number, language in enumerate(model.languages):
        everyday = len(held_out.get(language, {}).get("tatoeba", []))
        if language not in held_out:
            prior[number] = WORDS_PRIOR
        elif not everyday:
            prior[number] = DOCUMENTATION_PRIOR
        elif everyday < FEW:
            prior[number] = min(prior[number] + OF_FEW, DOCUMENTATION_PRIOR)
    model = model._replace(prior=prior)
    return model._replace(known=tuple(_is_known(model, language, samples) for language in model.languages))


def _is_known(model: Model, language: str, held_out: dict[str, list[str]]) -> bool:
    sentences = held_out.get(language, [])
    if len(sentences) < FEWEST_HELD_OUT:
        return language in MEASURED
    lost = float(np.mean(log_odds(model, score(model, sentences), language) < 0))
    if lost > MOST_LOST:
        print(f"{language}: {lost:.1%} of {len(sentences)} held-out sentences lost, so only a rival")
    return lost <= MOST_LOST


def main(package_text: Path, out: Path = MODEL_FILE) -> None:
    corpora, held_out = split(package_text)
    draw = Draw(corpora)
    model = with_priors(shrink(fit(draw, len(draw.languages), EPOCHS, RATE), draw.languages, ROWS), held_out)
    save_model(out, model)
    print(f"{out}: {out.stat().st_size:,} bytes, {len(model.languages)} languages, digest {file_digest(out)}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
