"""Conjugate priors of means and covariances: tokens that are imagined, like all of the data.

With m the mean and S the covariance of all tokens, kappa imagined tokens for the mean and rho for
the covariance, the log-density of a state's mean u and covariance V is, up to a constant,

    -rho / 2 * (log |V| + trace(V^-1 S)) - kappa / 2 * (u - m)' V^-1 (u - m),

that of a normal distribution of u given V, and of an inverse Wishart distribution of V (Gelman et
al., "Bayesian Data Analysis", section 3.6; |V|^(1/2) of the normal density goes to the degrees of
freedom). Variances of single columns have the same of one dimension, an inverse gamma distribution.
A covariance that states share has the term of rho once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.hidden_markov.gaussian_moments import above
from sklearn_struct.hidden_markov.gaussians import Gaussians, covariance_shape

__all__ = ["NormalPrior", "kind_of_all"]

TINY = np.finfo(float).tiny


def kind_of_all(kind: str) -> str:
    """How the covariance of all rows is written, where those of states are of this kind."""
    return "full" if kind == "tied" else kind


class NormalPrior(NamedTuple):
    """How many tokens are imagined for the mean and for the covariance, and what all tokens have:
    ``covariance`` is of the kind of the states', for one state.
    """

    of_mean: float
    of_covariance: float
    mean: np.ndarray
    covariance: np.ndarray

    @classmethod
    def around(cls, alike: Gaussians, of_mean: float, of_covariance: float) -> NormalPrior:
        """The prior that has the moments of a single normal distribution."""
        return cls(of_mean, of_covariance, alike.mean[0], alike.covariance[0])

    @classmethod
    def none(cls, gaussians: Gaussians) -> NormalPrior:
        """That of no token: it says nothing."""
        d = gaussians.mean.shape[1]
        shape = covariance_shape(kind_of_all(gaussians.kind), 1, d)[1:]
        return cls(0.0, 0.0, np.zeros(d), np.zeros(shape))

    def most_probable(
        self, likeliest: Gaussians, mass: np.ndarray, floor: np.ndarray, given: np.ndarray | None
    ) -> Gaussians:
        """The most probable Gaussians, of the `likeliest` ones without a least variance, and the
        `mass` that `Moments` have of them.

        ``given`` are means (K, d) that are kept.
        """
        mean = given
        if mean is None:
            total = mass + self.of_mean
            pulled = mass * likeliest.mean + self.of_mean * self.mean
            mean = np.where(total > TINY, pulled / np.maximum(total, TINY), likeliest.mean)
        d = mean.shape[1]
        moved = likeliest.mean - mean
        away = mean - self.mean
        kind = likeliest.kind
        if kind in ("diag", "spherical"):
            scatter = mass * moved**2 + self.of_mean * away**2
            imagined = self.of_covariance * self.covariance
            divisor = mass + self.of_covariance
            if kind == "spherical":
                scatter = scatter.sum(axis=1)
                imagined = imagined * d
                divisor = mass.sum(axis=1) + self.of_covariance * d
                mass = mass.sum(axis=1)
            covariance = _share(scatter + imagined, mass, divisor, likeliest.covariance)
            return above(Gaussians(mean, covariance, kind), floor)
        scatter = mass[:, :, None] * _outer(moved) + self.of_mean * _outer(away)
        if kind == "tied":
            scatter = scatter.sum(axis=0)
            mass = mass.sum()
        else:
            mass = mass[:, :, None]
        imagined = self.of_covariance * self.covariance
        divisor = mass + self.of_covariance
        covariance = _share(scatter + imagined, mass, divisor, likeliest.covariance)
        return above(Gaussians(mean, covariance, kind), floor)

    def log_density(self, gaussians: Gaussians) -> float:
        """That of the Gaussians' parameters, up to a constant."""
        away = gaussians.mean - self.mean
        d = away.shape[1]
        if gaussians.kind in ("diag", "spherical"):
            variance = gaussians.covariance
            times = d if gaussians.kind == "spherical" else 1
            of_covariance = times * np.sum(np.log(variance) + self.covariance / variance)
            of_mean = np.sum(away**2 / gaussians.variance)
        else:
            V = gaussians.covariance.reshape(-1, d, d)
            traces = np.trace(np.linalg.solve(V, self.covariance[None]), axis1=1, axis2=2)
            of_covariance = np.sum(np.linalg.slogdet(V)[1] + traces)
            solved = np.linalg.solve(gaussians.matrices, away[:, :, None])[:, :, 0]
            of_mean = np.sum(away * solved)
        return float(-0.5 * (self.of_covariance * of_covariance + self.of_mean * of_mean))


def _outer(rows: np.ndarray) -> np.ndarray:
    product: np.ndarray = rows[:, :, None] * rows[:, None, :]
    return product


def _share(
    more: np.ndarray, mass: np.ndarray, divisor: np.ndarray, likeliest: np.ndarray
) -> np.ndarray:
    """The likeliest covariances with `more` squares; they stay where nothing is known or
    imagined.
    """
    covariance = (mass * likeliest + more) / np.maximum(divisor, TINY)
    return np.where(divisor > TINY, covariance, likeliest)
