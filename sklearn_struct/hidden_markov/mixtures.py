"""Mixtures of normal distributions, one mixture of each state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklearn_struct.hidden_markov.base_number_steps import NumberSteps
from sklearn_struct.hidden_markov.densities import log_ratios
from sklearn_struct.hidden_markov.gaussian_moments import (
    guessed,
    moments_of_all,
    most_probable,
    raised,
)
from sklearn_struct.hidden_markov.gaussians import (
    Gaussians,
    draw_numbers,
    no_lags,
    of_kind,
)
from sklearn_struct.hidden_markov.gaussians import n_parameters as of_components
from sklearn_struct.hidden_markov.markov_draws import choose
from sklearn_struct.hidden_markov.mixture_kernels import components_shares, components_sums
from sklearn_struct.hidden_markov.moments import Moments, known_posteriors, moments_of
from sklearn_struct.hidden_markov.random_gaussians import random_gaussians
from sklearn_struct.hidden_markov.row_densities import Densities, RowDensities

__all__ = ["MixtureSteps", "Mixtures", "mixture_shape"]

SURE = 0.9  # how sure a cluster is of its component, where EM starts


def mixture_shape(kind: str, K: int, M: int, d: int) -> tuple[int, ...]:
    """The shape of the covariances of M components of each of K states."""
    return {"diag": (K, M, d), "full": (K, M, d, d), "tied": (K, d, d), "spherical": (K, M)}[kind]


class Mixtures(NamedTuple):
    """Of each state a mixture: log-weights (K, M), and all K * M normal distributions.

    Where ``kind`` is "tied", the components of a state have the same matrix, and ``components`` are
    of the kind "full".
    """

    log_weight: np.ndarray
    components: Gaussians
    kind: str = "diag"

    @property
    def mean(self) -> np.ndarray:
        """The mean of each state (K, d)."""
        K, M = self.log_weight.shape
        means = self.components.mean.reshape(K, M, -1)
        mean: np.ndarray = (np.exp(self.log_weight)[:, :, None] * means).sum(axis=1)
        return mean

    @property
    def variance(self) -> np.ndarray:
        """The variance of each component and column (K, M, d)."""
        variance: np.ndarray = self.components.variance.reshape(*self.log_weight.shape, -1)
        return variance

    @property
    def total_variance(self) -> np.ndarray:
        """The variance of each state and column (K, d): within components, and of their means."""
        weight = np.exp(self.log_weight)[:, :, None]
        means = self.components.mean.reshape(*self.log_weight.shape, -1)
        away = means - self.mean[:, None]
        total: np.ndarray = (weight * (self.variance + away**2)).sum(axis=1)
        return total

    @property
    def named(self) -> dict[str, np.ndarray]:
        """The tables that users know it by."""
        K, M = self.log_weight.shape
        d = self.components.mean.shape[1]
        covariance = self.components.covariance
        if self.kind == "tied":
            covariance = covariance.reshape(K, M, d, d)[:, 0].copy()
        return {
            "means": self.components.mean.reshape(K, M, d),
            "covariances": covariance.reshape(mixture_shape(self.kind, K, M, d)),
            "mixture_logprob": self.log_weight,
            "autoregression": no_lags(K, d),
        }

    @property
    def n_parameters(self) -> int:
        """How many numbers are free."""
        K, M = self.log_weight.shape
        free: int = of_components(self.components) + K * (M - 1)
        if self.kind == "tied":
            d = self.components.mean.shape[1]
            free -= K * (M - 1) * d * (d + 1) // 2
        return free

    def densities(self) -> Densities:
        """Log-densities of rows in each state; that of missing numbers counts as 1."""
        tables = RowDensities(self.components)

        def of_rows(x: np.ndarray, offsets: np.ndarray, rows: slice) -> np.ndarray:
            out = np.empty((len(x[rows]), len(self.log_weight)))
            components_sums(self._weighted(tables, x[rows]), out)
            return out

        return of_rows

    def weighted(self, x: np.ndarray) -> np.ndarray:
        """Logarithms of weights times densities of the components, (n, K * M)."""
        return self._weighted(RowDensities(self.components), x)

    def _weighted(self, tables: RowDensities, x: np.ndarray) -> np.ndarray:
        log_p = tables.of_rows(x)
        log_p += self.log_weight.ravel()
        return log_p

    def with_states_of(self, other: Mixtures, states: np.ndarray) -> Mixtures:
        """The means and weights of some states of another one in the place of these."""
        M = self.log_weight.shape[1]
        mean = self.components.mean.copy()
        mean[np.repeat(states, M)] = other.components.mean[np.repeat(states, M)]
        weight = np.where(states[:, None], other.log_weight, self.log_weight)
        return Mixtures(weight, self.components._replace(mean=mean), self.kind)

    def draw(
        self, states: np.ndarray, offsets: np.ndarray, rng: np.random.RandomState
    ) -> np.ndarray:
        """A row of numbers for each of the states (n,)."""
        M = self.log_weight.shape[1]
        component = choose(np.exp(self.log_weight), states, rng)
        return draw_numbers(self.components, states * M + component, rng)


class MixtureCounts(NamedTuple):
    """Expected counts (K * M,) of components, and the moments of their rows."""

    mass: np.ndarray
    moments: Moments

    def merged(self, other: MixtureCounts) -> MixtureCounts:
        """Those of the rows of both."""
        return MixtureCounts(self.mass + other.mass, self.moments.merged(other.moments))


@dataclass(frozen=True)
class MixtureSteps(NumberSteps):
    """How mixtures of M components are learned; `clusters` cuts rows (with weights) into so many
    clusters.
    """

    M: int
    clusters: Callable[[np.ndarray, np.ndarray, int, np.random.RandomState], np.ndarray]

    def is_hidden(self, x: np.ndarray) -> bool:
        """Nobody knows the components, whatever labels are known."""
        return True

    def counts(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        rows: slice,
        posterior: np.ndarray,
        before: Mixtures,
    ) -> MixtureCounts:
        """Masses and moments of the components, of which those of a state share its posterior."""
        some = x[rows]
        shares = before.weighted(some)
        components_shares(shares, np.ascontiguousarray(posterior, dtype=np.float64))
        return self._counts_of(some, shares, before.components)

    def of_all(self, x: np.ndarray, offsets: np.ndarray, weight: np.ndarray) -> Moments:
        """Moments of all weighted rows, as of one component."""
        return moments_of_all(x, weight, self.floor, self._of_components)

    def fit(self, counts: MixtureCounts, spare: Callable[[], Moments]) -> Mixtures:
        """The most probable mixtures, given counts of the components."""
        mass, moments = counts
        log_weight = log_ratios(mass.reshape(-1, self.M))
        if self.kind != "tied":
            components = most_probable(moments, self.floor, self.kind, spare)
            return Mixtures(log_weight, components, self.kind)
        d = len(self.floor)
        # no floor yet: what is raised is the matrix that a state's components share
        apart = most_probable(moments, np.zeros(d), "full", spare)
        K = len(log_weight)
        # components without mass have no part in it; those of a state without mass are all alike
        part = np.exp(log_weight)[:, :, None, None]
        scatter = apart.covariance.reshape(K, self.M, d, d)
        matrix = raised((part * scatter).sum(axis=1), self.floor)
        components = Gaussians(apart.mean, np.repeat(matrix, self.M, axis=0), "full")
        return Mixtures(log_weight, components, "tied")

    def begin(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        codes: np.ndarray,
        weight: np.ndarray,
        K: int,
        rng: np.random.RandomState,
    ) -> Mixtures:
        """What EM starts from where states are known: clusters of the rows of each state."""
        shares = np.repeat(known_posteriors(codes, weight / self.M, K), self.M, axis=1)
        there = ~np.isnan(x).all(axis=1)
        for k in range(K):
            rows = np.flatnonzero((codes == k) & (weight > 0) & there)
            n = min(self.M, len(np.unique(x[rows], axis=0)))
            if n < 2:
                continue
            cluster = self.clusters(x[rows], weight[rows], n, rng)
            sure = np.arange(self.M) == cluster[:, None]
            part = np.where(sure, SURE, (1 - SURE) / (self.M - 1))
            shares[rows, k * self.M : (k + 1) * self.M] = weight[rows][:, None] * part
        before = guessed(x, shares, self.floor, self._of_components, weight)
        return self.fit(self._counts_of(x, shares, before), lambda: self.of_all(x, offsets, weight))

    @property
    def _of_components(self) -> str:
        """The kind of the components."""
        return "full" if self.kind == "tied" else self.kind

    def _counts_of(
        self, x: np.ndarray, shares: np.ndarray, before: Gaussians | None
    ) -> MixtureCounts:
        """Counts of rows, given posteriors (n, K * M) of the components."""
        return MixtureCounts(shares.sum(axis=0), moments_of(x, shares, self._of_components, before))

    def random(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        share: np.ndarray,
        K: int,
        rng: np.random.RandomState,
    ) -> Mixtures:
        """Means at random rows, drawn in proportion to `share`; the covariances of all rows."""
        alike = random_gaussians(x, share, K * self.M, self.floor, self.kind, rng)
        weight = np.full((K, self.M), -np.log(self.M))
        return Mixtures(weight, of_kind(alike, self._of_components), self.kind)

    def taken_over(self, before: Mixtures) -> Mixtures:
        """Mixtures of another kind of covariances, as near as possible."""
        if before.kind == self.kind:
            return before
        d = before.components.mean.shape[1]
        K, M = before.log_weight.shape
        components = of_kind(before.components, self._of_components)
        if self.kind == "tied":
            matrix = components.covariance.reshape(K, M, d, d).mean(axis=1)
            components = components._replace(covariance=np.repeat(matrix, M, axis=0))
        return Mixtures(before.log_weight, components, self.kind)
