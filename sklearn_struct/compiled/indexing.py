"""Numbers of arrays, read and written by their indices.

Kernels are full of them, and numba tries fourteen other ways to read an array before its own one.
These functions take that one at once; what they do is numba's.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, TypeAlias

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.cpu import CPUContext
from numba.core.typing.arraydecl import GetItemBuffer, SetItemBuffer
from numba.core.typing.templates import AbstractTemplate, Signature, infer_global
from numba.extending import lower_builtin
from numba.np.arrayobj import basic_indexing, load_item, store_item

__all__ = ["read", "write"]

Types: TypeAlias = tuple[types.Type, ...]


def read(array: Any, index: Any) -> Any:
    """``array[index]``."""
    return array[index]


def write(array: Any, index: Any, value: Any) -> None:
    """``array[index] = value``."""
    array[index] = value


def _type_as(function: Any, of_arrays: Any, of_all: Any) -> None:
    """Let numba's rule for arrays say of which types a call is, and its other rules where that one
    has no answer.
    """

    class Template(AbstractTemplate):
        key = function

        def generic(self, args: Types, kws: dict[str, types.Type]) -> Signature:
            known: Signature | None = of_arrays(self.context).generic(args, kws)
            return known or self.context.resolve_function_type(of_all, args, kws)

    infer_global(function)(Template)


_type_as(read, GetItemBuffer, operator.getitem)
_type_as(write, SetItemBuffer, operator.setitem)


@lower_builtin(read, types.Any, types.Any)
def _lower_read(
    context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
) -> ir.Value:
    if not _is_number(signature):
        return _as_numba(operator.getitem, context, builder, signature, args)
    place = _place(context, builder, signature, args)
    return load_item(context, builder, signature.args[0], place)


@lower_builtin(write, types.Any, types.Any, types.Any)
def _lower_write(
    context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
) -> ir.Value:
    array, _, kind = signature.args
    if not _is_number(signature):
        return _as_numba(operator.setitem, context, builder, signature, args)
    value = context.cast(builder, args[2], kind, array.dtype)
    place = _place(context, builder, signature, args)
    store_item(context, builder, array, value, place)
    return context.get_dummy_value()


def _is_number(signature: Signature) -> bool:
    """Whether a single number of an array is meant."""
    array, index = signature.args[:2]
    indices = _each(index)
    return (
        isinstance(array, types.Array)
        and isinstance(array.dtype, types.Number | types.Boolean)
        and len(indices) == array.ndim
        and all(isinstance(each, types.Integer) for each in indices)
    )


def _each(index: Any) -> Types:
    several = isinstance(index, types.BaseTuple)
    return tuple(index) if several else (index,)


def _place(
    context: CPUContext, builder: ir.IRBuilder, signature: Signature, args: Sequence[ir.Value]
) -> ir.Value:
    """Pointer to the number."""
    array, index = signature.args[:2]
    indices = [args[1]]
    if isinstance(index, types.BaseTuple):
        indices = cgutils.unpack_tuple(builder, args[1], len(index))
    model = context.data_model_manager[array]
    # numba's own structure of an array takes as long to make as all the rest
    fields = {name: model.get(builder, args[0], name) for name in ("data", "shape", "strides")}
    place, *_ = basic_indexing(
        context,
        builder,
        array,
        SimpleNamespace(**fields),
        _each(index),
        indices,
        context.enable_boundscheck,
    )
    return place


def _as_numba(
    what: Any,
    context: CPUContext,
    builder: ir.IRBuilder,
    signature: Signature,
    args: Sequence[ir.Value],
) -> ir.Value:
    function = context.typing_context.resolve_value_type(what)
    known = function.get_call_type(context.typing_context, signature.args, {})
    return context.get_function(function, known)(builder, args)
