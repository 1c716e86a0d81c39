"""Sparse matrices of others as CSR arrays that kernels may read: no index leads out of its array.

scipy and scikit-learn trust the indices of a matrix, and so do kernels. Whoever changes them in
place can write any number there, and a read or write out of bounds ends the process. scipy's own
`check_format` copies, changes its matrix, and does not look at bounds of rows that return to 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_struct.exceptions import InputTypeError

__all__ = ["as_csr", "check_csr"]

LARGEST = np.iinfo(np.int32).max  # kernels number columns by int32


def as_csr(matrix: sp.sparray | sp.spmatrix, name: str = "X") -> sp.csr_array:
    """A scipy sparse matrix of any format as a csr_array, in shared memory where it is in
    compressed rows.

    The time is linear in what is stored. Duplicates and unsorted columns are allowed.

    Raises
    ------
    ValueError
        If the matrix is damaged, with the row and the column; if it has not two dimensions, or too
        many columns.
    InputTypeError
        If its values are no numbers that scipy can work with.
    """
    _check_dtype(matrix, name)
    if matrix.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, got a {type(matrix).__name__} of {matrix.ndim}"
        )
    if matrix.shape[1] > LARGEST:
        raise ValueError(f"{name} has {matrix.shape[1]} columns; at most {LARGEST} can be numbered")
    try:
        # before scipy converts: its compiled code trusts indices, too
        if matrix.format in ("csr", "csc", "bsr"):
            _check_compressed(matrix)
        else:
            matrix = _as_coo(matrix)
            _check_places(matrix, matrix.row, matrix.col)
    except _DamagedError as error:
        raise _named(error, matrix, name) from None
    return _without_room(sp.csr_array(matrix))


def check_csr(matrix: sp.csr_array, name: str = "X") -> None:
    """Raise if a matrix is no longer as `as_csr` gave it: its arrays may have been written to."""
    _check_dtype(matrix, name)
    try:
        if matrix.format != "csr" or matrix.indptr[-1] != len(matrix.indices):
            raise _DamagedError(f"of format {matrix.format}, its rows do not end with its indices")
        _check_compressed(matrix)
    except _DamagedError as error:
        raise _named(error, matrix, name) from None


def _check_dtype(matrix: sp.sparray | sp.spmatrix, name: str) -> None:
    """scipy makes no such matrix, but takes any array for the values of one, and fails later in its
    compiled code.
    """
    dtype = np.dtype(matrix.dtype)
    if dtype.kind not in "biufc" or dtype == np.float16:
        kind = type(matrix).__name__
        raise InputTypeError(
            f"{name} is a {kind} of dtype {dtype}, of which scipy has no sparse matrices; make it "
            "one of numbers, as "
            "by .astype(float)"
        )


class _DamagedError(Exception):
    """What is wrong with a matrix."""


def _named(error: _DamagedError, matrix: sp.sparray | sp.spmatrix, name: str) -> ValueError:
    kind = type(matrix).__name__
    return ValueError(
        f"{name} is a damaged {kind}: {error}; make it anew from coordinates or a dense array"
    )


def _check_compressed(matrix: sp.sparray | sp.spmatrix) -> None:
    """Raise unless bounds and indices stay in their arrays and in the shape."""
    indptr = matrix.indptr
    indices = matrix.indices
    data = matrix.data
    n_dimensions = indptr.ndim, indices.ndim, data.ndim
    if n_dimensions != (1, 1, 3 if matrix.format == "bsr" else 1):
        raise _DamagedError(
            "indptr, indices and data have {}, {} and {} dimensions".format(*n_dimensions)
        )
    if len(indices) != len(data):
        raise _DamagedError(f"it has {len(indices)} indices for {len(data)} values")
    _check_whole(indptr, indices)
    n_rows, n_columns = matrix.shape
    line = "row"
    if matrix.format == "csc":
        n_rows, n_columns = n_columns, n_rows
        line = "column"
    if matrix.format == "bsr":
        height, width = data.shape[1:]
        if not height or not width or n_rows % height or n_columns % width:
            raise _DamagedError(
                f"blocks of shape {(height, width)} do not fill the shape {matrix.shape}"
            )
        n_rows = n_rows // height
        n_columns = n_columns // width
        line = "row of blocks"
    _check_bounds(indptr, len(indices), n_rows, line)
    # scipy allows room behind the last value
    used = indices[: indptr[-1]]
    if len(used) and _largest(used) >= n_columns:
        place = int(np.argmax((used < 0) | (used >= n_columns)))
        row = int(np.searchsorted(indptr, place, side="right")) - 1
        raise _DamagedError(
            f"{line} {row} has the index {used[place]}, of {n_columns} that there are"
        )


def _check_bounds(indptr: np.ndarray, n_values: int, n_rows: int, line: str) -> None:
    if len(indptr) != n_rows + 1:
        raise _DamagedError(f"indptr has {len(indptr)} bounds for {n_rows} {line}s")
    falls = indptr[1:] < indptr[:-1]
    # `any` and `max` go through Python, and take longer than a short sentence's numbers
    if np.count_nonzero(falls):
        raise _DamagedError(f"{line} {np.argmax(falls)} ends before it begins")
    if indptr[0] != 0 or indptr[-1] > n_values:
        raise _DamagedError(f"indptr goes from {indptr[0]} to {indptr[-1]}, of {n_values} values")


def _as_coo(matrix: sp.sparray | sp.spmatrix) -> Any:
    """Coordinates; those of diagonals, and of lists, without scipy's compiled code, which trusts
    them.
    """
    if matrix.format == "dia":
        return _of_diagonals(matrix)
    if matrix.format == "lil" and [*map(len, matrix.rows)] != [*map(len, matrix.data)]:
        raise _DamagedError("a row has other numbers of indices and values")
    try:
        return matrix.tocoo()
    except (ValueError, TypeError, IndexError) as error:
        raise _DamagedError(str(error)) from error


def _of_diagonals(matrix: sp.sparray | sp.spmatrix) -> sp.coo_array:
    """Value j of a diagonal stands in column j, and in row j less the diagonal's offset."""
    (n_rows, n_columns) = matrix.shape
    offsets = matrix.offsets
    data = matrix.data
    _check_whole(offsets)
    if data.ndim != 2 or offsets.shape != (len(data),):
        raise _DamagedError(f"it has {offsets.size} offsets for {len(data)} diagonals")
    rows = [np.arange(0)]
    columns = [np.arange(0)]
    values = [np.empty(0, data.dtype)]
    for offset, diagonal in zip(offsets.tolist(), data):
        # scipy keeps a value of a diagonal in its column, whatever the offset
        stored = slice(max(offset, 0), max(min(n_columns, n_rows + offset, data.shape[1]), 0))
        column = np.arange(stored.start, stored.stop)
        rows.append(column - offset)
        columns.append(column)
        values.append(diagonal[stored])
    where = np.concatenate(rows), np.concatenate(columns)
    return sp.coo_array((np.concatenate(values), where), shape=matrix.shape)


