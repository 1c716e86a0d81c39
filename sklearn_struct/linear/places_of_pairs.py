"""Where weights of pairs (feature, code) stand in a compact vector."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.csr import CSR

__all__ = ["places"]


def places(X: CSR, codes: np.ndarray, pairs: CSR) -> np.ndarray:
    """For each stored value of X, the place of its feature with the code of its row among `pairs`.

    It is -1 where there is no such pair.
    """
    where = np.empty(len(X.indices), dtype=np.int64)
    _find(X.indptr, X.indices, np.asarray(codes, np.int64), pairs, where)
    return where


@kernel
def _find(
    indptr: np.ndarray, indices: np.ndarray, codes: np.ndarray, pairs: CSR, where: np.ndarray
) -> None:
    """By bisection among the codes of each feature, which ascend."""
    bounds = pairs.indptr
    columns = pairs.indices
    for t in range(len(codes)):
        for p in range(indptr[t], indptr[t + 1]):
            low = bounds[indices[p]]
            high = bounds[indices[p] + 1]
            # bisection moves `high`; whether anything was there at all is asked of the end that it
            # had
            end = high
            # a binary search: columns of a feature are in order
            while low < high:
                middle = (low + high) // 2
                if columns[middle] < codes[t]:
                    low = middle + 1
                else:
                    high = middle
            where[p] = low if low < end and columns[low] == codes[t] else -1
