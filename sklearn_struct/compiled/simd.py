"""Vectors of eight numbers for use inside kernels, as portable LLVM vector instructions.

numba's own vectorizer handles rows of 22 labels badly, so kernels that work on rows pad them to a
multiple of `LANES` and step through them with these operations. float64 and float32 arrays both
work; the machine's vector registers may be narrower, LLVM then splits. With ``NUMBA_DISABLE_JIT=1``
the numpy twins take over. With ``NUMBA_BOUNDSCHECK=1`` what leads out of an array is an IndexError.

===========================  ==============================================================
``at(a, i)``                 the number at flat index i, which may not be negative: that spares much, inside loops
``load(a, i)``               eight numbers of a contiguous array (of any shape) from flat index i
``store(a, i, x)``           write them
``load_part(a, i, n, s)``    the first n as ``load``, the rest s; memory behind them is not read
``store_part(a, i, x, n)``   write the first n
``splat(s)``                 eight times the scalar s
``cast(x, a)``               x in the float type of the array a
``prefetch(a, i)``           fetch the memory around flat index i into the caches, soon
``fma(x, y, z)``             x * y + z, rounded once
``add, sub, mul``            x + y, x - y, x * y
``keep(x, bits)``            x where the bit of a uint8 is set, else 0
``maximum, minimum``         the larger or smaller of each pair
``where(x, s)``              the first of the eight places where x equals the scalar s; `LANES` if there is none
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

from sklearn_struct.compiled.bounds import check
from sklearn_struct.compiled.kernel import kernel

LANES = 8


@kernel
def padded(n: int) -> int:
    """`n` rounded up to a multiple of `LANES`."""
    return (n + LANES - 1) // LANES * LANES


def workspace(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Unset memory that starts with a line of the caches, so that rows of whole vectors touch the
    fewest lines.
    """
    n_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.empty(n_bytes + 64, dtype=np.uint8)
    start = -memory.__array_interface__["data"][0] % 64
    return memory[start : start + n_bytes].view(dtype).reshape(shape)


def aligned(size: int, dtype: Any) -> np.ndarray:
    """Zeros that start as in `workspace`."""
    zeros = workspace((size,), dtype)
    zeros[:] = 0
    return zeros


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


def _pointer(context: Any, builder: Any, signature: Any, args: Any, n: Any) -> Any:
    """Pointer to the eight numbers from flat index args[1] of the array args[0], of which the first
    n are used.
    """
    array = context.make_array(signature.args[0])(context, builder, args[0])
    check(context, builder, array, args[1], n, LANES)
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
def at(typingctx, array, index):
    def codegen(context, builder, signature, args):
        found = context.make_array(signature.args[0])(context, builder, args[0])
        check(context, builder, found, args[1], 1, 1)
        return builder.load(builder.gep(found.data, [args[1]], inbounds=True))

    return array.dtype(_contiguous(array), types.intp), codegen


@intrinsic
def load(typingctx, array, index):
    def codegen(context, builder, signature, args):
        value = builder.load(_pointer(context, builder, signature, args, LANES))
        value.align = _bytes(_llvm(signature.args[0].dtype))
        return value

    return Vector(_contiguous(array).dtype)(array, types.intp), codegen


@intrinsic
def store(typingctx, array, index, value):
    def codegen(context, builder, signature, args):
        instruction = builder.store(args[2], _pointer(context, builder, signature, args, LANES))
        instruction.align = _bytes(_llvm(signature.args[0].dtype))
        return context.get_dummy_value()

    return types.void(_contiguous(array), types.intp, Vector(array.dtype)), codegen


@intrinsic
def load_part(typingctx, array, index, n, fill):
    def codegen(context, builder, signature, args):
        vector = _llvm(signature.args[0].dtype)
        pointer = _pointer(context, builder, signature, args, args[2])
        align = ir.Constant(ir.IntType(32), _bytes(vector))
        rest = _constant(builder, vector, args[3])
        return _masked(
            builder, "load", vector, vector, [pointer, align, _lanes_below(builder, args[2]), rest]
        )

    return Vector(_contiguous(array).dtype)(array, types.intp, types.intp, array.dtype), codegen


