"""Words that are worked out once, and tables that do not grow for ever."""

import threading

import numpy as np
import pytest

from encoder import known_words
from encoder.known_words import Remembered, WordTable
from encoder.tokens import Tokens


def encode(texts: list[str]) -> Tokens:
    return Tokens.from_lists([[ord(letter) for letter in text] for text in texts])


def rows(tokens: Tokens) -> list[str]:
    return ["".join(map(chr, ids)) for ids in np.split(tokens.ids, tokens.offsets[1:-1])]


def test_each_word_is_encoded_once() -> None:
    table, asked = WordTable(), []

    def counted(texts: list[str]) -> Tokens:
        asked.extend(texts)
        return encode(texts)

    assert rows(table.encode(["a bc a", "bc"], counted)) == ["abca", "bc"]
    assert rows(table.encode(["bc", "", "d"], counted)) == ["bc", "", "d"]
    assert asked == ["a", "bc", "", "d"]


def test_texts_are_their_words() -> None:
    table = WordTable()
    assert rows(table.encode(["a bc a", "", "  d ", "bc"], encode)) == ["abca", "", "d", "bc"]
    assert len(table.encode([], encode).offsets) == 1


def test_words_that_could_not_be_encoded_are_asked_for_again() -> None:
    table = WordTable()

    def refuse(texts: list[str]) -> Tokens:
        raise ValueError

    with pytest.raises(ValueError):
        table.encode(["a b"], refuse)
    assert rows(table.encode(["b a", "größer b"], encode)) == ["ba", "größerb"]


@pytest.mark.parametrize(("limit", "value"), [("MOST_WORDS", 5), ("MOST_CHARACTERS", 12)])
def test_a_full_table_begins_again(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(known_words, limit, value)
    table = WordTable()
    for start in range(20):
        asked = [f"word{number}" for number in (0, start, start + 1, start + 2)]
        assert rows(table.encode(asked, encode)) == asked
        assert len(table) <= 8


def test_threads_share_a_table() -> None:
    table, wrong = WordTable(), []

    def work(offset: int) -> None:
        for start in range(200):
            asked = [str((start * offset + n) % 300) for n in range(20)]
            if rows(table.encode(asked, encode)) != asked:
                wrong.append(asked)

    threads = [threading.Thread(target=work, args=(offset,)) for offset in (1, 7, 13)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_long_words_are_not_remembered() -> None:
    known = Remembered(str.upper)
    assert (known["word"], known["w" * 100]) == ("WORD", "W" * 100)
    assert list(known) == ["word"]
