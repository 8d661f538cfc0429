"""A look at a corpus before anything is made of it: some sentences of its files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from mining.paths import expand
from pipelines.prepare.readers import ReadSettings, cut_file, document_format, read_block

SENTENCES = 1000
_FILES = 5
_BLOCK = 1 << 20


def sample_sentences(
    inputs: Sequence[str], read: ReadSettings, count: int = SENTENCES, *, documents: bool = False
) -> list[str]:
    """Up to `count` sentences from the beginning, the middle and the end of some of the files, or `documents`."""
    files = expand(list(inputs))
    chosen = [files[i * len(files) // _FILES] for i in range(_FILES)] if len(files) > _FILES else files
    sentences: list[str] = []
    for url in chosen:
        given = read.model_copy(update={"format": document_format(url, read)}) if documents else read
        blocks = cut_file(url, given, _BLOCK, 0)
        looked_at = sorted({0, len(blocks) // 2, len(blocks) - 1})
        share = -(-count // (len(chosen) * len(looked_at)))
        for number in looked_at:
            texts = (text for batch in read_block(blocks[number], given) for text in batch.texts)
            sentences += islice(texts, share)
    return sentences
