"""Vectors of single words for benchmarks of alignment."""

from __future__ import annotations

from collections.abc import Sequence

from mining.alignment_words import CorpusWords
from pipelines.evaluation.benchmark_files import Texts
from pipelines.evaluation.sources import VectorFolder, VectorSource
from pipelines.mine.word_texts import find_words


def words_of(source: VectorSource, name: str, texts: Sequence[str], lang: str | None) -> CorpusWords | None:
    """The words of texts as the source encodes them, under the name `X.words`; none where a folder lacks them."""
    words = find_words(texts, lang)
    vocabulary = Texts(f"{name}.words", words.vocabulary.to_pylist(), lang)
    if isinstance(source, VectorFolder) and not source.has(vocabulary):
        return None
    return CorpusWords(words, source.vectors(vocabulary))
