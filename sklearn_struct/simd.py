"""Vectors of eight numbers for use inside kernels, as portable LLVM vector instructions, and small products.

numba's own vectorizer handles rows of 22 labels badly, so kernels that work on rows pad them to a
multiple of `LANES` and step through them with these operations. float64 and float32 arrays both work;
the machine's vector registers may be narrower, LLVM then splits. With ``NUMBA_DISABLE_JIT=1`` the numpy
twins take over.

===========================  ==============================================================
``load(a, i)``               eight numbers of a contiguous array (of any shape) from flat index i
``store(a, i, x)``           write them
``load_part(a, i, n, s)``    the first n as ``load``, the rest s; memory behind them is not read
``store_part(a, i, x, n)``   write the first n
``splat(s)``                 eight times the scalar s
``fma(x, y, z)``             x * y + z, rounded once
``add, sub, mul``            x + y, x - y, x * y
``maximum, minimum``         the larger or smaller of each pair
``exp(x)``                   for x <= 0; 0 below -708 (float32: -87); relative error < 3e-16 (2e-7)
``total, largest, least``    sum, maximum and minimum of the eight numbers
===========================  ==============================================================
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, models, register_model

from sklearn_struct.kernel import kernel

LANES = 8


@kernel
def padded(n: int) -> int:
    """`n` rounded up to a multiple of `LANES`."""
    return (n + LANES - 1) // LANES * LANES


class Vector(types.Type):
    """numba type of eight float64 or float32."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Vector({dtype} x {LANES})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: Vector) -> None:
        super().__init__(manager, fe_type, _llvm(fe_type.dtype))


def _llvm(dtype: Any) -> ir.VectorType:
    return ir.VectorType(ir.DoubleType() if dtype == types.float64 else ir.FloatType(), LANES)


def _pointer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Pointer to the eight numbers from flat index args[1] of the array args[0]."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    start = builder.gep(array.data, [args[1]], inbounds=True)
    return builder.bitcast(start, _llvm(signature.args[0].dtype).as_pointer())


def _bytes(vector: ir.VectorType) -> int:
    return 8 if isinstance(vector.element, ir.DoubleType) else 4


def _contiguous(array: Any) -> Any:
    if array.layout != "C":
        raise TypingError("vector operations need contiguous arrays")
    return array


def _lanes_below(builder: Any, n: Any) -> Any:
    """Mask of the lanes 0 .. n - 1."""
    integers = ir.VectorType(ir.IntType(64), LANES)
    lanes = ir.Constant(integers, [ir.Constant(integers.element, lane) for lane in range(LANES)])
    return builder.icmp_signed("<", lanes, _constant(builder, integers, n))


def _masked(builder: Any, operation: str, vector: ir.VectorType, result: Any, args: Any) -> Any:
    """Call llvm.masked.load or llvm.masked.store."""
    name = f"llvm.masked.{operation}.v{LANES}f{_bytes(vector) * 8}.p0v{LANES}f{_bytes(vector) * 8}"
    function_type = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), args)


@intrinsic
def load(typingctx, array, index):
    def codegen(context, builder, signature, args):
        value = builder.load(_pointer(context, builder, signature, args))
        value.align = _bytes(_llvm(signature.args[0].dtype))
        return value

    return Vector(_contiguous(array).dtype)(array, types.intp), codegen


@intrinsic
def store(typingctx, array, index, value):
    def codegen(context, builder, signature, args):
        instruction = builder.store(args[2], _pointer(context, builder, signature, args))
        instruction.align = _bytes(_llvm(signature.args[0].dtype))
        return context.get_dummy_value()

    return types.void(_contiguous(array), types.intp, Vector(array.dtype)), codegen


@intrinsic
def load_part(typingctx, array, index, n, fill):
    def codegen(context, builder, signature, args):
        vector = _llvm(signature.args[0].dtype)
        pointer, align = _pointer(context, builder, signature, args), ir.Constant(ir.IntType(32), _bytes(vector))
        rest = _constant(builder, vector, args[3])
        return _masked(builder, "load", vector, vector, [pointer, align, _lanes_below(builder, args[2]), rest])

    return Vector(_contiguous(array).dtype)(array, types.intp, types.intp, array.dtype), codegen


@intrinsic
def store_part(typingctx, array, index, value, n):
    def codegen(context, builder, signature, args):
        vector = _llvm(signature.args[0].dtype)
        pointer, align = _pointer(context, builder, signature, args), ir.Constant(ir.IntType(32), _bytes(vector))
        operands = [args[2], pointer, align, _lanes_below(builder, args[3])]
        _masked(builder, "store", vector, ir.VoidType(), operands)
        return context.get_dummy_value()

    return types.void(_contiguous(array), types.intp, Vector(array.dtype), types.intp), codegen


