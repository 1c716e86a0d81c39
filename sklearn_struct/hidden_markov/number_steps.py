"""How the distributions of measurements are learned: single normal distributions, or others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_struct.hidden_markov.autoregression import AutoregressiveSteps
from sklearn_struct.hidden_markov.base_number_steps import NumberSteps
from sklearn_struct.hidden_markov.gaussian_moments import guessed, moments_of_all, most_probable
from sklearn_struct.hidden_markov.gaussians import Gaussians, of_kind
from sklearn_struct.hidden_markov.missing_numbers import is_incomplete
from sklearn_struct.hidden_markov.mixtures import MixtureSteps
from sklearn_struct.hidden_markov.moments import Moments, known_posteriors, moments_of
from sklearn_struct.hidden_markov.random_gaussians import random_gaussians

__all__ = ["GaussianSteps", "number_steps"]


class GaussianSteps(NumberSteps):
    """One normal distribution of each state."""

    def is_hidden(self, x: np.ndarray) -> bool:
        """Matrices depend on numbers that are missing, variances do not."""
        return self.kind in ("full", "tied") and is_incomplete(x)

    def counts(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        rows: slice,
        posterior: np.ndarray,
        before: Gaussians | None,
    ) -> Moments:
        """Weighted moments."""
        return moments_of(x[rows], posterior, self.kind, before)

    def of_all(self, x: np.ndarray, offsets: np.ndarray, weight: np.ndarray) -> Moments:
        """See `NumberSteps`."""
        return moments_of_all(x, weight, self.floor, self.kind)

    def fit(self, counts: Moments, spare: Callable[[], Moments]) -> Gaussians:
        """See `NumberSteps`."""
        return most_probable(counts, self.floor, self.kind, spare)

    def begin(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        codes: np.ndarray,
        weight: np.ndarray,
        K: int,
        rng: np.random.RandomState,
    ) -> Gaussians | None:
        """Independent columns, under which missing numbers are expected."""
        if not self.is_hidden(x):
            return None
        return guessed(x, known_posteriors(codes, weight, K), self.floor, self.kind, weight)

    def random(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        share: np.ndarray,
        K: int,
        rng: np.random.RandomState,
    ) -> Gaussians:
        """Means at random rows, and the covariances of all rows."""
        return random_gaussians(x, share, K, self.floor, self.kind, rng)

    def taken_over(self, before: Gaussians) -> Gaussians:
        """See `NumberSteps`."""
        return of_kind(before, self.kind)


def number_steps(
    floor: np.ndarray,
    kind: str,
    n_mixtures: int,
    lags: int,
    clusters: Callable[..., np.ndarray],
) -> NumberSteps:
    """What these parameters ask for."""
    if lags:
        return AutoregressiveSteps(floor, kind, lags)
    if n_mixtures == 1:
        return GaussianSteps(floor, kind)
    return MixtureSteps(floor, kind, n_mixtures, clusters)
