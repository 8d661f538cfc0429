import numpy as np
import pytest

from encoder.tokens import Tokens

SENTENCES = [[5, 6, 7], [], [8], [9, 9]]


def as_lists(tokens: Tokens) -> list[list[int]]:
    return [tokens.ids[a:b].tolist() for a, b in zip(tokens.offsets, tokens.offsets[1:], strict=False)]


@pytest.mark.parametrize("sentences", [SENTENCES, [], [[]]])
def test_round_trip(sentences: list[list[int]]) -> None:
    assert as_lists(Tokens.from_lists(sentences)) == sentences


@pytest.mark.parametrize("rows", [[], [3, 0, 1], [2, 2]])
def test_take_keeps_the_given_order(rows: list[int]) -> None:
    taken = Tokens.from_lists(SENTENCES).take(np.array(rows, int))
    assert as_lists(taken) == [SENTENCES[row] for row in rows]


def test_truncate() -> None:
    assert as_lists(Tokens.from_lists(SENTENCES).truncate(1)) == [[5], [], [8], [9]]


def test_padded_masks_what_is_not_there() -> None:
    ids, mask = Tokens.from_lists(SENTENCES).batch().padded(pad_id=1)
    assert ids.tolist() == [[5, 6, 7], [1, 1, 1], [8, 1, 1], [9, 9, 1]]
    assert mask.sum(1).tolist() == [3, 0, 1, 2]


def test_concatenated_parts_are_the_sentences_one_after_the_other() -> None:
    parts = [Tokens.from_lists(lists) for lists in ([[1, 2], []], [], [[3]])]
    both = Tokens.concatenate(parts)
    assert both.ids.tolist() == [1, 2, 3]
    assert both.offsets.tolist() == [0, 2, 2, 3]
    assert len(Tokens.concatenate([]).lengths) == 0
