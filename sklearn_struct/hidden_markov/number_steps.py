"""How the distributions of measurements are learned: single normal distributions, or others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from sklearn_struct.hidden_markov.autoregression import AutoregressiveSteps
from sklearn_struct.hidden_markov.gaussian_moments import fit_gaussians
from sklearn_struct.hidden_markov.gaussians import Gaussians, of_kind
from sklearn_struct.hidden_markov.missing_numbers import is_incomplete
from sklearn_struct.hidden_markov.mixtures import MixtureSteps
from sklearn_struct.hidden_markov.random_gaussians import random_gaussians

__all__ = ["GaussianSteps", "NumberSteps", "number_steps"]


class NumberSteps(Protocol):
    """The steps of EM that concern measurements x (n, d), of sequences with bounds `offsets`."""

    def is_hidden(self, x: np.ndarray) -> bool:
        """Whether EM is needed where all labels are known."""

    def fit(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        posterior: np.ndarray,
        before: Any,
        spare: np.ndarray,
    ) -> Any:
        """The most probable distributions given posteriors (n, K), or a step of EM from those
        `before`. If no row has a posterior, the weights of rows are `spare`.
        """

    def begin(
        self, x: np.ndarray, offsets: np.ndarray, posterior: np.ndarray, rng: np.random.RandomState
    ) -> Any:
        """What stands for `before` in the first step, where states are known."""

    def random(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        share: np.ndarray,
        K: int,
        rng: np.random.RandomState,
    ) -> Any:
        """Distributions of K states at rows that are drawn in proportion to `share`."""

    def taken_over(self, before: Any) -> Any:
        """Distributions of another model, with covariances of this kind."""


class GaussianSteps(NamedTuple):
    """One normal distribution of each state: least variances (d,), the kind of covariances."""

    floor: np.ndarray
    kind: str

    def is_hidden(self, x: np.ndarray) -> bool:
        """Matrices depend on numbers that are missing, variances do not."""
        return self.kind in ("full", "tied") and is_incomplete(x)

    def fit(
        self,
        x: np.ndarray,
        offsets: np.ndarray,
        posterior: np.ndarray,
        before: Gaussians | None,
        spare: np.ndarray,
    ) -> Gaussians:
        """Weighted moments."""
        return fit_gaussians(x, posterior, self.floor, self.kind, before, spare)

    def begin(
        self, x: np.ndarray, offsets: np.ndarray, posterior: np.ndarray, rng: np.random.RandomState
    ) -> None:
        """Moments need nothing to begin with."""

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
        """Covariances of this kind, as near as possible."""
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
