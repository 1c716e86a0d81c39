"""The vector operations of `simd`, as LLVM's vector instructions.

Each operation is a numba intrinsic: a function of the types of its arguments that returns its
signature and the code that writes the instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import accumulate
from typing import TypeAlias

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.cpu import CPUContext
from numba.core.datamodel.manager import DataModelManager
from numba.core.errors import TypingError
from numba.core.typing.context import BaseContext as TypingContext
from numba.core.typing.templates import Signature
from numba.extending import intrinsic, models, register_model

from sklearn_struct.compiled.index_checks import check

__all__ = [
    "LANES",
    "Arguments",
    "Operation",
    "Vector",
    "add",
    "at",
    "call_intrinsic",
    "cast",
    "constant",
    "contiguous",
    "each_piece",
    "fetch",
    "fma",
    "if_larger",
    "joined",
    "keep",
    "lanes_below",
    "largest",
    "least",
    "llvm_type",
    "load",
    "load_part",
    "masked",
    "maximum",
    "minimum",
    "mul",
    "n_bytes",
    "pieces_of",
    "pointer",
    "prefetch",
    "set_at",
    "splat",
    "store",
    "store_part",
    "sub",
    "total",
    "where",
]

# one AVX-512 register of float64; narrower processors take two or four
LANES = 8

Arguments: TypeAlias = Sequence[ir.Value]
Codegen: TypeAlias = Callable[[CPUContext, ir.IRBuilder, Signature, Arguments], ir.Value]
Combine: TypeAlias = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]
# what an intrinsic tells numba of itself
Operation: TypeAlias = tuple[Signature, Codegen]


class Vector(types.Type):
    """numba type of eight float64 or float32, or of n of them, a multiple of eight."""

    def __init__(self, dtype: types.Type, n: int = LANES) -> None:
        self.dtype = dtype
        self.n = n
        super().__init__(name=f"Vector({dtype} x {n})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: DataModelManager, fe_type: Vector) -> None:
        pieces = [llvm_type(fe_type.dtype, n) for n in pieces_of(fe_type)]
        whole = pieces[0] if len(pieces) == 1 else ir.LiteralStructType(pieces)
        super().__init__(manager, fe_type, whole)


def llvm_type(dtype: types.Type, n: int = LANES) -> ir.VectorType:
    return ir.VectorType(ir.DoubleType() if dtype == types.float64 else ir.FloatType(), n)


def pieces_of(vector: Vector) -> list[int]:
    """How many numbers each of the registers of AVX-512 has that a vector takes."""
    most = LANES if vector.dtype == types.float64 else 2 * LANES
    whole, rest = divmod(vector.n, most)
    return [most] * whole + [rest] * (rest > 0)


def each_piece(
    builder: ir.IRBuilder, vector: Vector, work: Callable[..., ir.Value], *args: ir.Value
) -> ir.Value:
    """What `work` makes of the pieces of vectors of one type, as such a vector."""
    pieces = [llvm_type(vector.dtype, n) for n in pieces_of(vector)]
    if len(pieces) == 1:
        return work(*args)
    whole = ir.Constant(ir.LiteralStructType(pieces), ir.Undefined)
    for i in range(len(pieces)):
        piece = work(*[builder.extract_value(arg, i) for arg in args])
        whole = builder.insert_value(whole, piece, i)
    return whole


def pointer(
    context: CPUContext,
    builder: ir.IRBuilder,
    signature: Signature,
    args: Arguments,
    n: int | ir.Value,
    lanes: int = LANES,
) -> ir.Value:
    """Pointer to a vector in the array args[0] from flat index args[1] on; n numbers are used."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    check(context, builder, array, args[1], n, lanes)
    # without numba's care for negative indices, which costs more than the arithmetic
    start = builder.gep(array.data, [args[1]], inbounds=True)
    return builder.bitcast(start, llvm_type(signature.args[0].dtype, lanes).as_pointer())


def n_bytes(vector: ir.VectorType) -> int:
    """Of one of its numbers."""
    return 8 if isinstance(vector.element, ir.DoubleType) else 4


def contiguous(array: types.Array) -> types.Array:
    if array.layout != "C":
        raise TypingError("vector operations need contiguous arrays")
    return array


