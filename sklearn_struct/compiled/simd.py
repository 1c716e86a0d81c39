"""Vectors of eight numbers for use inside kernels.

numba's own vectorizer handles rows of 22 labels badly. Kernels that work on rows therefore pad them
to a multiple of `LANES` and step through them with these operations, which LLVM turns into the
machine's vector instructions (it splits vectors that are wider than a register). Arrays are
float64 or float32.

The functions below are what the operations do, in numpy, and what runs with
``NUMBA_DISABLE_JIT=1``; compiled kernels get the instructions of `llvm_vectors` and `llvm_exp`.
With ``NUMBA_BOUNDSCHECK=1`` an operation that leads out of its array is an IndexError.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable
from ctypes import addressof, c_char
from typing import Any, TypeAlias, TypeVar

import numba
import numpy as np
from numpy.typing import DTypeLike, NDArray

from sklearn_struct.compiled import llvm_exp, llvm_vectors, llvm_wide_vectors
from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.llvm_types import LANES

__all__ = [
    "LANES",
    "Vector",
    "add",
    "aligned",
    "at",
    "cast",
    "div",
    "exp",
    "fma",
    "if_larger",
    "keep",
    "lanes_of",
    "largest",
    "least",
    "load",
    "load_as",
    "load_part",
    "load_part_as",
    "maximum",
    "minimum",
    "mul",
    "padded",
    "prefetch",
    "prefetch_as",
    "set_at",
    "splat",
    "splat_as",
    "store",
    "store_as",
    "store_part",
    "store_part_as",
    "sub",
    "three",
    "three_wide",
    "total",
    "where",
    "workspace",
]

Index: TypeAlias = int | np.integer[Any]
Vector: TypeAlias = NDArray[np.floating[Any]]  # eight float64 or float32, or a multiple
CONFIG: Any = numba.config  # its fields are made when numba is imported
F = TypeVar("F", bound=Callable[..., object])


@kernel
def padded(n: int) -> int:
    """`n` rounded up to a multiple of `LANES`."""
    return (n + LANES - 1) // LANES * LANES


def workspace(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Unset memory that starts with a line of the caches.

    Rows of whole vectors then touch the fewest lines.
    """
    n = math.prod(shape)
    size = np.dtype(dtype).itemsize
    memory = np.empty(n + 64 // size, dtype)
    # a vector across two cache lines costs two loads; numpy's own ways to the address take longer
    # than to make the array
    start = -addressof(c_char.from_buffer(memory.data)) % 64 // size
    return memory[start : start + n].reshape(shape)


def aligned(size: int, dtype: DTypeLike) -> np.ndarray:
    """Zeros that start as in `workspace`."""
    zeros = workspace((size,), dtype)
    zeros[:] = 0
    return zeros


def _compiled_as(operation: object) -> Callable[[F], F]:
    """The operation for kernels to call; the numpy function where the JIT is switched off."""

    def choose(twin: F) -> F:
        # without the JIT, intrinsics of LLVM have no meaning
        return twin if CONFIG.DISABLE_JIT else typing.cast(F, operation)

    return choose


# ---- memory; indices are flat, of contiguous arrays of any shape


@_compiled_as(llvm_vectors.at)
def at(array: np.ndarray, index: Index) -> Any:
    """One number. Its index may not be negative, which saves a comparison in inner loops."""
    return array.reshape(-1)[index]


@_compiled_as(llvm_vectors.set_at)
def set_at(array: np.ndarray, index: Index, value: Any) -> None:
    """Write one number. To compile it takes a fifth of the time of a flat view."""
    array.reshape(-1)[index] = value


@_compiled_as(llvm_vectors.load)
def load(array: np.ndarray, index: Index) -> Vector:
    """Eight numbers, from `index` on."""
    return array.reshape(-1)[index : index + LANES].copy()


@_compiled_as(llvm_vectors.store)
def store(array: np.ndarray, index: Index, value: Vector) -> None:
    """Write eight numbers."""
    array.reshape(-1)[index : index + LANES] = value


@_compiled_as(llvm_wide_vectors.three)
def three(array: np.ndarray) -> Vector:
    """24 zeros of the array's float type: what the following functions take as their `like`."""
    return np.zeros(3 * LANES, array.dtype)


@_compiled_as(llvm_wide_vectors.three_wide)
def three_wide(array: np.ndarray) -> Vector:
    """As many zeros as fill three registers of AVX-512: 24 of float64, 48 of float32."""
    return np.zeros(3 * (64 // array.itemsize), array.dtype)


@_compiled_as(llvm_wide_vectors.lanes_of)
def lanes_of(like: Vector) -> int:
    """How many numbers a vector has."""
    return len(like)


@_compiled_as(llvm_wide_vectors.load_as)
def load_as(array: np.ndarray, index: Index, like: Vector) -> Vector:
    """As many numbers as another vector has, from `index` on, in its float type."""
    return array.reshape(-1)[index : index + len(like)].astype(like.dtype)


@_compiled_as(llvm_wide_vectors.load_part_as)
def load_part_as(array: np.ndarray, index: Index, n: int, rest: Vector) -> Vector:
    """The first `n` as `load_as`, the others those of `rest`; their memory is not read."""
    value = rest.copy()
    n = max(0, min(n, len(rest)))
    value[:n] = array.reshape(-1)[index : index + n]
    return value


@_compiled_as(llvm_wide_vectors.store_as)
def store_as(array: np.ndarray, index: Index, value: Vector) -> None:
    """Write a vector of any length."""
    array.reshape(-1)[index : index + len(value)] = value


@_compiled_as(llvm_wide_vectors.store_part_as)
def store_part_as(array: np.ndarray, index: Index, value: Vector, n: int) -> None:
    """Write the first `n` numbers of a vector of any length."""
    array.reshape(-1)[index : index + min(n, len(value))] = value[: max(n, 0)]


@_compiled_as(llvm_wide_vectors.prefetch_as)
def prefetch_as(array: np.ndarray, index: Index, like: Vector) -> None:
    """As `prefetch`, all that `load_as` would read."""


@_compiled_as(llvm_wide_vectors.splat_as)
def splat_as(scalar: float, like: Vector) -> Vector:
    """The scalar, as often as another vector has numbers, in its float type."""
    return np.full_like(like, scalar)


@_compiled_as(llvm_vectors.load_part)
def load_part(array: np.ndarray, index: Index, n: int, fill: float) -> Vector:
    """The first `n` as `load`, the rest `fill`; the memory of the rest is not read."""
    value = np.full(LANES, fill, dtype=array.dtype)
    n = max(0, min(n, LANES))
    value[:n] = array.reshape(-1)[index : index + n]
    return value


@_compiled_as(llvm_vectors.store_part)
def store_part(array: np.ndarray, index: Index, value: Vector, n: int) -> None:
    """Write the first `n` numbers."""
    array.reshape(-1)[index : index + min(n, LANES)] = value[: max(n, 0)]


@_compiled_as(llvm_vectors.prefetch)
def prefetch(array: np.ndarray, index: Index) -> None:
    """Start to fetch the memory around `index` into the caches, and do not wait for it."""


# ---- from one type to another


@_compiled_as(llvm_vectors.cast)
def cast(x: Vector, array: np.ndarray) -> Vector:
    """x in the float type of `array`."""
    return x.astype(array.dtype)


@_compiled_as(llvm_vectors.splat)
def splat(scalar: float) -> Vector:
    """Eight times the scalar, in its float type."""
    return np.full(LANES, scalar)


# ---- arithmetic, of each of eight pairs


@_compiled_as(llvm_vectors.add)
def add(x: Vector, y: Vector) -> Vector:
    return x + y


@_compiled_as(llvm_vectors.sub)
def sub(x: Vector, y: Vector) -> Vector:
    return x - y


@_compiled_as(llvm_vectors.mul)
def mul(x: Vector, y: Vector) -> Vector:
    return x * y


@_compiled_as(llvm_vectors.div)
def div(x: Vector, y: Vector) -> Vector:
    return x / y


@_compiled_as(llvm_vectors.fma)
def fma(x: Vector, y: Vector, z: Vector) -> Vector:
    """x * y + z; compiled, it is rounded once."""
    return x * y + z


@_compiled_as(llvm_exp.exp)
def exp(x: Vector) -> Vector:
    """exp(x) for x <= 0; 0 below -708 (float32: -87). Relative error < 3e-16 (2e-7)."""
    smallest = llvm_exp.SMALLEST[x.dtype.itemsize]
    return np.where(x >= smallest, np.exp(x), x.dtype.type(0))


# np.maximum would be another function: here a nan in x gives way to y


@_compiled_as(llvm_vectors.maximum)
def maximum(x: Vector, y: Vector) -> Vector:
    """The larger of each pair."""
    return np.where(x > y, x, y)


@_compiled_as(llvm_vectors.minimum)
def minimum(x: Vector, y: Vector) -> Vector:
    """The smaller of each pair."""
    return np.where(x < y, x, y)


@_compiled_as(llvm_vectors.if_larger)
def if_larger(x: Vector, y: Vector, z: Vector) -> Vector:
    """z where x is larger than y, else 0."""
    return np.where(x > y, z, z.dtype.type(0))


@_compiled_as(llvm_vectors.keep)
def keep(x: Vector, bits: Index) -> Vector:
    """x where the bit of a uint8 is set, else 0."""
    return np.where(np.unpackbits(np.uint8(bits), bitorder="little"), x, x.dtype.type(0))


# ---- from eight numbers to one


@_compiled_as(llvm_vectors.total)
def total(x: Vector) -> float:
    """The sum."""
    number: float = x.reshape(-1, LANES).sum(axis=0).sum()
    return number


@_compiled_as(llvm_vectors.largest)
def largest(x: Vector) -> float:
    """The maximum."""
    number: float = x.max()
    return number


@_compiled_as(llvm_vectors.least)
def least(x: Vector) -> float:
    """The minimum."""
    number: float = x.min()
    return number


@_compiled_as(llvm_vectors.where)
def where(x: Vector, scalar: float) -> int:
    """The first of the eight places where x equals the scalar; `LANES` if there is none."""
    return int(np.argmax(np.append(x == scalar, True)))
