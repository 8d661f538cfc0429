"""Pairs with a common sentence become groups, no larger than asked for."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from encoder.data.assembly import Assembled, assemble, union
from encoder.data.corpora import AssemblySettings
from encoder.data.store import Store, StoreWriter, TokenBlock
from encoder.tokens import Tokens

LANGUAGES = ("en", "de", "fr", "es")


def make_store(folder: Path, groups: list[list[tuple[str, int]]]) -> Store:
    """Each group is (language, word) by (language, word); a sentence is one token."""
    writer = StoreWriter(folder, "english")
    flat = [member for group in groups for member in group]
    tokens = Tokens.from_lists([[word] for _, word in flat])
    languages = np.array([LANGUAGES.index(lang) for lang, _ in flat], np.int16)
    writer.add(0, TokenBlock(tokens, LANGUAGES, languages, np.array([len(group) for group in groups])))
    writer.finish({})
    return Store(folder)


def words(store: Store, assembled: Assembled) -> list[set[int]]:
    parts = np.split(assembled.members, assembled.offsets[1:-1])
    return [set(store.ids[store.offsets[part]].tolist()) for part in parts]


def test_pairs_with_the_same_pivot_are_one_group_without_repeats(tmp_path: Path) -> None:
    pairs = [[("en", 1), ("de", 2)], [("en", 3), ("de", 4)], [("fr", 5), ("en", 1)], [("es", 6), ("en", 1)]]
    store = make_store(tmp_path, pairs)
    assembled = assemble(store, AssemblySettings())
    assert words(store, assembled) == [{1, 2, 5, 6}, {3, 4}]
    assert np.diff(assembled.offsets).tolist() == [4, 2]


def test_only_pivots_join(tmp_path: Path) -> None:
    pairs = [[("en", 1), ("de", 2)], [("en", 3), ("de", 2)], [("es", 1), ("de", 7)]]
    store = make_store(tmp_path, pairs)
    assert words(store, assemble(store, AssemblySettings())) == [{1, 2}, {3, 2}, {1, 7}]
    assert words(store, assemble(store, AssemblySettings(pivots=("en", "de")))) == [{1, 2, 3}, {1, 7}]


def test_what_is_too_large_is_split_but_means_the_same(tmp_path: Path) -> None:
    store = make_store(tmp_path, [[("en", 1), ("de", 10 + n)] for n in range(9)])
    assembled = assemble(store, AssemblySettings(most=4))
    assert np.diff(assembled.offsets).tolist() == [4, 4, 4]
    assert len(set(assembled.meaning.tolist())) == 1


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=15), st.integers(2, 12))
def test_union_finds_components_and_keeps_the_limit(edges: list[tuple[int, int]], most: int) -> None:
    sizes = np.full(12, 2)
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    components = union(sizes, pairs, 1000)
    reached = np.eye(12, dtype=bool)
    for one, other in edges:
        reached[one, other] = reached[other, one] = True
    for _ in range(12):
        reached = reached @ reached
    assert ((components[:, None] == components) == reached).all()
    capped = union(sizes, pairs, most)
    assert (reached[np.arange(12), capped]).all()
    assert all((capped == root).sum() + 1 <= max(most, 2) for root in set(capped.tolist()))
