"""The exponential function of vectors, as LLVM's vector instructions.

exp(x) = 2**n * exp(r) with n = round(x / log 2), |r| <= log(2) / 2 and
exp(r) = 1 + r + r**2 * q(r). The polynomial q interpolates at Chebyshev nodes.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

from llvmlite import ir
from numba.core.cpu import CPUContext
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.templates import Signature

from sklearn_struct.compiled.llvm_types import (
    Arguments,
    Operation,
    Vector,
    call_intrinsic,
    constant,
    each_piece,
    n_bytes,
    operation,
)

__all__ = ["SMALLEST", "exp"]

# coefficients of q from the highest power, for float64 and float32
_Q8 = (
    2.510038549551032e-08,
    2.7620088445409746e-07,
    2.7557268459997064e-06,
    2.4801521295954376e-05,
    0.00019841269863053618,
    0.0013888888917213717,
    0.008333333333330062,
    0.04166666666662413,
    0.16666666666666669,
    0.5000000000000001,
)
_Q4 = (0.0013926183587713494, 0.008363179052722578, 0.041666554617204574, 0.16666576989698775, 0.5)


class _Exp(NamedTuple):
    """How exp is computed in one float type."""

    powers: tuple[float, ...]
    # log 2 in two parts, of which the first has so few bits that n times it is exact
    log2: tuple[float, float]
    smallest: float  # argument; the result would be denormal below it
    magic: float  # rounds to an integer when added, which is then in the lowest mantissa bits
    bias: int  # of exponents
    mantissa: int  # bits


_EXP = {
    8: _Exp(
        _Q8, (0.693145751953125, 1.42860682030941723212e-6), -708.0, 6755399441055744.0, 1023, 52
    ),
    4: _Exp(_Q4, (0.693359375, -2.12194440e-4), -87.0, 12582912.0, 127, 23),
}
SMALLEST = {size: way.smallest for size, way in _EXP.items()}


@operation
def exp(typingctx: TypingContext, x: Vector) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        return each_piece(builder, signature.return_type, partial(_exp, builder), *args)

    return x(x), codegen


def _exp(builder: ir.IRBuilder, x: ir.Value) -> ir.Value:
    """exp of each number of an LLVM vector."""
    vector = x.type
    way = _EXP[n_bytes(vector)]
    high, low = way.log2

    def each(number: float) -> ir.Value:
        return constant(builder, vector, number)

    def fused(*terms: ir.Value) -> ir.Value:
        return call_intrinsic(builder, "fma", vector, *terms)

    shifted = fused(x, each(1 / math.log(2)), each(way.magic))
    n = builder.fsub(shifted, each(way.magic))
    # the large part first: what is left is small, and the small part is not lost in it
    r = fused(n, each(-low), fused(n, each(-high), x))
    series = each(way.powers[0])
    # Horner's scheme, in fused operations: half the roundings
    for factor in (*way.powers[1:], 1.0, 1.0):
        series = fused(series, r, each(factor))
    # 2**n by its bits: n, still in the lowest bits of `shifted`, moves to the exponent
    integers = ir.VectorType(ir.IntType(8 * n_bytes(vector)), vector.count)
    biased = builder.add(builder.bitcast(shifted, integers), constant(builder, integers, way.bias))
    scale = builder.bitcast(builder.shl(biased, constant(builder, integers, way.mantissa)), vector)
    # nan and -inf fail, too, and give 0
    alive = builder.fcmp_ordered(">=", x, each(way.smallest))
    return builder.select(alive, builder.fmul(series, scale), each(0.0))
