"""Normal distributions, one of each state: covariances in four shapes, log-densities, draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.row_pieces import row_pieces
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.hidden_markov.gaussian_kernels import diagonal_densities
from sklearn_struct.hidden_markov.gaussian_lanes import (
    column_densities,
    factored_densities,
    whole_vectors,
)

__all__ = [
    "KINDS",
    "Gaussians",
    "covariance_shape",
    "draw_numbers",
    "is_complete",
    "log_densities",
    "mixed_gaussians",
    "n_parameters",
    "no_lags",
    "of_kind",
    "patterns",
]

# as scikit-learn's GaussianMixture names them
KINDS = ("diag", "full", "tied", "spherical")


def covariance_shape(kind: str, K: int, d: int) -> tuple[int, ...]:
    """The shape of the covariances of K states and d columns."""
    return {"diag": (K, d), "full": (K, d, d), "tied": (d, d), "spherical": (K,)}[kind]


def no_lags(K: int, d: int) -> np.ndarray:
    """The coefficients of tokens before where there are none."""
    return np.empty((K, 0, d, d))


class Gaussians(NamedTuple):
    """Of each state a normal distribution.

    ``mean`` is (K, d). ``covariance`` has a variance of each state and column (K, d) where ``kind``
    is "diag", a matrix of each state (K, d, d) where it is "full", one of all states (d, d) where
    it is "tied", and one variance of each state (K,) where it is "spherical".
    """

    mean: np.ndarray
    covariance: np.ndarray
    kind: str = "diag"

    @property
    def variance(self) -> np.ndarray:
        """The variance of each state and column (K, d)."""
        if self.kind == "diag":
            return self.covariance
        if self.kind == "spherical":
            return np.repeat(self.covariance[:, None], self.mean.shape[1], axis=1)
        return np.diagonal(self.matrices, axis1=1, axis2=2).copy()

    @property
    def total_variance(self) -> np.ndarray:
        """The variance of each state and column (K, d), whatever its distribution is made of."""
        return self.variance

    @property
    def matrices(self) -> np.ndarray:
        """The covariance matrix of each state (K, d, d)."""
        K, d = self.mean.shape
        if self.kind == "full":
            return self.covariance
        if self.kind == "tied":
            return np.broadcast_to(self.covariance, (K, d, d))
        return self.variance[:, :, None] * np.eye(d)

    @property
    def named(self) -> dict[str, np.ndarray]:
        """The tables that users know it by."""
        return {
            "means": self.mean,
            "covariances": self.covariance,
            "mixture_logprob": np.zeros((len(self.mean), 1)),
            "autoregression": no_lags(*self.mean.shape),
        }

    @property
    def n_parameters(self) -> int:
        """How many numbers are free."""
        return n_parameters(self)

    def log_densities(self, x: np.ndarray, offsets: np.ndarray, rows: slice) -> np.ndarray:
        """Log-density of some rows of x in each state; that of missing numbers counts as 1."""
        return log_densities(x[rows], self)

    def with_states_of(self, other: Gaussians, states: np.ndarray) -> Gaussians:
        """The means of some states of another one in the place of these."""
        return self._replace(mean=np.where(states[:, None], other.mean, self.mean))

    def draw(
        self, states: np.ndarray, offsets: np.ndarray, rng: np.random.RandomState
    ) -> np.ndarray:
        """A row of numbers for each of the states (n,)."""
        return draw_numbers(self, states, rng)

    def of_columns(self, columns: np.ndarray) -> Gaussians:
        """The marginal distributions of some columns."""
        mean = self.mean[:, columns]
        if self.kind == "spherical":
            return Gaussians(mean, self.covariance, self.kind)
        if self.kind == "diag":
            return Gaussians(mean, self.covariance[:, columns], self.kind)
        rows = self.covariance[..., columns, :]
        return Gaussians(mean, rows[..., columns], self.kind)


def of_kind(gaussians: Gaussians, kind: str) -> Gaussians:
    """The same means, with covariances of another kind that are as near as it allows."""
    mean = gaussians.mean
    if kind == gaussians.kind:
        return gaussians
    of: dict[str, Callable[[], np.ndarray]] = {
        "diag": lambda: gaussians.variance,
        "full": lambda: gaussians.matrices.copy(),
        "tied": lambda: gaussians.matrices.mean(axis=0),
        # without columns there is nothing of which to take a mean
        "spherical": lambda: gaussians.variance.sum(axis=1) / max(mean.shape[1], 1),
    }
    return Gaussians(mean, of[kind](), kind)


def n_parameters(gaussians: Gaussians) -> int:
    """How many numbers are free: a symmetric matrix has those of a triangle."""
    K: int = gaussians.mean.shape[0]
    d: int = gaussians.mean.shape[1]
    triangle = d * (d + 1) // 2
    # without columns there is nothing that the one variance of a label could be of
    free: dict[str, int] = {
        "diag": K * d,
        "full": K * triangle,
        "tied": triangle,
        "spherical": K * min(d, 1),
    }
    return K * d + free[gaussians.kind]


def mixed_gaussians(share: float, a: Gaussians, b: Gaussians) -> Gaussians:
    """Parameters `share` of the way from those of b to those of a."""
    return Gaussians(
        share * a.mean + (1 - share) * b.mean,
        share * a.covariance + (1 - share) * b.covariance,
        a.kind,
    )


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


def log_densities(x: np.ndarray, gaussians: Gaussians) -> np.ndarray:
    """Log-density of each row of x in each state: (n, K). None is -inf: however far away, nothing
    is impossible.

    NaN is a number that is missing. The density is then that of the numbers that are there; of a
    row without numbers its logarithm is 0.
    """
    # without numeric columns nothing is said about any state, which is the logarithm of 1
    log_p = np.zeros((len(x), len(gaussians.mean)))
    if x.shape[1] == 0:
        return log_p
    x = np.ascontiguousarray(x, dtype=np.float64)
    if gaussians.kind in ("diag", "spherical"):
        _add_diagonal(x, gaussians, log_p)
    else:
        _add_rows(x, gaussians, log_p)
    return log_p


def _add_diagonal(x: np.ndarray, gaussians: Gaussians, log_p: np.ndarray) -> None:
    mean = _columns_first(gaussians.mean)
    variance = _columns_first(gaussians.variance)
    # a deviation divides before it is squared, as reciprocal variances may be infinite
    scale = 1 / np.sqrt(variance)
    constant = -0.5 * np.log(2 * np.pi * variance)
    if is_complete(x):
        _write_columns(x, mean, scale, constant.sum(axis=0), log_p)
    else:
        diagonal_densities(x, mean, scale, constant, log_p)


def _add_rows(x: np.ndarray, gaussians: Gaussians, log_p: np.ndarray) -> None:
    """The densities of rows that have all numbers, and of each pattern those of its columns."""
    if is_complete(x):
        _add_complete(x, gaussians, log_p)
        return
    missing = np.isnan(x).any(axis=1)
    parts = [(np.flatnonzero(~missing), np.ones(x.shape[1], dtype=bool)), *patterns(x)]
    for rows, columns in parts:
        part = np.zeros((len(rows), log_p.shape[1]))
        _add_complete(
            np.ascontiguousarray(x[rows][:, columns]), gaussians.of_columns(columns), part
        )
        log_p[rows] = part


def _add_complete(x: np.ndarray, gaussians: Gaussians, log_p: np.ndarray) -> None:
    K, d = gaussians.mean.shape
    inverse = _inverses(_factors(gaussians))
    # the determinant of a triangle is the product of its diagonal
    constant = np.log(np.diagonal(inverse, axis1=1, axis2=2)).sum(axis=1)
    constant -= 0.5 * d * np.log(2 * np.pi)
    if gaussians.kind == "full":
        mean = np.ascontiguousarray(gaussians.mean, dtype=np.float64)
        rows, columns = np.tril_indices(d)
        factor = np.ascontiguousarray(inverse[:, rows, columns])
        factored_densities(x, mean, factor, constant, log_p)
        return
    # With one matrix, columns can be made independent once for all states. Distances from a centre
    # are small where the numbers are not.
    centre = gaussians.mean.mean(axis=0)
    mean = inverse[0] @ (gaussians.mean - centre).T
    tables = mean, np.ones((d, K)), np.repeat(constant, K)
    for piece in row_pieces(x, 4):
        # without a name, so that no piece outlives its turn
        _write_columns((x[piece] - centre) @ inverse[0].T, *tables, log_p[piece])


def _write_columns(
    x: np.ndarray, mean: np.ndarray, scale: np.ndarray, constant: np.ndarray, log_p: np.ndarray
) -> None:
    """Log-densities of independent columns, with tables (d, K) and constants (K,)."""
    column_densities(x, whole_vectors(mean), whole_vectors(scale), whole_vectors(constant), log_p)


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


def _factors(gaussians: Gaussians) -> np.ndarray:
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


def draw_numbers(
    gaussians: Gaussians, states: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """A row of numbers for each of the states (n,)."""
    mean = gaussians.mean[states]
    noise = rng.normal(size=mean.shape)
    away: np.ndarray
    if gaussians.kind in ("diag", "spherical") or mean.shape[1] == 0:
        away = np.sqrt(gaussians.variance[states]) * noise
    elif gaussians.kind == "tied":
        away = noise @ _factors(gaussians)[0].T
    else:
        away = np.empty_like(noise)
        factors = _factors(gaussians)
        for k in np.unique(states):
            away[states == k] = noise[states == k] @ factors[k].T
    numbers: np.ndarray = mean + away
    return numbers