@intrinsic
def store_part(typingctx, array, index, value, n):
    def codegen(context, builder, signature, args):
        vector = _llvm(signature.args[0].dtype)
        pointer = _pointer(context, builder, signature, args, args[3])
        align = ir.Constant(ir.IntType(32), _bytes(vector))
        operands = [args[2], pointer, align, _lanes_below(builder, args[3])]
        _masked(builder, "store", vector, ir.VoidType(), operands)
        return context.get_dummy_value()

    return types.void(_contiguous(array), types.intp, Vector(array.dtype), types.intp), codegen


@intrinsic
def prefetch(typingctx, array, index):
    def codegen(context, builder, signature, args):
        flag = ir.IntType(32)
        address = ir.IntType(8).as_pointer()
        pointer = builder.bitcast(_pointer(context, builder, signature, args, 0), address)
        function_type = ir.FunctionType(ir.VoidType(), [address, flag, flag, flag])
        function = cgutils.get_or_insert_function(
            builder.module, function_type, "llvm.prefetch.p0i8"
        )
        # to read, into all caches, data
        builder.call(function, [pointer, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(_contiguous(array), types.intp), codegen


@intrinsic
def cast(typingctx, x, array):
    def codegen(context, builder, signature, args):
        old = _llvm(signature.args[0].dtype)
        new = _llvm(signature.return_type.dtype)
        if old == new:
            return args[0]
        return (builder.fpext if _bytes(new) > _bytes(old) else builder.fptrunc)(args[0], new)

    return Vector(array.dtype)(x, array), codegen


@intrinsic
def splat(typingctx, scalar):
    def codegen(context, builder, signature, args):
        return _constant(builder, _llvm(signature.return_type.dtype), args[0])

    return Vector(scalar)(scalar), codegen


def _constant(builder: Any, vector: ir.VectorType, value: Any) -> Any:
    """All lanes equal: `value` is an LLVM scalar, or a Python number."""
    if not isinstance(value, ir.Value):
        return ir.Constant(vector, [ir.Constant(vector.element, value)] * LANES)
    first = builder.insert_element(
        ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
    )
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), lanes)


def _call(builder: Any, name: str, vector: ir.VectorType, *args: Any) -> Any:
    """Call the LLVM intrinsic `name` on vectors of one type."""
    suffix = f"v{LANES}f{_bytes(vector) * 8}"
    function_type = ir.FunctionType(vector, [vector] * len(args))
    return builder.call(
        cgutils.get_or_insert_function(builder.module, function_type, f"llvm.{name}.{suffix}"), args
    )


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


@intrinsic
def keep(typingctx, x, bits):
    def codegen(context, builder, signature, args):
        mask = builder.bitcast(args[1], ir.VectorType(ir.IntType(1), LANES))
        return builder.select(
            mask, args[0], _constant(builder, _llvm(signature.return_type.dtype), 0.0)
        )

    return x(x, types.uint8), codegen


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
            order = ir.Constant(
                ir.VectorType(ir.IntType(32), width), list(range(first, first + width))
            )
            parts.append(builder.shuffle_vector(value, value, order))
        value = combine(builder, *parts)
    return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))


@intrinsic
def total(typingctx, x):
    return x.dtype(x), lambda context, builder, signature, args: _fold(
        builder, args[0], ir.IRBuilder.fadd
    )


@intrinsic
def largest(typingctx, x):
    return x.dtype(x), lambda context, builder, signature, args: _fold(builder, args[0], _larger)


@intrinsic
def least(typingctx, x):
    return x.dtype(x), lambda context, builder, signature, args: _fold(builder, args[0], _smaller)


