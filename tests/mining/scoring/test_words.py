from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from mining.scoring.words import MAX_WORDS, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, hello WORLD!", ["hello", "hello", "world"]),
        ("l'été 2024-25", ["l", "été", "2024", "25"]),
        ("", []),
        ("... !", []),
        ("中文 分词", ["中文", "分词"]),
        ("中文分词好", ["中文", "分词好"]),  # a long run without spaces is cut
        ("用kubectl命令", ["用", "kubectl", "命令"]),
        ("हिन्दी शब्द", ["हिन्दी", "शब्द"]),
    ],
)
def test_words_of_a_text(text: str, words: list[str]) -> None:
    found = split_words(pa.array([text], pa.string()))
    assert [found.vocabulary[int(i)].as_py().lower() for i in found.ids] == words


def test_words_are_numbered_once_and_hashes_do_not_depend_on_the_texts() -> None:
    first, second = split_words(pa.array(["one two", "TWO three"])), split_words(pa.array(["three", "Two"]))
    assert first.ids.tolist() == [0, 1, 1, 2] and first.offsets.tolist() == [0, 2, 4]
    assert first.vocabulary.to_pylist() == ["one", "two", "three"]
    assert second.hashes.tolist() == [first.hashes[2], first.hashes[1]]


def test_a_slice_of_a_column_is_read_as_such() -> None:
    column = pa.array(["a b", "c", "d e f"])
    assert split_words(column.slice(1)).vocabulary.to_pylist() == ["c", "d", "e", "f"]


def test_endless_texts_are_cut() -> None:
    assert split_words(pa.array(["w " * 100_000])).lengths.tolist() == [MAX_WORDS]


def test_idf_counts_texts_not_occurrences() -> None:
    words = split_words(pa.array(["a a a b", "a", "c"]))
    assert np.allclose(words.idf(), np.log(4 / (np.array([2, 1, 1]) + 0.5)))
