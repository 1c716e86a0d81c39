"""Compressed sparse rows, as kernels receive them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.kernel_arrays import for_kernels
from sklearn_struct.containers.repeated_ones import are_ones

__all__ = ["CSR", "as_matrix", "csr"]


class CSR(NamedTuple):
    """Compressed rows: row r holds ``indices[indptr[r]:indptr[r + 1]]`` (int64 indptr, int32
    indices).

    Where `csr` was told that they may be, `data` are a single 1 for all values.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


def csr(matrix: Any, dtype: Any = None, canonical: bool = True, single: bool = False) -> CSR:
    """The CSR of a scipy sparse matrix in the index types of kernels; sorted and without duplicates
    if `canonical`. Values that are a single 1 in memory stay so if `single`.

    In the memory of the matrix, as far as its types are these. Nobody writes to it.
    """
    if not sp.issparse(matrix) or matrix.format != "csr":
        matrix = sp.csr_array(matrix)
    if canonical and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    data = matrix.data
    if single and are_ones(data):
        data = np.ones(1, data.dtype)
    return CSR(
        for_kernels(matrix.indptr, np.int64),
        for_kernels(matrix.indices, np.int32),
        for_kernels(data, dtype or matrix.dtype),
    )


def as_matrix(table: CSR, n_columns: int) -> sp.csr_array:
    """The scipy matrix of a CSR, which may be some rows of another one."""
    first = table.indptr[0]
    stored = slice(first, table.indptr[-1])
    return sp.csr_array(
        (table.data[stored], table.indices[stored], table.indptr - first),
        shape=(len(table.indptr) - 1, n_columns),
    )
