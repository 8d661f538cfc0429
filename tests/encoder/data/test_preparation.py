"""Tokens that a file of pairs brings are taken in place of new ones, where they are of the same tokenizer."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from encoder.data.corpora import CorpusSettings, DataSettings
from encoder.data.parallel_readers import with_tokens
from encoder.data.preparation import TokenizerRecipe, prepare
from encoder.tokens import Tokens


class LetterTokenizer:
    """A token for each letter; remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def encode(self, sentences: Sequence[str], lang: str | None) -> Tokens:
        self.asked += sentences
        return Tokens.from_lists([[ord(letter) for letter in sentence] for sentence in sentences])


@pytest.mark.parametrize(("made_by", "asked"), [("letters", []), ("others", ["ab", "b", "c", "de", "fg"])])
def test_known_tokens_are_not_made_again(tmp_path: Path, made_by: str, asked: list[str]) -> None:
    pairs = pa.table({"src_text": ["ab", "c", "b", "ab"], "tgt_text": ["de", "fg", "fg", "de"]})
    known = [
        pa.array([[ord(letter) for letter in text] for text in pairs[name].to_pylist()], pa.list_(pa.int32()))
        for name in pairs.column_names
    ]
    pq.write_table(with_tokens(pairs, *known, made_by), tmp_path / "en-de.parquet")
    tokenizer = LetterTokenizer()
    data = DataSettings(corpora=(CorpusSettings(path=str(tmp_path / "en-de.parquet")),))
    store = prepare(data, TokenizerRecipe(lambda: tokenizer, "letters", workers=1), tmp_path / "cache")
    assert sorted(tokenizer.asked) == asked  # each once
    taken = store.take(np.arange(store.sentences), 9)
    assert ["".join(map(chr, ids)) for ids in np.split(taken.ids, taken.offsets[1:-1])] == [
        text for row in pairs.to_pylist() for text in row.values()
    ]