@intrinsic
def splat(typingctx, scalar):
    def codegen(context, builder, signature, args):
        return _constant(builder, _llvm(signature.return_type.dtype), args[0])

    return Vector(scalar)(scalar), codegen


def _constant(builder: Any, vector: ir.VectorType, value: Any) -> Any:
    """All lanes equal: `value` is an LLVM scalar, or a Python number."""
    if not isinstance(value, ir.Value):
        return ir.Constant(vector, [ir.Constant(vector.element, value)] * LANES)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), lanes)


def _call(builder: Any, name: str, vector: ir.VectorType, *args: Any) -> Any:
    """Call the LLVM intrinsic `name` on vectors of one type."""
    suffix = f"v{LANES}f{_bytes(vector) * 8}"
    function_type = ir.FunctionType(vector, [vector] * len(args))
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, f"llvm.{name}.{suffix}"), args)


@intrinsic
def fma(typingctx, x, y, z):
    def codegen(context, builder, signature, args):
        return _call(builder, "fma", _llvm(signature.return_type.dtype), *args)

    return x(x, x, x), codegen


@intrinsic
def add(typingctx, x, y):
    return x(x, x), lambda context, builder, signature, args: builder.fadd(*args)


@intrinsic
def sub(typingctx, x, y):
    return x(x, x), lambda context, builder, signature, args: builder.fsub(*args)


@intrinsic
def mul(typingctx, x, y):
    return x(x, x), lambda context, builder, signature, args: builder.fmul(*args)


def _larger(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _smaller(builder: Any, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", x, y), x, y)


@intrinsic
def maximum(typingctx, x, y):
    return x(x, x), lambda context, builder, signature, args: _larger(builder, *args)


@intrinsic
def minimum(typingctx, x, y):
    return x(x, x), lambda context, builder, signature, args: _smaller(builder, *args)


def _fold(builder: Any, value: Any, combine: Any) -> Any:
    """Combine the lanes pairwise: halves, quarters, ... down to a scalar."""
    width = LANES
    while width > 1:
        width //= 2
        parts = []
        for first in (0, width):
            order = ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(first, first + width)))
            parts.append(builder.shuffle_vector(value, value, order))
        value = combine(builder, *parts)
    return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))


@intrinsic
def total(typingctx, x):
    def codegen(context, builder, signature, args):
        return _fold(builder, args[0], lambda builder, low, high: builder.fadd(low, high))

    return x.dtype(x), codegen


@intrinsic
def largest(typingctx, x):
    return x.dtype(x), lambda context, builder, signature, args: _fold(builder, args[0], _larger)


@intrinsic
def least(typingctx, x):
    return x.dtype(x), lambda context, builder, signature, args: _fold(builder, args[0], _smaller)


# exp(x) = 2**n * exp(r) with n = round(x / log 2), |r| <= log(2) / 2, and a Taylor polynomial for exp(r):
# (degree, log 2 in two parts, smallest argument, magic number that rounds to an integer, exponent bias, mantissa bits)
_EXP = {
    8: (13, (0.693145751953125, 1.42860682030941723212e-6), -708.0, 6755399441055744.0, 1023, 52),
    4: (7, (0.693359375, -2.12194440e-4), -87.0, 12582912.0, 127, 23),
}


@intrinsic
def exp(typingctx, x):
    def codegen(context, builder, signature, args):
        vector = _llvm(signature.return_type.dtype)
        degree, (high, low), smallest, magic, bias, mantissa = _EXP[_bytes(vector)]

        def constant(number):
            return _constant(builder, vector, number)

        def fused(*terms):
            return _call(builder, "fma", vector, *terms)

        argument, floor = args[0], constant(smallest)
        alive = builder.fcmp_ordered(">=", argument, floor)
        clamped = builder.select(alive, argument, floor)
        # adding the magic number rounds to an integer, which then stands in the lowest mantissa bits
        shifted = builder.fadd(fused(clamped, constant(1 / math.log(2)), constant(0.0)), constant(magic))
        n = builder.fsub(shifted, constant(magic))
        r = fused(n, constant(-low), fused(n, constant(-high), clamped))
        series = constant(1 / math.factorial(degree))
        for power in range(degree - 1, -1, -1):
            series = fused(series, r, constant(1 / math.factorial(power)))
        integers = ir.VectorType(ir.IntType(8 * _bytes(vector)), LANES)

        def integer(number):
            return ir.Constant(integers, [ir.Constant(integers.element, number)] * LANES)

        exponent = builder.add(builder.bitcast(shifted, integers), integer(bias))
        scale = builder.bitcast(builder.shl(exponent, integer(mantissa)), vector)
        return builder.select(alive, builder.fmul(series, scale), constant(0.0))

    return x(x), codegen


