"""Log-densities of rows of numbers in normal distributions, one of each state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.containers.row_pieces import row_pieces
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.hidden_markov.gaussian_kernels import diagonal_densities
from sklearn_struct.hidden_markov.gaussian_lanes import (
    column_densities,
    factored_densities,
    whole_vectors,
)

__all__ = ["Densities", "RowDensities", "factors_of", "is_complete", "patterns"]

# of numbers (n, d) of sequences with these bounds, and some of their rows: log-densities (m, K)
Densities: TypeAlias = Callable[[np.ndarray, np.ndarray, slice], np.ndarray]


class _WideTables(NamedTuple):
    """Tables as kernels read them that do states side by side: whole vectors of these."""

    mean: np.ndarray
    scale: np.ndarray
    constant: np.ndarray

    @classmethod
    def of(cls, mean: np.ndarray, scale: np.ndarray, constant: np.ndarray) -> _WideTables:
        """Those of tables (d, K), (d, K) and (K,)."""
        return cls(whole_vectors(mean), whole_vectors(scale), whole_vectors(constant))


class RowDensities:
    """Log-densities of rows in each state, for which tables are made once.

    None is -inf: however far away, nothing is impossible. NaN is a number that is missing. The
    density is then that of the numbers that are there; of a row without numbers its logarithm is 0.

    Parameters
    ----------
    gaussians : Gaussians
    """

    def __init__(self, gaussians: Any) -> None:
        self.gaussians = gaussians
        self.shape = gaussians.mean.shape
        # a single column is, whatever its variance is called
        self.is_independent = gaussians.kind in ("diag", "spherical") or self.shape[1] == 1
        if self.shape[1] == 0:
            return
        if self.is_independent:
            self._find_columns()
        else:
            self._find_factors()

    def of_rows(self, x: np.ndarray) -> np.ndarray:
        """Those of rows (n, d): (n, K)."""
        K, d = self.shape
        if d == 0:
            # nothing is said about any state, which is the logarithm of 1
            return np.zeros((len(x), K))
        x = np.ascontiguousarray(x, dtype=np.float64)
        if is_complete(x):
            return self._of_complete(x)
        return self._of_columns(x) if self.is_independent else self._of_patterns(x)

    def _find_columns(self) -> None:
        """Means, reciprocal deviations and constants of independent columns."""
        variance = _columns_first(self.gaussians.variance)
        self.mean = _columns_first(self.gaussians.mean)
        # a deviation divides before it is squared, as reciprocal variances may be infinite
        self.scale = 1 / np.sqrt(variance)
        self.constant = -0.5 * np.log(2 * np.pi * variance)
        self.wide = _WideTables.of(self.mean, self.scale, self.constant.sum(axis=0))

    def _find_factors(self) -> None:
        """Inverses of Cholesky factors, and constants, of matrices."""
        mean = self.gaussians.mean
        K, d = self.shape
        inverse = _inverses(factors_of(self.gaussians))
        # the determinant of a triangle is the product of its diagonal
        constant = np.log(np.diagonal(inverse, axis1=1, axis2=2)).sum(axis=1)
        self.constant = constant - 0.5 * d * np.log(2 * np.pi)
        if self.gaussians.kind == "full":
            rows, columns = np.tril_indices(d)
            self.mean = np.ascontiguousarray(mean, dtype=np.float64)
            self.factor = np.ascontiguousarray(inverse[:, rows, columns])
            return
        # With one matrix, columns can be made independent once for all states. Distances from a
        # centre are small where the numbers are not.
        self.centre = mean.mean(axis=0)
        self.turn = inverse[0].T
        turned = inverse[0] @ (mean - self.centre).T
        self.wide = _WideTables.of(turned, np.ones((d, K)), np.repeat(self.constant, K))

    def _of_complete(self, x: np.ndarray) -> np.ndarray:
        """Of rows of which no number is missing."""
        log_p = np.zeros((len(x), self.shape[0]))
        if self.is_independent:
            column_densities(x, *self.wide, log_p)
        elif self.gaussians.kind == "full":
            factored_densities(x, self.mean, self.factor, self.constant, log_p)
        else:
            for piece in row_pieces(x, 4):
                # without a name, so that no piece outlives its turn
                column_densities((x[piece] - self.centre) @ self.turn, *self.wide, log_p[piece])
        return log_p

    def _of_columns(self, x: np.ndarray) -> np.ndarray:
        """Of independent columns, of which some numbers are missing."""
        log_p = np.zeros((len(x), self.shape[0]))
        diagonal_densities(x, self.mean, self.scale, self.constant, log_p)
        return log_p

    def _of_patterns(self, x: np.ndarray) -> np.ndarray:
        """Of rows that have all numbers, and of each pattern of missing ones."""
        log_p = np.zeros((len(x), self.shape[0]))
        whole = np.flatnonzero(~np.isnan(x).any(axis=1))
        log_p[whole] = self._of_complete(x[whole])
        for rows, columns in patterns(x):
            part = RowDensities(self.gaussians.of_columns(columns))
            log_p[rows] = part.of_rows(x[rows][:, columns])
        return log_p


def patterns(x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows of which some numbers are missing and others are not: for each set of missing columns
    the rows, and which columns are there.
    """
    there = ~np.isnan(x)
    partly = np.flatnonzero(there.any(axis=1) & ~there.all(axis=1))
    if not len(partly):
        return []
    sets, of_row = np.unique(there[partly], axis=0, return_inverse=True)
    order = np.argsort(of_row, kind="stable")
    cuts = np.cumsum(np.bincount(of_row.ravel(), minlength=len(sets)))[:-1]
    return list(zip(np.split(partly[order], cuts), sets, strict=True))


def is_complete(x: np.ndarray) -> bool:
    """Whether no number is missing, so that kernels of `gaussian_lanes` can be called."""
    # a minimum with NaN is NaN, and takes no table of its size
    return not (x.size and np.isnan(x.min()))


def _columns_first(table: np.ndarray) -> np.ndarray:
    """(K, d) as (d, K), in the order of memory that kernels read."""
    return np.ascontiguousarray(table.T, dtype=np.float64)


def _inverses(factors: np.ndarray) -> np.ndarray:
    """The inverses of lower triangles (K, d, d), row by row of all at once."""
    inverses = np.zeros_like(factors)
    for r in range(factors.shape[1]):
        above = inverses[:, :r, :r]
        inverses[:, r, r] = 1 / factors[:, r, r]
        known = (factors[:, r, None, :r] @ above)[:, 0]
        inverses[:, r, :r] = -known * inverses[:, r, r, None]
    return inverses


def factors_of(gaussians: Any) -> np.ndarray:
    """Cholesky factors of the covariances, (K, d, d), or (1, d, d) where they are tied."""
    matrices = gaussians.covariance if gaussians.kind == "full" else gaussians.covariance[None]
    try:
        factors: np.ndarray = np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError as error:
        raise NonFiniteError(
            "a covariance matrix is singular in the precision of numbers, as columns of X depend "
            "on each other: remove one of these columns, or raise `min_variance`"
        ) from error
    return factors
