"""Products of rows with a small matrix, the same to the last bit whatever rows come with them.

BLAS multiplies the last rows of a block, or few of them, in another order than others, each CPU in its own way.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

_BLOCK = 4  # rows that go through the matrix together, which is in the cache
_LANES = 64  # columns whose sums stay in registers


def row_products(rows: NDArray[np.float32], matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """(rows, columns of the matrix), each summed in the order of the matrix's rows."""
    height, width = matrix.shape
    tiles = np.zeros((-(-width // _LANES), height, _LANES), np.float32)
    for tile, part in zip(tiles, np.split(matrix, range(_LANES, width, _LANES), axis=1), strict=True):
        tile[:, : part.shape[1]] = part
    products = np.empty((len(rows), len(tiles) * _LANES), np.float32)
    _multiply(np.ascontiguousarray(rows, np.float32), tiles, products)
    return np.ascontiguousarray(products[:, :width])


@nb.njit(nogil=True, cache=True)
def _multiply(rows: np.ndarray, tiles: np.ndarray, products: np.ndarray) -> None:
    sums = np.empty((_BLOCK, _LANES), np.float32)
    for first in range(0, len(rows), _BLOCK):
        count = min(_BLOCK, len(rows) - first)
        for number in range(len(tiles)):
            tile = tiles[number]
            sums[:] = 0
            for i in range(tile.shape[0]):
                for row in range(count):
                    value = rows[first + row, i]
                    for lane in range(_LANES):
                        sums[row, lane] += value * tile[i, lane]
            products[first : first + count, number * _LANES : (number + 1) * _LANES] = sums[:count]
