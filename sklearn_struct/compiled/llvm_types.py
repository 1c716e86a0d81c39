"""Vectors of one or several registers, as numba's types and LLVM's values: what operations on them
are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.cpu import CPUContext
from numba.core.datamodel.manager import DataModelManager
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, Signature, infer_global
from numba.extending import lower_builtin, models, register_model

from sklearn_struct.compiled.index_checks import check

__all__ = [
    "LANES",
    "Arguments",
    "Operation",
    "Vector",
    "call_intrinsic",
    "constant",
    "contiguous",
    "each_piece",
    "eights",
    "fetch",
    "joined",
    "lanes_below",
    "llvm_type",
    "masked",
    "n_bytes",
    "one_after_the_other",
    "operation",
    "pieces_of",
    "place",
    "pointer",
    "some_lanes",
]

# one AVX-512 register of float64; narrower processors take two or four
LANES = 8

Arguments: TypeAlias = Sequence[ir.Value]
Codegen: TypeAlias = Callable[[CPUContext, ir.IRBuilder, Signature, Arguments], ir.Value]
# what an intrinsic tells numba of itself
Operation: TypeAlias = tuple[Signature, Codegen]


def operation(define: Callable[..., Operation]) -> Callable[..., Any]:
    """What kernels call, from what it is for each types of its arguments.

    As numba's `intrinsic`, which looks for new extensions of numba at each call: to compile a
    kernel of many operations takes a tenth more time with it.
    """

    def call(*args: Any) -> Any:
        raise NotImplementedError("only compiled kernels call it")

    class Template(AbstractTemplate):
        key = call

        def generic(self, args: tuple[types.Type, ...], kws: dict[str, types.Type]) -> Signature:
            return define(self.context, *args)[0]

    def lower(
        context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Arguments
    ) -> ir.Value:
        _, codegen = define(context.typing_context, *signature.args)
        return codegen(context, builder, signature, args)

    infer_global(call, types.Function(Template))
    lower_builtin(call, types.VarArg(types.Any))(lower)
    return call


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
    start = place(context, builder, signature, args, n, lanes)
    return builder.bitcast(start, llvm_type(signature.args[0].dtype, lanes).as_pointer())


def place(
    context: CPUContext,
    builder: ir.IRBuilder,
    signature: Signature,
    args: Arguments,
    n: int | ir.Value = 1,
    most: int = 1,
) -> ir.Value:
    """Pointer to the number of the array args[0] at flat index args[1]; n are used."""
    fields = context.data_model_manager[signature.args[0]]
    # numba's own structure of an array takes as long to make as all the rest
    check(context, builder, fields.get(builder, args[0], "nitems"), args[1], n, most)
    # without numba's care for negative indices, which costs more than the arithmetic
    return builder.gep(fields.get(builder, args[0], "data"), [args[1]], inbounds=True)


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


def fetch(builder: ir.IRBuilder, start: ir.Value) -> None:
    """Prefetch the line of the caches that a pointer is in."""
    flag = ir.IntType(32)
    address = ir.IntType(8).as_pointer()
    function_type = ir.FunctionType(ir.VoidType(), [address, flag, flag, flag])
    function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0i8")
    # to read, into all caches, data
    builder.call(function, [builder.bitcast(start, address), flag(0), flag(3), flag(1)])


def eights(builder: ir.IRBuilder, vector: Vector, whole: ir.Value) -> list[ir.Value]:
    """A vector in pieces of eight numbers."""
    pieces = pieces_of(vector)
    eights = []
    for i, n in enumerate(pieces):
        piece = whole if len(pieces) == 1 else builder.extract_value(whole, i)
        eights += [some_lanes(builder, piece, first, LANES) for first in range(0, n, LANES)]
    return eights


def one_after_the_other(builder: ir.IRBuilder, eights: list[ir.Value]) -> ir.Value:
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


def some_lanes(builder: ir.IRBuilder, value: ir.Value, first: int, n: int) -> ir.Value:
    """n lanes, from `first` on."""
    if n == value.type.count:
        return value
    order = ir.Constant(ir.VectorType(ir.IntType(32), n), list(range(first, first + n)))
    return builder.shuffle_vector(value, value, order)