def _check_places(matrix: sp.sparray | sp.spmatrix, row: np.ndarray, column: np.ndarray) -> None:
    """Raise unless coordinates stay in the shape."""
    if not row.ndim == column.ndim == matrix.data.ndim == 1 or not len(row) == len(column) == len(
        matrix.data
    ):
        raise _DamagedError(
            f"it has {row.size} rows and {column.size} columns for {matrix.data.size} values"
        )
    _check_whole(row, column)
    for number, n, line in zip((row, column), matrix.shape, ("row", "column")):
        if len(number) and _largest(number) >= n:
            place = int(np.argmax((number < 0) | (number >= n)))
            raise _DamagedError(
                f"value {place} stands in {line} {number[place]}, of {n} that there are"
            )


def _check_whole(*arrays: np.ndarray) -> None:
    for array in arrays:
        if array.dtype.kind != "i":
            raise _DamagedError(f"its indices are of dtype {array.dtype}")


def _largest(numbers: np.ndarray) -> Any:
    """The largest number, where negative ones count as very large: one pass instead of two."""
    if numbers.itemsize < 4:
        # as unsigned ones of their size, negative ones would be columns that there may be
        numbers = numbers.astype(np.int32)
    # negative numbers are the largest ones as unsigned: one pass finds both kinds of error
    return np.maximum.reduce(numbers.view(numbers.dtype.str.replace("i", "u")))


def _without_room(matrix: sp.csr_array) -> sp.csr_array:
    """The matrix without what its arrays hold behind the last row."""
    n = matrix.indptr[-1]
    if n == len(matrix.indices):
        return matrix
    return sp.csr_array((matrix.data[:n], matrix.indices[:n], matrix.indptr), shape=matrix.shape)
