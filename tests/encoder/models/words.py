"""Words as bags see them, the slow way."""

from torch import Tensor


def words_of(ids: list[int], starts: Tensor) -> list[list[int]]:
    """The tokens of each word; `starts` says which tokens begin one."""
    words: list[list[int]] = []
    for place, token in enumerate(ids):
        if place == 0 or starts[token]:
            words.append([])
        words[-1].append(token)
    return words
