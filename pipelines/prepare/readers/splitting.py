"""Running text into sentences, by rules for each language."""

from __future__ import annotations

import re

# Chinese and Japanese end sentences without a space; a closing quote or bracket belongs to the sentence it ends.
_IDEOGRAPHIC = frozenset({"zh", "ja", "yue", "wuu"})
_SENTENCE = re.compile(r"[^。！？!?｡]*[。！？!?｡]+[”’」』）)】》\"]*|[^。！？!?｡]+")


def split_sentences(text: str, lang: str) -> list[str]:
    """The sentences of a text; a line end always ends one."""
    paragraphs = [line for line in text.split("\n") if line and not line.isspace()]
    if lang in _IDEOGRAPHIC:
        return [found for line in paragraphs for part in _SENTENCE.findall(line) if (found := part.strip())]
    import sentencex

    return [found for line in paragraphs for part in sentencex.segment(lang, line) if (found := part.strip())]