if numba.config.DISABLE_JIT:

    def load(array, index):
        return array.reshape(-1)[index : index + LANES].copy()

    def store(array, index, value):
        array.reshape(-1)[index : index + LANES] = value

    def load_part(array, index, n, fill):
        value = np.full(LANES, fill, dtype=array.dtype)
        n = min(n, LANES)
        value[:n] = array.reshape(-1)[index : index + n]
        return value

    def store_part(array, index, value, n):
        array.reshape(-1)[index : index + min(n, LANES)] = value[:n]

    def splat(scalar):
        return np.full(LANES, scalar)

    def fma(x, y, z):
        return x * y + z

    def exp(x):
        return np.where(x >= _EXP[x.dtype.itemsize][2], np.exp(x), x.dtype.type(0))

    def maximum(x, y):
        return np.where(x > y, x, y)

    def minimum(x, y):
        return np.where(x < y, x, y)

    add, sub, mul = np.add, np.subtract, np.multiply
    total, largest, least = np.sum, np.max, np.min


@kernel
def row_times_matrix(row, i, matrix, n, width, out, o):
    """``out[o : o + width] = row[i : i + n] @ matrix`` for a flat (n, width) matrix; width a multiple of LANES.

    Two rows of the matrix and two vectors of the result at a time: four independent sums hide the latency
    of the multiply-add.
    """
    zero = splat(row.dtype.type(0))
    k = 0
    while k + 2 * LANES <= width:
        a, b, c, d = zero, zero, zero, zero
        for j in range(0, n - 1, 2):
            x, y, m = splat(row[i + j]), splat(row[i + j + 1]), j * width + k
            a = fma(x, load(matrix, m), a)
            b = fma(x, load(matrix, m + LANES), b)
            c = fma(y, load(matrix, m + width), c)
            d = fma(y, load(matrix, m + width + LANES), d)
        if n % 2:
            x, m = splat(row[i + n - 1]), (n - 1) * width + k
            a = fma(x, load(matrix, m), a)
            b = fma(x, load(matrix, m + LANES), b)
        store(out, o + k, add(a, c))
        store(out, o + k + LANES, add(b, d))
        k += 2 * LANES
    if k < width:
        a, b = zero, zero
        for j in range(0, n - 1, 2):
            m = j * width + k
            a = fma(splat(row[i + j]), load(matrix, m), a)
            b = fma(splat(row[i + j + 1]), load(matrix, m + width), b)
        if n % 2:
            a = fma(splat(row[i + n - 1]), load(matrix, (n - 1) * width + k), a)
        store(out, o + k, add(a, b))


@kernel
def matrix_times_row(matrix, n, width, row, i, out, o):
    """``out[o : o + n] = matrix @ row[i : i + width]`` for a flat (n, width) matrix."""
    for j in range(n):
        mass = splat(row.dtype.type(0))
        for k in range(0, width, LANES):
            mass = fma(load(matrix, j * width + k), load(row, i + k), mass)
        out[o + j] = total(mass)


@kernel
def row_max_plus(row, i, matrix, n, width, out, o):
    """``out[o + k] = max_j row[i + j] + matrix[j, k]``: `row_times_matrix` in the max-plus semiring."""
    for k in range(0, width, LANES):
        best = add(splat(row[i]), load(matrix, k))
        for j in range(1, n):
            best = maximum(add(splat(row[i + j]), load(matrix, j * width + k)), best)
        store(out, o + k, best)


@kernel
def add_outer(A, V, n_rows, n, width, scale, out):
    """``out += scale * A[:, :n].T @ V`` for flat row-major A and V of the same width; out is (n, width)."""
    zero = splat(A.dtype.type(0))
    factor = splat(A.dtype.type(scale))
    for k in range(0, width, LANES):
        for j in range(0, n, 4):
            a, b, c, d = zero, zero, zero, zero
            for t in range(n_rows):
                v, m = load(V, t * width + k), t * width + j
                a = fma(splat(A[m]), v, a)
                b = fma(splat(A[m + 1]), v, b)
                c = fma(splat(A[m + 2]), v, c)
                d = fma(splat(A[m + 3]), v, d)
            m = j * width + k
            store(out, m, fma(a, factor, load(out, m)))
            store(out, m + width, fma(b, factor, load(out, m + width)))
            store(out, m + 2 * width, fma(c, factor, load(out, m + 2 * width)))
            store(out, m + 3 * width, fma(d, factor, load(out, m + 3 * width)))
