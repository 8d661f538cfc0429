"""The text path against sacremoses + jieba + SentencePiece one by one: do tokens agree, and how much faster is it."""

from __future__ import annotations

import gzip
import lzma
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import jieba
import numpy as np
from rich.console import Console
from rich.table import Table
from sacremoses import MosesTokenizer
from sentencepiece import SentencePieceProcessor

from encoder.languages import canonical
from encoder.normalize import NormalizeSettings, normalize
from encoder.segment import CHINESE, by_word, segment
from encoder.subword import Subword, SubwordSettings, train_subword
from encoder.text import TextEncoder, TextSettings, prepare
from tests.conftest import SHARED_DATA

# Tatoeba's test has everyday sentences in each of these; sixteen also have documentation with code in it.
LANGUAGES = (
    "afr", "ara", "ben", "bul", "cat", "ces", "cmn", "dan", "deu", "ell", "eng", "epo", "est",
    "eus", "fin", "fra", "gle", "heb", "hin", "hrv", "hun", "ind", "isl", "ita", "kor", "lat",
    "lit", "lvs", "mal", "mar", "mkd", "nld", "nob", "pes", "pol", "por", "ron", "rus", "slk",
    "slv", "spa", "srp", "swe", "tam", "tel", "tur", "ukr", "urd", "vie", "wuu", "yue",
)  # fmt: skip
CORPORA = (
    ("europarl-dev/de-en", "de"), ("europarl-dev/fr-en", "fr"), ("europarl-dev/fr-en", "en"),
    ("mixed-test/zh-en", "zh"), ("mixed-test/ru-en", "ru"), ("mixed-test/cs-en", "cs"),
)  # fmt: skip
REFERENCE_SENTENCES = 500  # sacremoses is slow


def real_sentences(data: Path, code: str, most: int = 2000) -> list[str]:
    """Tatoeba test sentences and Kubernetes documentation of one language, half each where both exist."""
    name = f"tatoeba.{code}-eng.{code}" if code != "eng" else "tatoeba.deu-eng.eng"
    everyday = (data / "eval/tatoeba-v1" / name).read_text().splitlines()
    documents = data / f"mono/k8s.{canonical(code)}.tsv.gz"
    technical: list[str] = []
    if documents.exists() and code not in ("wuu", "yue"):
        with gzip.open(documents, "rt") as lines:
            technical = [line.rstrip("\n").split("\t")[1] for line in lines]
        technical = technical[:: max(1, len(technical) // (most - min(len(everyday), most // 2)))]
    return (everyday[: most - min(len(technical), most // 2)] + technical)[:most]


def reference_segmenter(lang: str) -> Callable[[str], str]:
    """What jieba or sacremoses makes of a sentence, as tokens joined by single spaces."""
    if lang in CHINESE:
        jieba.setLogLevel("ERROR")
        jieba.initialize()
        return lambda sentence: " ".join(" ".join(jieba.cut(sentence)).split())
    moses = MosesTokenizer(lang)
    return lambda sentence: str(moses.tokenize(sentence, escape=False, return_str=True))


def agreement(sentences: list[str], lang: str) -> float:
    """The share of sentences in which every token is the reference's."""
    reference = reference_segmenter(lang)
    cased = normalize(sentences, NormalizeSettings(lowercase=False))
    same = [ours == reference(sentence) for ours, sentence in zip(segment(cased, lang), cased, strict=True)]
    return sum(same) / len(same)


def seconds(action: Callable[[], object]) -> float:
    """Processor seconds: both sides run on one thread, and a busy machine must not decide."""
    start = time.process_time()
    action()
    return time.process_time() - start


def reference_path(
    sentences: list[str], cut: Callable[[str], str], processor: SentencePieceProcessor
) -> list[list[int]]:
    settings = NormalizeSettings()
    return [processor.encode(cut(normalize([sentence], settings)[0]))[:120] for sentence in sentences]


def train_on(samples: dict[str, list[str]], vocabulary: int = 32_000) -> Subword:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "sentencepiece.model"
        prepared = {code: prepare(sentences, code, TextSettings()) for code, sentences in samples.items()}
        train_subword(prepared, SubwordSettings(vocabulary=vocabulary), model)
        return Subword.load(model)


def show_agreement(console: Console, samples: dict[str, list[str]]) -> None:
    table = Table("language", "sentences", "same tokens", title="agreement with jieba (zh yue wuu) and sacremoses")
    rates = {code: agreement(sentences, canonical(code)) for code, sentences in samples.items()}
    for code, rate in sorted(rates.items(), key=lambda item: item[1]):
        table.add_row(canonical(code), str(len(samples[code])), f"{rate:.2%}")
    count = sum(map(len, samples.values()))
    overall = sum(rates[code] * len(samples[code]) for code in rates) / count
    table.add_row("all", str(count), f"{overall:.2%}")
    console.print(table)


def corpus(data: Path, folder: str, lang: str) -> list[str]:
    """Every sentence of one side of a mining set, each of which the text path sees for the first time."""
    (path,) = (data / "eval/mining" / folder).glob(f"*.{lang}.xz")
    with lzma.open(path, "rt") as lines:
        return [line.rstrip("\n").split("\t", 1)[1] for line in lines]


def everyday_english(data: Path) -> list[str]:
    """A large corpus of short sentences, each once: what is new in it are sentences, rarely words."""
    found: dict[str, None] = {}
    for path in sorted((data / "train/tatoeba").glob("en-*.tsv.xz")):
        with lzma.open(path, "rt") as lines:
            found.update((line.split("\t", 1)[0], None) for line in lines)
    return list(found)


def show_speed(console: Console, data: Path, subword: Subword) -> None:
    total = np.zeros(4)
    table = Table(
        "corpus",
        "sentences",
        "ours/s",
        "reference/s",
        "ratio",
        "words known",
        title="whole text path, one thread, from cold",
    )
    for folder, lang in CORPORA:
        measured = measure(corpus(data, folder, lang), lang, subword)
        table.add_row(f"{folder} {lang}", *_speeds(measured))
        total += measured
    table.add_row("all", *_speeds(total))
    table.add_row("train/tatoeba en", *_speeds(measure(everyday_english(data), "en", subword)))
    console.print(table)


def measure(sentences: list[str], lang: str, subword: Subword) -> np.ndarray:
    """The number of sentences, and seconds: ours, the reference's (from a sample), ours once the words are known."""
    few = sentences[:: max(1, len(sentences) // REFERENCE_SENTENCES)]
    encoder = TextEncoder(TextSettings(), Subword(subword.model))
    by_word(lang)
    cut, processor = reference_segmenter(lang), SentencePieceProcessor(model_proto=subword.model)
    reference_path(few[:2], cut, processor)
    slow = seconds(lambda: reference_path(few, cut, processor)) / len(few) * len(sentences)
    fast, known = (seconds(lambda: encoder.encode(sentences, lang)) for _ in range(2))
    return np.array([len(sentences), fast, slow, known])


def _speeds(measured: np.ndarray) -> list[str]:
    count, fast, slow, known = measured
    ratios = f"{slow / fast:.1f}", f"{count / known:,.0f}/s, {slow / known:.1f}"
    return [f"{count:,.0f}", f"{count / fast:,.0f}", f"{count / slow:,.0f}", *ratios]


def main() -> None:
    console = Console()
    if not SHARED_DATA.is_dir():
        console.print(f"text: skipped, the real corpora are not at {SHARED_DATA}")
        return
    samples = {code: real_sentences(SHARED_DATA, code) for code in LANGUAGES}
    show_agreement(console, samples)
    show_speed(console, SHARED_DATA, train_on(samples))