@intrinsic
def where(typingctx, x, scalar):
    def codegen(context, builder, signature, args):
        vector = _llvm(signature.args[0].dtype)
        equal = builder.fcmp_ordered("==", args[0], _constant(builder, vector, args[1]))
        bits = builder.zext(builder.bitcast(equal, ir.IntType(LANES)), ir.IntType(64))
        return builder.cttz(builder.or_(bits, ir.IntType(64)(1 << LANES)), ir.IntType(1)(1))

    return types.intp(x, x.dtype), codegen


# exp(x) = 2**n * exp(r) with n = round(x / log 2), |r| <= log(2) / 2 and exp(r) = 1 + r + r**2 *
# q(r); the polynomial q interpolates at Chebyshev nodes. Its coefficients from the highest power,
# for float64 and float32:
_Q8 = [
    2.510038549551032e-08,
    2.7620088445409746e-07,
    2.7557268459997064e-06,
    2.4801521295954376e-05,
]
_Q8 += [0.00019841269863053618, 0.0013888888917213717, 0.008333333333330062, 0.04166666666662413]
_Q8 += [0.16666666666666669, 0.5000000000000001]
_Q4 = [0.0013926183587713494, 0.008363179052722578, 0.041666554617204574, 0.16666576989698775, 0.5]
# (q, log 2 in two parts, smallest argument, number that rounds to an integer when added, exponent
# bias, mantissa bits)
_EXP = {
    8: (_Q8, (0.693145751953125, 1.42860682030941723212e-6), -708.0, 6755399441055744.0, 1023, 52),
    4: (_Q4, (0.693359375, -2.12194440e-4), -87.0, 12582912.0, 127, 23),
}


@intrinsic
def exp(typingctx, x):
    def codegen(context, builder, signature, args):
        vector = _llvm(signature.return_type.dtype)
        powers, (high, low), smallest, magic, bias, mantissa = _EXP[_bytes(vector)]

        def constant(number):
            return _constant(builder, vector, number)

        def fused(*terms):
            return _call(builder, "fma", vector, *terms)

        # adding the magic number rounds to an integer, which then stands in the lowest mantissa
        # bits
        shifted = fused(args[0], constant(1 / math.log(2)), constant(magic))
        n = builder.fsub(shifted, constant(magic))
        r = fused(n, constant(-low), fused(n, constant(-high), args[0]))
        series = constant(powers[0])
        for factor in (*powers[1:], 1.0, 1.0):
            series = fused(series, r, constant(factor))
        integers = ir.VectorType(ir.IntType(8 * _bytes(vector)), LANES)

        exponent = builder.add(
            builder.bitcast(shifted, integers), _constant(builder, integers, bias)
        )
        scale = builder.bitcast(
            builder.shl(exponent, _constant(builder, integers, mantissa)), vector
        )
        alive = builder.fcmp_ordered(">=", args[0], constant(smallest))
        return builder.select(alive, builder.fmul(series, scale), constant(0.0))

    return x(x), codegen


if numba.config.DISABLE_JIT:

    def at(array, index):
        return array.reshape(-1)[index]

    def load(array, index):
        return array.reshape(-1)[index : index + LANES].copy()

    def store(array, index, value):
        array.reshape(-1)[index : index + LANES] = value

    def load_part(array, index, n, fill):
        value = np.full(LANES, fill, dtype=array.dtype)
        n = max(0, min(n, LANES))
        value[:n] = array.reshape(-1)[index : index + n]
        return value

    def store_part(array, index, value, n):
        array.reshape(-1)[index : index + min(n, LANES)] = value[: max(n, 0)]

    def prefetch(array, index):
        return None

    def cast(x, array):
        return x.astype(array.dtype)

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

    def keep(x, bits):
        return np.where(np.unpackbits(np.uint8(bits), bitorder="little"), x, x.dtype.type(0))

    def where(x, scalar):
        return int(np.argmax(np.append(x == scalar, True)))

    add = np.add
    sub = np.subtract
    mul = np.multiply
    total = np.sum
    largest = np.max
    least = np.min
