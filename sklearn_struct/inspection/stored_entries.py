"""Values and weights as lists of single numbers, of which explanations are made."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.typing import Matrix

__all__ = ["ahead", "entries", "stored"]


def stored(matrix: Matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, column and value (float64) of each value that is stored or, in a dense matrix, not 0."""
    rows = sp.csr_array(matrix)
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return row, rows.indices, rows.data.astype(np.float64)


def entries(matrix: Matrix, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """matrix[rows[i], columns[i]] for each i."""
    if len(rows) == 0:
        return np.zeros(0)
    if isinstance(matrix, np.ndarray):
        entries: np.ndarray = matrix[rows, columns]
        return entries
    return np.asarray(sp.csr_matrix(matrix)[rows, columns]).ravel()


def ahead(weight: np.ndarray, of_rival: np.ndarray) -> np.ndarray:
    """Differences; 0 where both are -inf."""
    ahead = np.zeros_like(weight)
    # equal ones may both be -inf, whose difference would be nan
    np.subtract(weight, of_rival, out=ahead, where=weight != of_rival)
    return ahead
