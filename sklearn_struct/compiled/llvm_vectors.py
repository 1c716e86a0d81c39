"""The vector operations of `simd`, as LLVM's vector instructions.

Each is a function of the types of its arguments that returns its signature and the code that writes
the instructions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import TypeAlias

from llvmlite import ir
from numba.core import types
from numba.core.cpu import CPUContext
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.templates import Signature

from sklearn_struct.compiled.llvm_types import (
    LANES,
    Arguments,
    Operation,
    Vector,
    call_intrinsic,
    constant,
    contiguous,
    each_piece,
    eights,
    fetch,
    joined,
    lanes_below,
    llvm_type,
    masked,
    n_bytes,
    one_after_the_other,
    operation,
    place,
    pointer,
    some_lanes,
)

__all__ = [
    "add",
    "at",
    "cast",
    "div",
    "fma",
    "if_larger",
    "keep",
    "largest",
    "least",
    "load",
    "load_part",
    "maximum",
    "minimum",
    "mul",
    "prefetch",
    "set_at",
    "splat",
    "store",
    "store_part",
    "sub",
    "total",
    "where",
]

Combine: TypeAlias = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]


@operation
def at(typingctx: TypingContext, array: types.Array, index: types.Integer) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        return builder.load(place(context, builder, signature, args))

    return array.dtype(contiguous(array), types.intp), codegen


@operation
def set_at(
    typingctx: TypingContext, array: types.Array, index: types.Integer, value: types.Float
) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        builder.store(args[2], place(context, builder, signature, args))
        return context.get_dummy_value()

    return types.void(contiguous(array), types.intp, array.dtype), codegen


@operation
def load(typingctx: TypingContext, array: types.Array, index: types.Integer) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        value = builder.load(pointer(context, builder, signature, args, LANES))
        # of one number: flat indices need not be multiples of LANES
        value.align = n_bytes(llvm_type(signature.args[0].dtype))
        return value

    return Vector(contiguous(array).dtype)(array, types.intp), codegen


@operation
def store(
    typingctx: TypingContext, array: types.Array, index: types.Integer, value: Vector
) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        instruction = builder.store(args[2], pointer(context, builder, signature, args, LANES))
        instruction.align = n_bytes(llvm_type(signature.args[0].dtype))
        return context.get_dummy_value()

    return types.void(contiguous(array), types.intp, Vector(array.dtype)), codegen


@operation
def load_part(
    typingctx: TypingContext,
    array: types.Array,
    index: types.Integer,
    n: types.Integer,
    fill: types.Float,
) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        vector = llvm_type(signature.args[0].dtype)
        start = pointer(context, builder, signature, args, args[2])
        align = ir.Constant(ir.IntType(32), n_bytes(vector))
        rest = constant(builder, vector, args[3])
        return masked(
            builder, "load", vector, vector, [start, align, lanes_below(builder, args[2]), rest]
        )

    return Vector(contiguous(array).dtype)(array, types.intp, types.intp, array.dtype), codegen


@operation
def store_part(
    typingctx: TypingContext,
    array: types.Array,
    index: types.Integer,
    value: Vector,
    n: types.Integer,
) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        vector = llvm_type(signature.args[0].dtype)
        start = pointer(context, builder, signature, args, args[3])
        align = ir.Constant(ir.IntType(32), n_bytes(vector))
        operands = [args[2], start, align, lanes_below(builder, args[3])]
        masked(builder, "store", vector, ir.VoidType(), operands)
        return context.get_dummy_value()

    return types.void(contiguous(array), types.intp, Vector(array.dtype), types.intp), codegen


@operation
def prefetch(typingctx: TypingContext, array: types.Array, index: types.Integer) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        fetch(builder, pointer(context, builder, signature, args, 0))
        return context.get_dummy_value()

    return types.void(contiguous(array), types.intp), codegen


@operation
def cast(typingctx: TypingContext, x: Vector, array: types.Array) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        old = signature.args[0]
        new = signature.return_type
        if old == new:
            return args[0]
        convert = builder.fpext if new.dtype == types.float64 else builder.fptrunc
        parts = [convert(eight, llvm_type(new.dtype)) for eight in eights(builder, old, args[0])]

        def one(first: int, n: int) -> ir.Value:
            return one_after_the_other(builder, parts[first // LANES : (first + n) // LANES])

        return joined(builder, new, one)

    return Vector(array.dtype, x.n)(x, array), codegen


@operation
def splat(typingctx: TypingContext, scalar: types.Float) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        return constant(builder, llvm_type(signature.return_type.dtype), args[0])

    return Vector(scalar)(scalar), codegen


@operation
def fma(typingctx: TypingContext, x: Vector, y: Vector, z: Vector) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        def fused(*terms: ir.Value) -> ir.Value:
            return call_intrinsic(builder, "fma", terms[0].type, *terms)

        return each_piece(builder, signature.return_type, fused, *args)

    return x(x, x, x), codegen


@operation
def add(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: each_piece(
        builder, signature.return_type, builder.fadd, *args
    )


@operation
def sub(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: each_piece(
        builder, signature.return_type, builder.fsub, *args
    )


@operation
def mul(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: each_piece(
        builder, signature.return_type, builder.fmul, *args
    )


@operation
def div(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: builder.fdiv(*args)


@operation
def keep(typingctx: TypingContext, x: Vector, bits: types.Integer) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        mask = builder.bitcast(args[1], ir.VectorType(ir.IntType(1), LANES))
        return builder.select(
            mask, args[0], constant(builder, llvm_type(signature.return_type.dtype), 0.0)
        )

    return x(x, types.uint8), codegen


def _larger(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    # one instruction, which LLVM's maxnum with its rules for nan is not
    return builder.select(builder.fcmp_ordered(">", x, y), x, y)


def _smaller(builder: ir.IRBuilder, x: ir.Value, y: ir.Value) -> ir.Value:
    return builder.select(builder.fcmp_ordered("<", x, y), x, y)


@operation
def if_larger(typingctx: TypingContext, x: Vector, y: Vector, z: Vector) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        larger = builder.fcmp_ordered(">", args[0], args[1])
        zero = constant(builder, llvm_type(signature.return_type.dtype), 0.0)
        return builder.select(larger, args[2], zero)

    return x(x, x, x), codegen


@operation
def maximum(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: each_piece(
        builder, signature.return_type, partial(_larger, builder), *args
    )


@operation
def minimum(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: each_piece(
        builder, signature.return_type, partial(_smaller, builder), *args
    )


def _fold(builder: ir.IRBuilder, vector: Vector, whole: ir.Value, combine: Combine) -> ir.Value:
    """Combine eight numbers with the next eight and so on, and then the lanes pairwise: halves,
    quarters, ... down to a scalar.
    """
    value = reduce(partial(combine, builder), eights(builder, vector, whole))
    width = LANES
    while width > 1:
        # halves are combined, in this order on any processor: the bits of a sum must not depend on
        # it
        width //= 2
        parts = [some_lanes(builder, value, first, width) for first in (0, width)]
        value = combine(builder, *parts)
    return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))


@operation
def total(typingctx: TypingContext, x: Vector) -> Operation:
    return x.dtype(x), lambda context, builder, signature, args: _fold(
        builder, signature.args[0], args[0], ir.IRBuilder.fadd
    )


@operation
def largest(typingctx: TypingContext, x: Vector) -> Operation:
    return x.dtype(x), lambda context, builder, signature, args: _fold(
        builder, signature.args[0], args[0], _larger
    )


@operation
def least(typingctx: TypingContext, x: Vector) -> Operation:
    return x.dtype(x), lambda context, builder, signature, args: _fold(
        builder, signature.args[0], args[0], _smaller
    )


@operation
def where(typingctx: TypingContext, x: Vector, scalar: types.Float) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        vector = llvm_type(signature.args[0].dtype)
        # a ninth bit that is always set: its place, LANES, is the answer where no number equals
        equal = builder.fcmp_ordered("==", args[0], constant(builder, vector, args[1]))
        bits = builder.zext(builder.bitcast(equal, ir.IntType(LANES)), ir.IntType(64))
        return builder.cttz(builder.or_(bits, ir.IntType(64)(1 << LANES)), ir.IntType(1)(1))

    return types.intp(x, x.dtype), codegen
