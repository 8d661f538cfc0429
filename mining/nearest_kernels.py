"""Compiled selection of the nearest cells of vectors from their products with centroids.

A row's products are read once: the maxima of disjoint groups of them tell a cut-off that little more than the wanted
number reaches, and where to look for it. Only these few are put in order.
"""

from __future__ import annotations

import numba as nb
import numpy as np

LOWEST = np.int32(np.iinfo(np.int32).min)  # below every product
_GROUPS = 32  # of a row's products for each cell that is wanted, whose maxima are taken
_SEARCHED = 128  # products that are looked through for their highest
_MANY = 128  # keys that are sorted otherwise than few
_MORE = 4  # products above the cut-off than are wanted: to look for a closer one takes longer than to sort these


@nb.njit(nogil=True, cache=True)
def enter(products: np.ndarray, cells: np.ndarray, places: np.ndarray, top: np.ndarray, best: np.ndarray) -> None:
    """Enter columns of int32 products (rows, cells or more) into the best of the rows `places`; `top` holds theirs.

    The lowest cell wins a tie, and no cell is entered twice.
    """
    count = best.shape[1]
    maxima = np.empty(min(len(cells), _GROUPS * count), np.int32)
    flags = np.zeros(-(-len(maxima) // 8) * 8, np.uint8)  # a multiple of what is looked at together
    keys = np.empty(len(cells) + count, np.int64)
    for i in range(len(places)):
        row, values = places[i], products[i, : len(cells)]
        _take_maxima(values, maxima)
        cutoff = top[row, count - 1]
        if _highest(maxima) < cutoff:
            continue
        if best[row, count - 1] < 0 and len(maxima) >= count:
            cutoff = max(cutoff, _reached(maxima, count))
        listed = _listed(top[row], best[row], keys)
        found = listed + _collect(values, cells, maxima, cutoff, flags, keys[listed:])
        if found > listed:
            _order(keys[:found], top[row], best[row])


@nb.njit(nogil=True, cache=True)
def enter_nearest(
    products: np.ndarray, cells: np.ndarray, places: np.ndarray, top: np.ndarray, best: np.ndarray
) -> None:
    """The same for one cell of each row, in a quarter of the time. Of what is as near the first stays."""
    for i in range(len(places)):
        row, found = places[i], -1
        highest = top[row, 0]
        for start in range(0, len(cells), _SEARCHED):
            part = _highest(products[i, start : min(start + _SEARCHED, len(cells))])
            if part > highest:
                highest, found = part, start
        if found >= 0:
            while products[i, found] != highest:
                found += 1
            top[row, 0], best[row, 0] = highest, cells[found]


@nb.njit(nogil=True, cache=True)
def _take_maxima(values: np.ndarray, maxima: np.ndarray) -> None:
    """Of groups of values that are as far from each other as there are groups."""
    for j in range(len(maxima)):
        maxima[j] = values[j]
    for start in range(len(maxima), len(values), len(maxima)):
        _raise(values[start : start + len(maxima)], maxima)


@nb.njit(nogil=True, cache=True)
def _raise(values: np.ndarray, maxima: np.ndarray) -> None:
    """In a loop of its own, which vectorises."""
    for j in range(len(values)):
        maxima[j] = max(maxima[j], values[j])


@nb.njit(nogil=True, cache=True)
def _highest(values: np.ndarray) -> np.int32:
    highest = values[0]
    for j in range(len(values)):
        highest = max(highest, values[j])
    return highest


@nb.njit(nogil=True, cache=True)
def _reached(values: np.ndarray, count: int) -> np.int32:
    """What so many values and hardly more are at least, by halving: counting, unlike sorting, has no branches."""
    low, high = np.int64(values.min()), np.int64(_highest(values)) + 1
    reaching = len(values)  # the lower bound; the upper one fewer than wanted
    while reaching > count + _MORE and high - low > 1:
        middle = (low + high) >> 1
        at_least = _count(values, np.int32(middle))
        if at_least < count:
            high = middle
        else:
            low, reaching = middle, at_least
    return np.int32(low)


@nb.njit(nogil=True, cache=True)
def _count(values: np.ndarray, cutoff: np.int32) -> int:
    reaching = np.int32(0)
    for j in range(len(values)):
        reaching += np.int32(values[j] >= cutoff)
    return int(reaching)


@nb.njit(nogil=True, cache=True)
def _flag(values: np.ndarray, cutoff: np.int32, flags: np.ndarray) -> None:
    for j in range(len(values)):
        flags[j] = values[j] >= cutoff


@nb.njit(nogil=True, cache=True)
def _collect(
    values: np.ndarray, cells: np.ndarray, maxima: np.ndarray, cutoff: np.int32, flags: np.ndarray, keys: np.ndarray
) -> int:
    """The keys of values that reach the cut-off, and how many there are: a smaller key is a nearer or a lower cell."""
    _flag(maxima, cutoff, flags)
    eights = flags.view(np.uint64)  # few of them are not zero
    found = 0
    for eight in range(len(eights)):
        if eights[eight] == 0:
            continue
        for group in range(8 * eight, min(8 * eight + 8, len(maxima))):
            if flags[group]:
                for j in range(group, len(values), len(maxima)):
                    if values[j] >= cutoff:
                        keys[found] = _key(values[j], cells[j])
                        found += 1
    return found


@nb.njit(nogil=True, cache=True, inline="always")
def _key(product: np.int32, cell: np.int32) -> np.int64:
    return -(np.int64(product) << 32) | np.int64(cell)


@nb.njit(nogil=True, cache=True)
def _listed(top: np.ndarray, best: np.ndarray, keys: np.ndarray) -> int:
    """The keys of what is in a row's list, and how many there are."""
    listed = 0
    while listed < len(best) and best[listed] >= 0:
        keys[listed] = _key(top[listed], best[listed])
        listed += 1
    return listed


@nb.njit(nogil=True, cache=True)
def _order(keys: np.ndarray, top: np.ndarray, best: np.ndarray) -> None:
    """A row's list from keys in any order, each cell once."""
    if len(keys) > _MANY:
        keys.sort()
    else:
        _sort_few(keys)
    slot = 0
    for i in range(len(keys)):
        if (i == 0 or keys[i] != keys[i - 1]) and slot < len(best):
            top[slot], best[slot] = -(keys[i] >> 32), keys[i] & 0xFFFFFFFF
            slot += 1


@nb.njit(nogil=True, cache=True)
def _sort_few(keys: np.ndarray) -> None:
    """By insertion, in a quarter of the time."""
    for i in range(1, len(keys)):
        key, slot = keys[i], i
        while slot > 0 and keys[slot - 1] > key:
            keys[slot] = keys[slot - 1]
            slot -= 1
        keys[slot] = key
