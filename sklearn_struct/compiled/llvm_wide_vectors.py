"""Vectors that take several registers, as LLVM's vector instructions.

A vector of 24 numbers is three registers of AVX-512 in float64, and one and a half in float32, so
that rows of 24 float32 take two operations, not three. Arithmetic on them is that of
`llvm_vectors`.
"""

from __future__ import annotations

from itertools import accumulate

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
    constant,
    contiguous,
    fetch,
    joined,
    lanes_below,
    llvm_type,
    masked,
    n_bytes,
    operation,
    pieces_of,
    pointer,
)

__all__ = [
    "lanes_of",
    "load_as",
    "load_part_as",
    "prefetch_as",
    "splat_as",
    "store_as",
    "store_part_as",
    "three",
    "three_wide",
]


def _zeros(array: types.Array, n: int) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        return context.get_constant_null(signature.return_type)

    return Vector(contiguous(array).dtype, n)(array), codegen


@operation
def three(typingctx: TypingContext, array: types.Array) -> Operation:
    return _zeros(array, 3 * LANES)


@operation
def three_wide(typingctx: TypingContext, array: types.Array) -> Operation:
    return _zeros(array, 3 * (LANES if array.dtype == types.float64 else 2 * LANES))


@operation
def lanes_of(typingctx: TypingContext, like: Vector) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        return ir.IntType(64)(signature.args[0].n)

    return types.intp(like), codegen


@operation
def load_as(
    typingctx: TypingContext, array: types.Array, index: types.Integer, like: Vector
) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        result = signature.return_type
        kind = signature.args[0].dtype

        def one(first: int, n: int) -> ir.Value:
            at = builder.add(args[1], args[1].type(first))
            start = pointer(context, builder, signature, [args[0], at], n, n)
            value = builder.load(start)
            value.align = n_bytes(llvm_type(kind))
            if kind == result.dtype:
                return value
            convert = builder.fpext if result.dtype == types.float64 else builder.fptrunc
            return convert(value, llvm_type(result.dtype, n))

        return joined(builder, result, one)

    return like(contiguous(array), types.intp, like), codegen


@operation
def load_part_as(
    typingctx: TypingContext,
    array: types.Array,
    index: types.Integer,
    n: types.Integer,
    rest: Vector,
) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        pieces = pieces_of(signature.return_type)

        def one(first: int, n: int) -> ir.Value:
            at = builder.add(args[1], args[1].type(first))
            left = builder.sub(args[2], args[2].type(first))
            start = pointer(context, builder, signature, [args[0], at], left, n)
            rest = args[3]
            if len(pieces) > 1:
                rest = builder.extract_value(rest, first // pieces[0])
            align = ir.Constant(ir.IntType(32), n_bytes(rest.type))
            operands = [start, align, lanes_below(builder, left, n), rest]
            return masked(builder, "load", rest.type, rest.type, operands)

        return joined(builder, signature.return_type, one)

    return rest(contiguous(array), types.intp, types.intp, rest), codegen


@operation
def store_as(
    typingctx: TypingContext, array: types.Array, index: types.Integer, value: Vector
) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        pieces = pieces_of(signature.args[2])
        for i, first in enumerate(accumulate(pieces[:-1], initial=0)):
            at = builder.add(args[1], args[1].type(first))
            piece = args[2] if len(pieces) == 1 else builder.extract_value(args[2], i)
            start = pointer(context, builder, signature, [args[0], at], pieces[i], pieces[i])
            builder.store(piece, start).align = n_bytes(piece.type)
        return context.get_dummy_value()

    return types.void(contiguous(array), types.intp, value), codegen


@operation
def store_part_as(
    typingctx: TypingContext,
    array: types.Array,
    index: types.Integer,
    value: Vector,
    n: types.Integer,
) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        pieces = pieces_of(signature.args[2])
        for i, first in enumerate(accumulate(pieces[:-1], initial=0)):
            at = builder.add(args[1], args[1].type(first))
            left = builder.sub(args[3], args[3].type(first))
            piece = args[2] if len(pieces) == 1 else builder.extract_value(args[2], i)
            start = pointer(context, builder, signature, [args[0], at], left, pieces[i])
            align = ir.Constant(ir.IntType(32), n_bytes(piece.type))
            operands = [piece, start, align, lanes_below(builder, left, pieces[i])]
            masked(builder, "store", piece.type, ir.VoidType(), operands)
        return context.get_dummy_value()

    return types.void(contiguous(array), types.intp, value, types.intp), codegen


@operation
def prefetch_as(
    typingctx: TypingContext, array: types.Array, index: types.Integer, like: Vector
) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        # a register is as long as a line of the caches
        for first in accumulate(pieces_of(signature.args[2])[:-1], initial=0):
            at = builder.add(args[1], args[1].type(first))
            fetch(builder, pointer(context, builder, signature, [args[0], at], 0))
        return context.get_dummy_value()

    return types.void(contiguous(array), types.intp, like), codegen


@operation
def splat_as(typingctx: TypingContext, scalar: types.Float, like: Vector) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        result = signature.return_type
        widest = constant(builder, llvm_type(result.dtype, pieces_of(result)[0]), args[0])

        def one(first: int, n: int) -> ir.Value:
            if n == widest.type.count:
                return widest
            # half of a register: the number is read once for both
            lanes = ir.Constant(ir.VectorType(ir.IntType(32), n), list(range(n)))
            return builder.shuffle_vector(widest, widest, lanes)

        return joined(builder, result, one)

    return like(like.dtype, like), codegen
