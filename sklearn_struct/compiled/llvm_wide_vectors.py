"""Vectors that fill an AVX-512 register, also of float32, as LLVM's vector instructions.

Of float64 they are the vectors of `llvm_vectors`, of float32 twice as long. Arithmetic on them is
that of `llvm_vectors`.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.cpu import CPUContext
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from sklearn_struct.compiled.llvm_vectors import (
    LANES,
    Arguments,
    Operation,
    Vector,
    constant,
    contiguous,
    llvm_type,
    n_bytes,
    pointer,
)

__all__ = ["load_wide", "splat_wide", "store_wide", "wide_lanes"]


def _n_wide(dtype: types.Type) -> int:
    """How many numbers fill an AVX-512 register."""
    return LANES if dtype == types.float64 else 2 * LANES


@intrinsic
def wide_lanes(typingctx: TypingContext, array: types.Array) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        return ir.IntType(64)(_n_wide(signature.args[0].dtype))

    return types.intp(array), codegen


@intrinsic
def load_wide(typingctx: TypingContext, array: types.Array, index: types.Integer) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        vector = llvm_type(signature.return_type.dtype, signature.return_type.n)
        n = signature.return_type.n
        value = builder.load(pointer(context, builder, signature, args, n, n))
        value.align = n_bytes(vector)
        return value

    dtype = contiguous(array).dtype
    return Vector(dtype, _n_wide(dtype))(array, types.intp), codegen


@intrinsic
def store_wide(
    typingctx: TypingContext, array: types.Array, index: types.Integer, value: Vector
) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        n = signature.args[2].n
        instruction = builder.store(args[2], pointer(context, builder, signature, args, n, n))
        instruction.align = n_bytes(llvm_type(signature.args[0].dtype))
        return context.get_dummy_value()

    dtype = contiguous(array).dtype
    return types.void(array, types.intp, Vector(dtype, _n_wide(dtype))), codegen


@intrinsic
def splat_wide(typingctx: TypingContext, scalar: types.Float) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        result = signature.return_type
        return constant(builder, llvm_type(result.dtype, result.n), args[0])

    return Vector(scalar, _n_wide(scalar))(scalar), codegen
