"""Sparse matrices with one thing wrong, and a twin that looks at each stored value to tell whether
one is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]
# most of them lead out of a matrix of 6 rows and columns
NUMBERS = [-1, -(2**31), 2**31 - 1, 10**6, 5, 6, 7]


def matrix(rng: np.random.Generator, format: str = "csr") -> Any:
    """A sound one, of 6 rows and columns."""
    dense = rng.normal(size=(6, 6)) * (rng.random((6, 6)) < 0.5)
    if format == "bsr":
        return sp.bsr_array(dense, blocksize=(2, 3))
    return getattr(sp, f"{format}_{rng.choice(['array', 'matrix'])}")(dense)


def damaged(rng: np.random.Generator, format: str | None = None) -> Any:
    """A matrix that was written to; it may still be a sound one by chance."""
    A = matrix(rng, format or str(rng.choice(FORMATS)))
    {"csr": _compressed, "csc": _compressed, "bsr": _compressed, "coo": _coordinates}.get(
        A.format, _other
    )(A, rng)
    return A


def _compressed(A: Any, rng: np.random.Generator) -> None:
    way = rng.integers(8)
    number = NUMBERS[rng.integers(len(NUMBERS))]
    name = ["indices", "indptr", "data"][rng.integers(3)]
    if way < 2 and len(A.indices):
        A.indices[rng.integers(len(A.indices))] = number
    elif way < 4:
        A.indptr[rng.integers(len(A.indptr))] = number
    elif way == 4:
        setattr(A, name, getattr(A, name)[:-1].copy())
    elif way == 5:
        setattr(A, name, np.concatenate([getattr(A, name), getattr(A, name)[:2]]))
    elif way == 6:
        A.indices = A.indices.astype([np.float64, np.int64, np.uint32, ">i4"][rng.integers(4)])
    else:
        A.indptr[-1] = 0


def _coordinates(A: Any, rng: np.random.Generator) -> None:
    way = rng.integers(4)
    name = ["row", "col", "data"][rng.integers(3)]
    if way < 2 and A.nnz:
        getattr(A, ["row", "col"][way])[rng.integers(A.nnz)] = NUMBERS[rng.integers(len(NUMBERS))]
    elif way == 2:
        A.data = A.data[:-1]
    elif name == "data":
        A.data = A.data.reshape(-1, 1)
    else:
        setattr(A, name, getattr(A, name).astype(np.float64))


def _other(A: Any, rng: np.random.Generator) -> None:
    number = NUMBERS[rng.integers(len(NUMBERS))]
    if A.format == "lil":
        row = rng.integers(6)
        if rng.integers(2):
            A.rows[row] = [*A.rows[row], number]
        if rng.integers(2):
            A.data[row] = [*A.data[row], 1.0]
    elif A.format == "dok":
        A._dict[(number, 0) if rng.integers(2) else (0, number)] = 1.0
    elif rng.integers(2):
        A.offsets[rng.integers(len(A.offsets))] = number  # a diagonal outside is one of nothing
    else:
        A.offsets = np.append(A.offsets, 3) if rng.integers(2) else A.offsets.astype(np.float64)


def dense(A: Any) -> np.ndarray | None:
    """What a matrix of any format but those of Python objects holds, value by value; None if it is
    damaged.
    """
    if A.format == "coo":
        parts = A.row, A.col, A.data
        if (
            len({array.shape for array in parts}) > 1
            or A.data.ndim != 1
            or any(a.dtype.kind == "f" for a in parts[:2])
        ):
            return None
        stored = zip(*(part.tolist() for part in parts))
        return _sum(A.shape, stored)
    if len(A.indices) != len(A.data) or A.indices.dtype.kind != "i":
        return None
    block = A.data.shape[1:] if A.format == "bsr" else (1, 1)
    n_lines = A.shape[A.format == "csc"] // block[0]
    bounds = A.indptr.tolist()
    if (
        len(bounds) != n_lines + 1
        or bounds[0] != 0
        or bounds != sorted(bounds)
        or bounds[-1] > len(A.indices)
    ):
        return None
    stored = []
    for line in range(n_lines):
        for p in range(bounds[line], bounds[line + 1]):
            place = (line * block[0], int(A.indices[p]) * block[1])
            for (i, j), value in np.ndenumerate(np.reshape(A.data[p], block)):
                row = place[0] + i
                column = place[1] + j
                stored.append((column, row, value) if A.format == "csc" else (row, column, value))
    return _sum(A.shape, stored)


def _sum(shape: tuple[int, int], stored: Any) -> np.ndarray | None:
    found = np.zeros(shape)
    for row, column, value in stored:
        if not (0 <= row < shape[0] and 0 <= column < shape[1]):
            return None
        found[row, column] += value
    return found
