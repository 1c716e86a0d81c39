"""The most probable normal distributions, given posteriors of states: weighted moments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.hidden_markov.gaussian_kernels import (
    add_masses,
    add_squares,
    add_sums,
)
from sklearn_struct.hidden_markov.gaussian_lanes import (
    add_column_squares,
    add_column_sums,
    add_outer,
)
from sklearn_struct.hidden_markov.gaussians import Gaussians, by_rows, of_kind
from sklearn_struct.hidden_markov.missing_numbers import Incomplete

__all__ = ["above", "fit_gaussians", "least_variances", "raised", "weighted_sums"]

ROWS = 1 << 14  # whose sums are added up apart, so that rounding errors stay small
ROUNDING = 1e-14  # of the eigenvalues of a matrix, as a share of the largest
TINY = np.finfo(float).tiny


def fit_gaussians(
    x: np.ndarray,
    posterior: np.ndarray,
    floor: np.ndarray,
    kind: str = "diag",
    before: Gaussians | None = None,
    spare: np.ndarray | None = None,
) -> Gaussians:
    """Weighted means and covariances of rows x (n, d), where `posterior` (n, K) are the weights.

    No variance is below `floor` (one a column), no matrix in any direction. The result is the most
    probable that this allows. A state without mass gets the moments of all, and so does a column
    without mass in a state. If no state has any, the weights of rows are `spare`.

    NaN is a number that is missing. Where columns are independent, each one has the moments of the
    numbers that are there. Else missing numbers are expected under the Gaussians `before`: this is
    a step of EM (Little & Rubin, "Statistical Analysis with Missing Data", section 11.2).
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    posterior = np.ascontiguousarray(posterior, dtype=np.float64)
    if kind in ("diag", "spherical") or x.shape[1] == 0:
        return of_kind(_columnwise(x, posterior, floor, kind, spare), kind)
    incomplete = Incomplete.of(x)
    if incomplete is not None:
        if before is None:
            before = _columnwise(x, posterior, floor, "diag", spare)
        before = of_kind(before, "full")
    joint = _joint(x, posterior, incomplete, before)
    empty = joint.mass < TINY
    mean = joint.mean
    if np.any(empty):
        columns = _columnwise(x, posterior, floor, "diag", spare)
        mean = np.where(empty[:, None], columns.mean, mean)
    if kind == "tied":
        # a state without mass has nothing to say about a covariance of all
        covariance = joint.scatter[~empty].sum(axis=0) / max(float(joint.mass.sum()), TINY)
        return above(Gaussians(mean, covariance, kind), floor)
    if np.any(empty):
        joint.scatter[empty] = _joint(x, _of_all(posterior), incomplete, _of_states(before)).share
    return above(Gaussians(mean, joint.share, kind), floor)


class Joint(NamedTuple):
    """Of each state the mass (K,), the mean (K, d), and sums of products of weighted distances from
    it (K, d, d).
    """

    mass: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    @property
    def share(self) -> np.ndarray:
        """The covariances; where there is no mass, what stands in their place."""
        divisor = np.where(self.mass < TINY, 1.0, self.mass)
        covariance: np.ndarray = self.scatter / divisor[:, None, None]
        return covariance


def _joint(
    x: np.ndarray, posterior: np.ndarray, incomplete: Incomplete | None, before: Gaussians | None
) -> Joint:
    K = posterior.shape[1]
    d = x.shape[1]
    complete = x
    weight = posterior
    if incomplete is not None:
        complete = x[incomplete.complete]
        weight = posterior[incomplete.complete]
    of_columns, sums = weighted_sums(complete, weight)
    mass = of_columns[0]
    sums = sums.T.copy()
    if incomplete is not None and before is not None:
        for among, numbers in incomplete.expected(x, before):
            mass += posterior[among].sum(axis=0)
            sums += (posterior[among].T[:, None] @ numbers)[:, 0]
    mean = sums / np.maximum(mass, TINY)[:, None]
    rows, columns = np.tril_indices(d)
    lower = np.zeros((K, len(rows)))
    for part in _slices(len(complete)):
        of_part = np.zeros_like(lower)
        add_outer(complete[part], weight[part], mean, of_part)
        lower += of_part
    scatter = np.empty((K, d, d))
    scatter[:, rows, columns] = lower
    scatter[:, columns, rows] = lower
    if incomplete is not None and before is not None:
        scatter += incomplete.scatter(posterior, before)
        for among, numbers in incomplete.expected(x, before):
            away = numbers - mean[:, None]
            scatter += np.swapaxes(away * posterior[among].T[:, :, None], 1, 2) @ away
        # symmetric but for rounding
        scatter = (scatter + np.swapaxes(scatter, 1, 2)) / 2
    return Joint(mass, mean, scatter)


