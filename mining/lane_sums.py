"""The canonical dot product: partial sums side by side, which stay in registers.

A compiler keeps them in memory that it allocates for every product, at several times the cost, so this is written in
LLVM's own terms; it runs on any CPU, with the same bits.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

LANES = 32  # partial sums

_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)


def lane_sums(x: np.ndarray, y: np.ndarray) -> float:
    """The product of two rows but for what is left of whole lanes: lane by lane in float64, then over the lanes."""
    raise NotImplementedError("only compiled code calls this")


@overload(lane_sums, inline="always")
def _lane_sums_compiled(x, y):  # type: ignore[no-untyped-def]
    if all(row.layout == "C" and row.dtype == nb.float32 for row in (x, y)):
        return lambda x, y: _in_registers(x, y)

    def in_memory(x, y):  # type: ignore[no-untyped-def]
        sums = np.zeros(LANES)
        for start in range(0, x.shape[0] // LANES * LANES, LANES):
            left, right = x[start : start + LANES], y[start : start + LANES]
            for lane in range(LANES):
                sums[lane] += np.float64(left[lane]) * np.float64(right[lane])
        total = 0.0
        for lane in range(LANES):
            total += sums[lane]
        return total

    return in_memory


@intrinsic
def _in_registers(typingctx, x, y):  # type: ignore[no-untyped-def]
    def codegen(context, builder, signature, given):  # type: ignore[no-untyped-def]
        rows = [
            context.make_array(kind)(context, builder, row) for kind, row in zip(signature.args, given, strict=True)
        ]
        sums = cgutils.alloca_once(builder, _DOUBLES)
        builder.store(ir.Constant(_DOUBLES, [0.0] * LANES), sums)
        size = context.get_constant(types.intp, LANES)
        with cgutils.for_range(builder, builder.sdiv(builder.extract_value(rows[0].shape, 0), size)) as loop:
            left, right = (_load(builder, row.data, builder.mul(loop.index, size)) for row in rows)
            # A product of two float32 is exact in float64, so that it does not matter whether it is rounded.
            product = builder.fmul(left, right, flags=("contract",))
            builder.store(builder.fadd(builder.load(sums), product, flags=("contract",)), sums)
        lanes, total = builder.load(sums), ir.Constant(ir.DoubleType(), 0.0)
        for lane in range(LANES):
            total = builder.fadd(total, builder.extract_element(lanes, ir.Constant(ir.IntType(32), lane)))
        return total

    return types.float64(x, y), codegen


def _load(builder: Any, data: Any, at: Any) -> Any:
    """A number for each lane from place `at` on, as float64."""
    place = builder.bitcast(builder.gep(data, [at]), _FLOATS.as_pointer())
    return builder.fpext(builder.load(place, align=4), _DOUBLES)
