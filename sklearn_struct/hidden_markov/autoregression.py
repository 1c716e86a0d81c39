"""Normal distributions whose means depend on the tokens before, one regression of each state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.row_pieces import row_pieces
from sklearn_struct.hidden_markov.base_number_steps import NumberSteps
from sklearn_struct.hidden_markov.gaussian_moments import above
from sklearn_struct.hidden_markov.gaussians import Gaussians, draw_numbers, of_kind
from sklearn_struct.hidden_markov.random_gaussians import random_gaussians
from sklearn_struct.hidden_markov.regressors import Regressors, regressors_of
from sklearn_struct.hidden_markov.row_densities import Densities, RowDensities

__all__ = ["Autoregressive", "AutoregressiveSteps"]

TINY = np.finfo(float).tiny


class Autoregressive(NamedTuple):
    """Of each state a regression on the p tokens before: matrices (K, p, d, d), and the normal
    distribution of what is left, whose means are the constants.

    The first p tokens of a sequence are given: their density is 1.
    """

    coefficient: np.ndarray
    rest: Gaussians

    @property
    def kind(self) -> str:
        """The kind of the covariances."""
        return self.rest.kind

    @property
    def variance(self) -> np.ndarray:
        """The variance of each state and column (K, d), given the tokens before."""
        return self.rest.variance

    @property
    def named(self) -> dict[str, np.ndarray]:
        """The tables that users know it by."""
        return {**self.rest.named, "autoregression": self.coefficient}

    @property
    def n_parameters(self) -> int:
        """How many numbers are free."""
        return self.rest.n_parameters + self.coefficient.size

    @property
    def slope(self) -> np.ndarray:
        """The coefficients of each state (K, p * d, d), by which rows of lags are multiplied."""
        K, p, d, _ = self.coefficient.shape
        return np.swapaxes(self.coefficient, 2, 3).reshape(K, p * d, d)

    def densities(self) -> Densities:
        """Log-densities of rows in each state, given those before them."""
        K, p = self.coefficient.shape[:2]
        of_states = [RowDensities(self._of_state(k)) for k in range(K)]
        slopes = self.slope

        def of_rows(x: np.ndarray, offsets: np.ndarray, rows: slice) -> np.ndarray:
            before, is_given = lags(x, offsets, rows, p)
            log_p = np.empty((len(before), K))
            for k, slope in enumerate(slopes):
                log_p[:, k] = of_states[k].of_rows(x[rows] - before @ slope)[:, 0]
            log_p[is_given] = 0.0
            return log_p

        return of_rows

    def _of_state(self, k: int) -> Gaussians:
        mean, covariance, kind = self.rest
        return Gaussians(
            mean[k : k + 1], covariance if kind == "tied" else covariance[k : k + 1], kind
        )

    def with_states_of(self, other: Autoregressive, states: np.ndarray) -> Autoregressive:
        """The constants and coefficients of some states of another one in the place of these."""
        coefficient = self.coefficient.copy()
        coefficient[states] = other.coefficient[states]
        return Autoregressive(coefficient, self.rest.with_states_of(other.rest, states))

    def draw(
        self, states: np.ndarray, offsets: np.ndarray, rng: np.random.RandomState
    ) -> np.ndarray:
        """A row of numbers for each of the states (n,). What comes before a sequence is the mean
        that its first state has in the long run.
        """
        p, d, _ = self.coefficient.shape[1:]
        drawn = draw_numbers(self.rest, states, rng)
        slope = self.slope
        for first, stop in pairwise(offsets.tolist()):
            if first == stop:
                continue
            k = states[first]
            total = np.eye(d) - self.coefficient[k].sum(axis=0)
            level = np.linalg.lstsq(total, self.rest.mean[k], rcond=None)[0]
            window = np.vstack([np.tile(level, (p, 1)), drawn[first:stop]])
            for t in range(p, len(window)):
                # the lag 1 comes first
                window[t] += window[t - p : t][::-1].ravel() @ slope[states[first + t - p]]
            drawn[first:stop] = window[p:]
        return drawn


def lags(x: np.ndarray, offsets: np.ndarray, rows: slice, p: int) -> tuple[np.ndarray, np.ndarray]:
    """The p rows before each of some rows of x, side by side with the nearest first, and which of
    these rows are among the first p of their sequence (their lags are 0).
    """
    first, stop, _ = rows.indices(len(x))
    places = np.arange(first, stop)
    starts = offsets[np.searchsorted(offsets, places, side="right") - 1]
    is_given = places - starts < p
    before = np.zeros((len(places), p, x.shape[1]))
    free = places[~is_given]
    for lag in range(1, p + 1):
        before[~is_given, lag - 1] = x[free - lag]
    return before.reshape(len(places), -1), is_given


@dataclass(frozen=True)
class AutoregressiveSteps(NumberSteps):
    """How regressions on p tokens before are learned."""

    p: int

    def counts(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        rows: slice,
        posterior: np.ndarray,
        before: Autoregressive | None,
    ) -> Regressors:
        """Sums of squares of each token together with those before it."""
        first, stop, _ = rows.indices(len(x))
        parts = (
            self._regressors(
                x, offsets, slice(first + part.start, min(first + part.stop, stop)), posterior[part]
            )
            for part in row_pieces(x[rows]) or [slice(0, 0)]
        )
        return reduce(Regressors.merged, parts)

    def of_all(self, x: np.ndarray, offsets: np.ndarray, weight: np.ndarray) -> Regressors:
        """See `NumberSteps`."""
        return self.counts(x, offsets, slice(None), weight[:, None], None)

    def fit(self, counts: Regressors, spare: Callable[[], Regressors]) -> Autoregressive:
        """Weighted least squares. A state without mass has the regression of all rows."""
        empty = counts.mass < TINY
        mass = np.where(empty, 0.0, counts.mass)
        if np.any(empty):
            of_all = counts.of_all
            counts = counts.with_states_of(of_all if of_all.mass[0] >= TINY else spare(), empty)
        d = len(self.floor)
        slope, mean, moments = counts.regressions(d)
        coefficient = np.swapaxes(slope.reshape(len(mass), self.p, d, d), 2, 3).copy()
        if self.kind == "tied":
            # a state without mass has nothing to say about a covariance of all
            share = np.ones(len(mass)) if np.all(empty) else mass
            rest = Gaussians(mean, np.tensordot(share / share.sum(), moments, 1), "tied")
        else:
            rest = of_kind(Gaussians(mean, moments, "full"), self.kind)
        return Autoregressive(coefficient, above(rest, self.floor))

    def _regressors(
        self, x: np.ndarray, offsets: np.ndarray, rows: slice, posterior: np.ndarray
    ) -> Regressors:
        before, is_given = lags(x, offsets, rows, self.p)
        weight = np.where(is_given[:, None], 0.0, posterior)
        return regressors_of(np.hstack([before, x[rows]]), weight)

    def random(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        share: np.ndarray,
        K: int,
        rng: np.random.RandomState,
    ) -> Autoregressive:
        """The regression of all rows, with constants at random residuals."""
        of_all = self.of_all(x, offsets, share)
        alike = self.fit(of_all, lambda: of_all)
        z, is_given = lags(x, offsets, slice(None), self.p)
        weight = np.where(is_given, 0.0, share)
        rest = random_gaussians(
            x - z @ alike.slope[0], weight / weight.sum(), K, self.floor, self.kind, rng
        )
        return Autoregressive(np.repeat(alike.coefficient, K, axis=0), rest)

    def taken_over(self, before: Autoregressive) -> Autoregressive:
        """See `NumberSteps`."""
        return before._replace(rest=of_kind(before.rest, self.kind))