def lanes_below(builder: ir.IRBuilder, n: ir.Value, count: int = LANES) -> ir.Value:
    """Mask of the lanes 0 .. n - 1."""
    integers = ir.VectorType(ir.IntType(64), count)
    lanes = ir.Constant(integers, [ir.Constant(integers.element, lane) for lane in range(count)])
    return builder.icmp_signed("<", lanes, constant(builder, integers, n))


def masked(
    builder: ir.IRBuilder, operation: str, vector: ir.VectorType, result: ir.Type, args: Arguments
) -> ir.Value:
    """Call llvm.masked.load or llvm.masked.store."""
    kind = f"v{vector.count}f{n_bytes(vector) * 8}"
    name = f"llvm.masked.{operation}.{kind}.p0{kind}"
    function_type = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), args)


@intrinsic
def at(typingctx: TypingContext, array: types.Array, index: types.Integer) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        check(context, builder, struct, args[1], 1, 1)
        return builder.load(builder.gep(struct.data, [args[1]], inbounds=True))

    return array.dtype(contiguous(array), types.intp), codegen


@intrinsic
def set_at(
    typingctx: TypingContext, array: types.Array, index: types.Integer, value: types.Float
) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        check(context, builder, struct, args[1], 1, 1)
        builder.store(args[2], builder.gep(struct.data, [args[1]], inbounds=True))
        return context.get_dummy_value()

    return types.void(contiguous(array), types.intp, array.dtype), codegen


@intrinsic
def load(typingctx: TypingContext, array: types.Array, index: types.Integer) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        value = builder.load(pointer(context, builder, signature, args, LANES))
        # of one number: flat indices need not be multiples of LANES
        value.align = n_bytes(llvm_type(signature.args[0].dtype))
        return value

    return Vector(contiguous(array).dtype)(array, types.intp), codegen


@intrinsic
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


@intrinsic
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


@intrinsic
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


@intrinsic
def prefetch(typingctx: TypingContext, array: types.Array, index: types.Integer) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        fetch(builder, pointer(context, builder, signature, args, 0))
        return context.get_dummy_value()

    return types.void(contiguous(array), types.intp), codegen


def fetch(builder: ir.IRBuilder, start: ir.Value) -> None:
    """Prefetch the line of the caches that a pointer is in."""
    flag = ir.IntType(32)
    address = ir.IntType(8).as_pointer()
    function_type = ir.FunctionType(ir.VoidType(), [address, flag, flag, flag])
    function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0i8")
    # to read, into all caches, data
    builder.call(function, [builder.bitcast(start, address), flag(0), flag(3), flag(1)])


@intrinsic
def cast(typingctx: TypingContext, x: Vector, array: types.Array) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        old = signature.args[0]
        new = signature.return_type
        if old == new:
            return args[0]
        convert = builder.fpext if new.dtype == types.float64 else builder.fptrunc
        eights = [convert(eight, llvm_type(new.dtype)) for eight in _eights(builder, old, args[0])]
        return joined(builder, new, lambda first, n: _one_after_the_other(
            builder, eights[first // LANES : (first + n) // LANES]
        ))

    return Vector(array.dtype, x.n)(x, array), codegen


def _eights(builder: ir.IRBuilder, vector: Vector, whole: ir.Value) -> list[ir.Value]:
    """A vector in pieces of eight numbers."""
    pieces = pieces_of(vector)
    eights = []
    for i, n in enumerate(pieces):
        piece = whole if len(pieces) == 1 else builder.extract_value(whole, i)
        eights += [_some(builder, piece, first, LANES) for first in range(0, n, LANES)]
    return eights


def _one_after_the_other(builder: ir.IRBuilder, eights: list[ir.Value]) -> ir.Value:
    """One or two vectors of eight numbers in a register."""
    if len(eights) == 1:
        return eights[0]
    order = ir.Constant(ir.VectorType(ir.IntType(32), 2 * LANES), list(range(2 * LANES)))
    return builder.shuffle_vector(*eights, order)


def joined(builder: ir.IRBuilder, vector: Vector, one: Callable[[int, int], ir.Value]) -> ir.Value:
    """The vector of the pieces ``one(first number, how many)``."""
    pieces = pieces_of(vector)
    if len(pieces) == 1:
        return one(0, pieces[0])
    kinds = [llvm_type(vector.dtype, n) for n in pieces]
    whole = ir.Constant(ir.LiteralStructType(kinds), ir.Undefined)
    for i, first in enumerate(accumulate(pieces[:-1], initial=0)):
        whole = builder.insert_value(whole, one(first, pieces[i]), i)
    return whole


@intrinsic
def splat(typingctx: TypingContext, scalar: types.Float) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        return constant(builder, llvm_type(signature.return_type.dtype), args[0])

    return Vector(scalar)(scalar), codegen


def constant(builder: ir.IRBuilder, vector: ir.VectorType, value: ir.Value | float) -> ir.Value:
    """All lanes equal: `value` is an LLVM scalar, or a Python number."""
    if not isinstance(value, ir.Value):
        return ir.Constant(vector, [ir.Constant(vector.element, value)] * vector.count)
    first = builder.insert_element(
        ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
    )
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), lanes)


