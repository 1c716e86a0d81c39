"""A sparse matrix F of rows: scores F w, the transpose, and dual steps along single rows."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import Pool, even_parts
from sklearn_struct.containers.csr import CSR, csr
from sklearn_struct.losses.losses_of_rows import exponential_factor

__all__ = ["Dual", "SparseRows"]


class Dual(NamedTuple):
    """Of each row a positive factor, and by how much w . row grows when the factor grows by 1."""

    factors: np.ndarray
    growth: np.ndarray


class SparseRows:
    """F sparse, kept by rows and by columns: products have the same bits on any number of threads.

    Parameters
    ----------
    F : sparse matrix of shape (n_rows, size)
    """

    def __init__(self, F: sp.sparray) -> None:
        self.n_rows: int = F.shape[0]
        self.size: int = F.shape[1]
        self._by_row = csr(F, np.dtype(float))
        # kept both ways, so that either product writes each number once, without buffers of threads
        self._by_column = csr(F.T, np.dtype(float))
        self._parts = [even_parts(matrix.indptr) for matrix in (self._by_row, self._by_column)]

    def forward(self, pool: Pool, w: np.ndarray) -> np.ndarray:
        """``F @ w``."""
        return self._product(pool, 0, w, np.empty(self.n_rows))

    def transpose(self, pool: Pool, r: np.ndarray) -> np.ndarray:
        """``F.T @ r``."""
        return self._product(pool, 1, r, np.empty(self.size))

    @cached_property
    def squares(self) -> np.ndarray:
        """The sum of squares of each row."""
        indptr, _, data = self._by_row
        # reduceat gives a row without numbers the next row's first; the product makes it 0
        return np.add.reduceat(np.append(data**2, 0.0), indptr[:-1]) * (np.diff(indptr) > 0)

    @property
    def n_stored(self) -> int:
        """How many numbers F has."""
        return len(self._by_row.indices)

    def ascend(
        self,
        order: np.ndarray,
        log_weight: np.ndarray,
        scales: np.ndarray,
        w: np.ndarray,
        dual: Dual,
    ) -> None:
        """Give one row after the other its best factor while the others keep theirs; update w."""
        _ascend(self._by_row, order, log_weight, scales, w, dual)

    def _product(self, pool: Pool, turn: int, vector: np.ndarray, out: np.ndarray) -> np.ndarray:
        indptr, indices, data = (self._by_row, self._by_column)[turn]
        bounds = self._parts[turn]
        pool.map(lambda c: _product(indptr, indices, data, vector, bounds[c], out), len(bounds))
        return out


@kernel
def _product(
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
    vector: np.ndarray,
    bounds: np.ndarray,
    out: np.ndarray,
) -> None:
    for r in range(bounds[0], bounds[1]):
        total = 0.0
        for p in range(indptr[r], indptr[r + 1]):
            total += data[p] * vector[indices[p]]
        out[r] = total


@kernel
def _ascend(
    rows: CSR,
    order: np.ndarray,
    log_weight: np.ndarray,
    scales: np.ndarray,
    w: np.ndarray,
    dual: Dual,
) -> None:
    """Keep w = scales * (F' factors - linear) while factors change.

    `scales` holds one number for the entries of w, and one for the last of them.
    """
    indptr, indices, data = rows
    factors = dual.factors
    growth = dual.growth
    last = len(w) - 1
    for r in order:
        score = 0.0
        for p in range(indptr[r], indptr[r + 1]):
            score += data[p] * w[indices[p]]
        # the row's own factor is taken out of its score first, as the equation is for the new one
        factor = exponential_factor(log_weight[r] - score + growth[r] * factors[r], growth[r])
        step = factor - factors[r]
        factors[r] = factor
        # the last entry has another scale, whether or not the row has a number there
        before = w[last]
        for p in range(indptr[r], indptr[r + 1]):
            w[indices[p]] += scales[0] * step * data[p]
        # the loop has stepped it by the scale of the others
        w[last] = before + scales[1] / scales[0] * (w[last] - before)