def _columnwise(
    x: np.ndarray, posterior: np.ndarray, floor: np.ndarray, kind: str, spare: np.ndarray | None
) -> Gaussians:
    """Moments of each column for itself, of the numbers that are there."""
    mass, sums = weighted_sums(x, posterior)
    mean = sums / np.maximum(mass, TINY)
    squares = _squares(x, posterior, mean)
    empty = mass < TINY
    if np.any(empty):
        weight = _of_all(posterior)
        of_all, total = weighted_sums(x, weight)
        if spare is not None and np.any(of_all < TINY):
            weight = spare[:, None]
            of_all, total = weighted_sums(x, weight)
        mean_of_all = total / np.maximum(of_all, TINY)
        mean = np.where(empty, mean_of_all, mean)
        replaced = empty.all(axis=0) if kind == "spherical" else empty
        squares = np.where(replaced, _squares(x, weight, mean_of_all), squares)
        mass = np.where(replaced, of_all, mass)
    if kind == "spherical":
        variance = squares.sum(axis=0) / np.maximum(mass.sum(axis=0), TINY)
        return above(Gaussians(mean.T.copy(), variance, kind), floor)
    variance = (squares / np.maximum(mass, TINY)).T
    return above(Gaussians(mean.T.copy(), variance, "diag"), floor)


def _of_all(posterior: np.ndarray) -> np.ndarray:
    """The weights of all states together, those of one state."""
    weight: np.ndarray = posterior.sum(axis=1, keepdims=True)
    return weight


def _of_states(before: Gaussians | None) -> Gaussians | None:
    """One state in the middle of all."""
    if before is None:
        return None
    mean = before.mean.mean(axis=0, keepdims=True)
    return Gaussians(mean, before.covariance.mean(axis=0, keepdims=True), "full")


def _slices(n: int) -> list[slice]:
    return [slice(first, first + ROWS) for first in range(0, n, ROWS)]


def weighted_sums(x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the numbers that are there, and numbers times weights: both (d, K)."""
    mass = np.zeros((x.shape[1], weight.shape[1]))
    total = np.zeros_like(mass)
    for part in _slices(len(x)):
        of_part = np.zeros_like(mass)
        if by_rows(x[part], weight.shape[1]):
            of_states = np.zeros(weight.shape[1])
            turned = np.zeros(of_part.shape[::-1])
            add_column_sums(x[part], weight[part], of_states, turned)
            mass += of_states
            of_part = turned.T
        else:
            add_masses(x[part], weight[part], of_part)
            mass += of_part
            of_part[:] = 0
            add_sums(x[part], weight[part], of_part)
        total += of_part
    return mass, total


def _squares(x: np.ndarray, weight: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Weights times squared distances from the means: (d, K)."""
    total = np.zeros_like(mean)
    turned_mean = np.ascontiguousarray(mean.T)
    # two passes: the mean of squares less the square of the mean would cancel
    for part in _slices(len(x)):
        of_part = np.zeros_like(mean)
        if by_rows(x[part], weight.shape[1]):
            turned = np.zeros_like(turned_mean)
            add_column_squares(x[part], weight[part], turned_mean, turned)
            of_part = turned.T
        else:
            add_squares(x[part], weight[part], mean, of_part)
        total += of_part
    return total


def above(gaussians: Gaussians, floor: np.ndarray) -> Gaussians:
    """The most probable Gaussians that have no variance below `floor` (d,), and no matrix in any
    direction; one variance of all columns is not below the largest of these.
    """
    mean, covariance, kind = gaussians
    if kind in ("full", "tied"):
        return Gaussians(mean, raised(covariance, floor), kind)
    least = floor if kind == "diag" else floor.max(initial=0.0)
    return Gaussians(mean, np.maximum(covariance, least), kind)


def raised(covariance: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """Covariance matrices (..., d, d) that are in no direction below the diagonal matrix `floor`:
    the most probable ones, given moments of which some are.

    In coordinates in which the floor is the unit matrix, the most probable matrix has the
    eigenvectors of the moments, and their eigenvalues where these are at least 1. Others become 1.
    """
    if not np.all(floor > 0):
        return covariance
    scale = np.sqrt(floor)
    values, vectors = np.linalg.eigh(covariance / scale[:, None] / scale)
    # a matrix with a smaller share than this could not be told from one that is singular
    least = np.maximum(1.0, ROUNDING * values[..., -1:])
    low = values[..., 0] < least[..., 0]
    if not np.any(low):
        return covariance
    clipped = (vectors * np.maximum(values, least)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    # symmetric but for rounding
    clipped = (clipped + np.swapaxes(clipped, -1, -2)) / 2 * scale[:, None] * scale
    return np.where(low[..., None, None], clipped, covariance)


def least_variances(x: np.ndarray, weight: np.ndarray, share: float) -> np.ndarray:
    """A share of the weighted variance of each column; `share` itself for one that has none."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = fit_gaussians(x, weight[:, None], np.zeros(x.shape[1])).covariance[0]
    # a constant column has no scale of its own
    return share * np.where(variance == 0, 1.0, variance)