def call_intrinsic(
    builder: ir.IRBuilder, name: str, vector: ir.VectorType, *args: ir.Value
) -> ir.Value:
    """Call the LLVM intrinsic `name` on vectors of one type."""
    suffix = f"v{vector.count}f{n_bytes(vector) * 8}"
    function_type = ir.FunctionType(vector, [vector] * len(args))
    return builder.call(
        cgutils.get_or_insert_function(builder.module, function_type, f"llvm.{name}.{suffix}"), args
    )


@intrinsic
def fma(typingctx: TypingContext, x: Vector, y: Vector, z: Vector) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        def fused(*terms: ir.Value) -> ir.Value:
            return call_intrinsic(builder, "fma", terms[0].type, *terms)

        return each_piece(builder, signature.return_type, fused, *args)

    return x(x, x, x), codegen


@intrinsic
def add(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: each_piece(
        builder, signature.return_type, builder.fadd, *args
    )


@intrinsic
def sub(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: each_piece(
        builder, signature.return_type, builder.fsub, *args
    )


@intrinsic
def mul(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: each_piece(
        builder, signature.return_type, builder.fmul, *args
    )


@intrinsic
def div(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: builder.fdiv(*args)


@intrinsic
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


@intrinsic
def if_larger(typingctx: TypingContext, x: Vector, y: Vector, z: Vector) -> Operation:
    def codegen(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        larger = builder.fcmp_ordered(">", args[0], args[1])
        zero = constant(builder, llvm_type(signature.return_type.dtype), 0.0)
        return builder.select(larger, args[2], zero)

    return x(x, x, x), codegen


@intrinsic
def maximum(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: each_piece(
        builder, signature.return_type, partial(_larger, builder), *args
    )


@intrinsic
def minimum(typingctx: TypingContext, x: Vector, y: Vector) -> Operation:
    return x(x, x), lambda context, builder, signature, args: each_piece(
        builder, signature.return_type, partial(_smaller, builder), *args
    )


def _fold(
    builder: ir.IRBuilder, vector: Vector, whole: ir.Value, combine: Combine
) -> ir.Value:
    """Combine eight numbers with the next eight, ..., and these pairwise: halves, quarters, ... down
    to a scalar.
    """
    value = reduce(partial(combine, builder), _eights(builder, vector, whole))
    width = LANES
    while width > 1:
        # halves are combined, in this order on any processor: the bits of a sum must not depend on
        # it
        width //= 2
        parts = [_some(builder, value, first, width) for first in (0, width)]
        value = combine(builder, *parts)
    return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))


def _some(builder: ir.IRBuilder, value: ir.Value, first: int, n: int) -> ir.Value:
    """n lanes, from `first` on."""
    if n == value.type.count:
        return value
    order = ir.Constant(ir.VectorType(ir.IntType(32), n), list(range(first, first + n)))
    return builder.shuffle_vector(value, value, order)


@intrinsic
def total(typingctx: TypingContext, x: Vector) -> Operation:
    return x.dtype(x), lambda context, builder, signature, args: _fold(
        builder, signature.args[0], args[0], ir.IRBuilder.fadd
    )


@intrinsic
def largest(typingctx: TypingContext, x: Vector) -> Operation:
    return x.dtype(x), lambda context, builder, signature, args: _fold(
        builder, signature.args[0], args[0], _larger
    )


@intrinsic
def least(typingctx: TypingContext, x: Vector) -> Operation:
    return x.dtype(x), lambda context, builder, signature, args: _fold(
        builder, signature.args[0], args[0], _smaller
    )


@intrinsic
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
