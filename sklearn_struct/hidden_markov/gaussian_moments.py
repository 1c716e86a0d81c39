"""The most probable normal distributions, given posteriors of states: weighted moments."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from sklearn_struct.containers.row_pieces import row_pieces
from sklearn_struct.hidden_markov.gaussians import Gaussians, of_kind
from sklearn_struct.hidden_markov.missing_numbers import is_incomplete
from sklearn_struct.hidden_markov.moments import Moments, has_matrices, moments_of

__all__ = [
    "above",
    "fit_gaussians",
    "guessed",
    "least_variances",
    "moments_of_all",
    "moments_of_columns",
    "most_probable",
    "raised",
    "variances_of",
]

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
    """The most probable Gaussians of rows x (n, d), where `posterior` (n, K) are the weights.

    If no state has mass, the weights of rows are `spare`. Missing numbers (NaN) are treated as
    `moments_of` says; without `before`, as if columns were independent in a step before.
    """
    if before is None:
        before = guessed(x, posterior, floor, kind, spare)
    of_all = None if spare is None else lambda: moments_of_all(x, spare, floor, kind)
    return most_probable(moments_of(x, posterior, kind, before), floor, kind, of_all)


def moments_of_all(x: np.ndarray, weight: np.ndarray, floor: np.ndarray, kind: str) -> Moments:
    """Those of weighted rows, as of one state."""
    one = weight[:, None]
    return moments_of(x, one, kind, guessed(x, one, floor, kind))


def guessed(
    x: np.ndarray,
    posterior: np.ndarray,
    floor: np.ndarray,
    kind: str,
    spare: np.ndarray | None = None,
) -> Gaussians | None:
    """Those of columns for themselves, under which missing numbers are expected where nothing else
    is known; None where that is not needed.
    """
    if kind in ("full", "tied") and is_incomplete(x):
        return fit_gaussians(x, posterior, floor, "diag", None, spare)
    return None


def most_probable(
    moments: Moments, floor: np.ndarray, kind: str, spare: Callable[[], Moments] | None = None
) -> Gaussians:
    """Gaussians with these means and covariances, of one kind.

    No variance is below `floor` (one a column), no matrix in any direction. The result is the most
    probable that this allows. A state without mass gets the moments of all, and so does a column
    without mass in a state. A column that no state has any mass of gets `spare` moments, of one
    state. Where there are matrices, mass is that of rows: the numbers of such a column were
    expected in each row, so that only without any rows all columns get spare moments.
    """
    empty = moments.mass < TINY
    of_all = moments
    if np.any(empty):
        of_all = moments.of_all
        if spare is not None and np.any(of_all.mass < TINY):
            of_all = of_all.with_columns_of(spare())
    mean = np.where(empty, of_all.mean, moments.mean)
    if has_matrices(moments):
        covariance = _matrices(moments, of_all, kind)
        return above(Gaussians(mean, covariance, kind), floor)
    if kind == "spherical":
        replaced = empty.all(axis=1, keepdims=True)
        squares = np.where(replaced, of_all.scatter, moments.scatter).sum(axis=1)
        mass = np.where(replaced, of_all.mass, moments.mass).sum(axis=1)
        return above(Gaussians(mean, squares / np.maximum(mass, TINY), kind), floor)
    variance = np.where(empty, of_all.covariance, moments.covariance)
    return of_kind(above(Gaussians(mean, variance), floor), kind)


def _matrices(moments: Moments, of_all: Moments, kind: str) -> np.ndarray:
    """Covariances (K, d, d), or (d, d) where they are tied."""
    empty = moments.mass[:, 0] < TINY
    covariance: np.ndarray
    if kind == "full":
        covariance = np.where(empty[:, None, None], of_all.covariance, moments.covariance)
    elif np.all(empty):
        covariance = of_all.covariance[0]
    else:
        # a state without mass has nothing to say about a covariance of all
        covariance = moments.scatter[~empty].sum(axis=0) / float(moments.mass.sum())
    return covariance


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
    return variances_of(moments_of_columns(x, weight), share)


def moments_of_columns(x: np.ndarray, weight: np.ndarray) -> Moments:
    """Those of weighted rows, each column for itself, as of one state."""
    with np.errstate(over="ignore", invalid="ignore"):
        # a weight may be one number for all rows, of which kernels want copies
        parts = (moments_of(x[rows], weight[rows, None], "diag") for rows in row_pieces(x, 4))
        return reduce(Moments.merged, parts)


def variances_of(moments: Moments, share: float) -> np.ndarray:
    """A share of the variance of each column; `share` itself for one that has none."""
    variance = moments.covariance[0]
    # a constant column has no scale of its own
    return share * np.where(variance == 0, 1.0, variance)
