"""Normal distributions, one of each state: covariances in four shapes, log-densities, draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_struct.hidden_markov.row_densities import Densities, RowDensities, factors_of

__all__ = [
    "KINDS",
    "Gaussians",
    "covariance_shape",
    "draw_numbers",
    "mixed_gaussians",
    "n_parameters",
    "no_lags",
    "of_kind",
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

    def densities(self) -> Densities:
        """Log-densities of rows in each state; that of missing numbers counts as 1."""
        tables = RowDensities(self)
        return lambda x, offsets, rows: tables.of_rows(x[rows])

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
        away = noise @ factors_of(gaussians)[0].T
    else:
        away = np.empty_like(noise)
        factors = factors_of(gaussians)
        for k in np.unique(states):
            away[states == k] = noise[states == k] @ factors[k].T
    numbers: np.ndarray = mean + away
    return numbers
