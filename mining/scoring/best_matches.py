"""The kernel of MaxSim: products of word vectors whose sums, and whose maxima, stay in registers.

A compiler keeps such sums in memory, where each dimension waits for the one before, so this is written in LLVM's own
terms; it runs on any CPU.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 8  # words that are side by side in a register
WORDS = 4  # of the other text, compared at a time
_MOST_BLOCKS = 3  # registers of words side by side: with twelve sums, all that a CPU of sixteen registers has room for

_INT, _LONG = ir.IntType(32), ir.IntType(64)
_FLOATS, _INTS = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_INT, LANES)
_FUSED = ("contract",)  # one rounding for product and sum, where the CPU can


def _tile(blocks: int) -> Any:
    """`note_matches` for so many registers of words, from place `at` on."""

    @intrinsic
    def tile(typingctx, left, width, at, vectors, a, b, c, d, number, best, place, other_best):  # type: ignore[no-untyped-def]
        signature = types.void(
            left, types.intp, types.intp, vectors, *[types.intp] * WORDS, types.int32, best, place, other_best
        )

        def codegen(context, builder, signature, given):  # type: ignore[no-untyped-def]
            def array(n):  # type: ignore[no-untyped-def]
                return context.make_array(signature.args[n])(context, builder, given[n])

            lanes = builder.gep(array(0).data, [given[2]])
            dims = builder.extract_value(array(3).shape, 1)
            words = [builder.gep(array(3).data, [builder.mul(word, dims)]) for word in given[4 : 4 + WORDS]]
            sums = _products(builder, lanes, given[1], dims, words, blocks)
            own = [builder.gep(array(n).data, [given[2]]) for n in (9, 10)]
            for block in range(blocks):
                _raise_best(builder, *own, block, [each[block] for each in sums], given[8])
            behind = builder.gep(array(11).data, [builder.sext(given[8], _LONG)])
            for word, each in enumerate(sums):
                _raise_one(builder, builder.gep(behind, [ir.Constant(_LONG, word)]), each)
            return context.get_dummy_value()

        return signature, codegen

    return tile


def _products(builder: Any, lanes: Any, width: Any, dims: Any, words: list[Any], blocks: int) -> list[list[Any]]:
    """(words, blocks) registers, each summed over the dimensions in their order."""
    sums = [[cgutils.alloca_once(builder, _FLOATS) for _ in range(blocks)] for _ in words]
    for each in chain.from_iterable(sums):
        builder.store(ir.Constant(_FLOATS, [0.0] * LANES), each)
    with cgutils.for_range(builder, dims) as loop:
        first = builder.gep(lanes, [builder.mul(loop.index, width)])
        some = [builder.load(_register(builder, first, block, _FLOATS), align=4) for block in range(blocks)]
        for word, row in zip(words, sums, strict=True):
            value = _splat(builder, builder.load(builder.gep(word, [loop.index])), _FLOATS)
            for others, each in zip(some, row, strict=True):
                product = builder.fmul(value, others, flags=_FUSED)
                builder.store(builder.fadd(builder.load(each), product, flags=_FUSED), each)
    return [[builder.load(each) for each in row] for row in sums]


def _raise_best(builder: Any, best: Any, place: Any, block: int, products: list[Any], number: Any) -> None:
    """Note the best product of each word of a register, and which word it is with."""
    best, place = _register(builder, best, block, _FLOATS), _register(builder, place, block, _INTS)
    high, where = builder.load(best, align=4), builder.load(place, align=4)
    for word, product in enumerate(products):
        better = builder.fcmp_ordered(">", product, high)
        high = builder.select(better, product, high)
        where = builder.select(better, _splat(builder, builder.add(number, ir.Constant(_INT, word)), _INTS), where)
    builder.store(high, best, align=4)
    builder.store(where, place, align=4)


def _raise_one(builder: Any, best: Any, products: list[Any]) -> None:
    """Note the best product of one word with those of all registers."""
    high = products[0]
    for product in products[1:]:
        high = builder.select(builder.fcmp_ordered(">", product, high), product, high)
    for half in (LANES // 2, LANES // 4, LANES // 8):
        order = ir.Constant(_INTS, [(lane + half) % LANES for lane in range(LANES)])
        other = builder.shuffle_vector(high, high, order)
        high = builder.select(builder.fcmp_ordered(">", other, high), other, high)
    one = builder.extract_element(high, ir.Constant(_INT, 0))
    before = builder.load(best)
    builder.store(builder.select(builder.fcmp_ordered(">", one, before), one, before), best)


def _register(builder: Any, first: Any, block: int, kind: Any) -> Any:
    """The place of a register of words behind the first."""
    return builder.bitcast(builder.gep(first, [ir.Constant(_LONG, block * LANES)]), kind.as_pointer())


def _splat(builder: Any, value: Any, kind: Any) -> Any:
    """A number in all lanes."""
    none = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(none, value, ir.Constant(_INT, 0))
    return builder.shuffle_vector(one, none, ir.Constant(_INTS, [0] * LANES))


_one, _two, _three = (_tile(blocks) for blocks in range(1, _MOST_BLOCKS + 1))


@nb.njit(cache=True, nogil=True)
def note_matches(
    left: np.ndarray,  # (dim, width) flat: the words of one text side by side
    width: int,  # a multiple of `LANES`
    vectors: np.ndarray,  # (vocabulary, dim), contiguous
    words: tuple[int, int, int, int],  # of the other text
    number: int,  # of the first of these four in their text
    best: np.ndarray,  # (width,) best product of each word of the text so far
    place: np.ndarray,  # (width,) int32: which word of the other text it is with
    other_best: np.ndarray,  # best product of each word of the other text so far
) -> None:
    """Compare four words with all words of the other text; of equal ones the first stays the best.

    Each product is summed over the dimensions in their order, so that equal words score the same wherever they stand.
    """
    a, b, c, d = words
    at = 0
    while at < width:
        blocks = (width - at) // LANES
        if blocks == _MOST_BLOCKS or blocks > _MOST_BLOCKS + 1:
            _three(left, width, at, vectors, a, b, c, d, number, best, place, other_best)
            at += 3 * LANES
        elif blocks > 1:
            _two(left, width, at, vectors, a, b, c, d, number, best, place, other_best)
            at += 2 * LANES
        else:
            _one(left, width, at, vectors, a, b, c, d, number, best, place, other_best)
            at += LANES
