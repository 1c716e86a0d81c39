"""Weighted moments of numbers, of a few rows or of all: those of parts are merged."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.simd import padded
from sklearn_struct.containers.row_pieces import row_pieces
from sklearn_struct.hidden_markov.gaussian_kernels import (
    add_masses,
    add_squares,
    add_sums,
    merge_moments,
)
from sklearn_struct.hidden_markov.gaussian_lanes import (
    MANY,
    add_column_moments,
    add_column_sums,
    add_outer,
    whole_vectors,
)
from sklearn_struct.hidden_markov.gaussians import Gaussians, of_kind
from sklearn_struct.hidden_markov.missing_numbers import Incomplete
from sklearn_struct.hidden_markov.row_densities import is_complete

__all__ = [
    "Moments",
    "Sums",
    "has_matrices",
    "known_posteriors",
    "moments_of",
    "sums_of",
    "sums_of_all",
]

TINY = np.finfo(float).tiny
PIECE = 1 << 13  # numbers of which copies are made at once


class Sums(NamedTuple):
    """Weights of the numbers that are there, and numbers times weights: both (c, K)."""

    mass: np.ndarray
    total: np.ndarray

    def merged(self, other: Sums) -> Sums:
        """Those of the rows of both."""
        if not self.mass.size:
            return self
        return Sums(self.mass + other.mass, self.total + other.total)

    def with_columns_of(self, other: Sums) -> Sums:
        """These, with those of another in the place of columns without mass."""
        lacks = self.mass < TINY
        return Sums(*(np.where(lacks, b, a) for a, b in zip(self, other, strict=True)))


class Moments(NamedTuple):
    """What weighted rows of numbers say about the normal distribution of each state.

    Where columns are independent, ``mass`` (K, d) are the weights of the numbers that are there,
    ``mean`` (K, d) their means, and ``scatter`` (K, d) sums of weighted squares of distances from
    these. Else ``mass`` (K, 1) are the weights of rows, and ``scatter`` (K, d, d) sums of products.
    """

    mass: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray

    @property
    def of_all(self) -> Moments:
        """Those of all states together, as of one."""
        K = len(self.mass)
        return reduce(Moments.merged, (self._of_states(slice(k, k + 1)) for k in range(K)))

    @property
    def covariance(self) -> np.ndarray:
        """The scatter of a unit of mass; 0 where there is none."""
        divisor = np.where(self.mass < TINY, 1.0, self.mass)
        if has_matrices(self):
            divisor = divisor[:, :, None]
        share: np.ndarray = self.scatter / divisor
        return share

    def merged(self, other: Moments) -> Moments:
        """Those of the rows of both (Chan, Golub & LeVeque, "Algorithms for computing the sample
        variance", 1983, eq. 2.1): all terms are squares, so that nothing cancels.
        """
        if not self.mean.size:
            return self
        # lists, as Python keeps the memory of thousands of tuples that generators have made
        of_both = Moments(*[table.copy() for table in self])
        merge_moments(*[_flat(table) for table in (*of_both, *other)])
        return of_both

    def with_columns_of(self, other: Moments) -> Moments:
        """These, with those of another in the place of columns without mass; of products of
        columns all, if there is no mass.
        """
        lacks = self.mass < TINY
        if has_matrices(self):
            return other if np.any(lacks) else self
        return Moments(*(np.where(lacks, b, a) for a, b in zip(self, other, strict=True)))

    def _of_states(self, states: slice) -> Moments:
        return Moments(*(table[states] for table in self))


def _flat(table: np.ndarray) -> np.ndarray:
    """What a table has of each state (K, m)."""
    return np.ascontiguousarray(table).reshape(len(table), -1)


def has_matrices(moments: Moments) -> bool:
    """Whether there are products of columns, too."""
    return moments.scatter.ndim == 3


def known_posteriors(codes: np.ndarray, weight: np.ndarray, K: int) -> np.ndarray:
    """Posteriors (n, K) of weighted rows whose states are known; 0 where they are not (-1)."""
    posterior = np.zeros((len(codes), K))
    known = codes >= 0
    posterior[known, codes[known]] = weight[known]
    return posterior


def sums_of(x: np.ndarray, weight: np.ndarray) -> Sums:
    """Weighted sums of rows x (n, c), where `weight` is (n, K); whole numbers of any type have the
    sums of the same floats.
    """
    K = weight.shape[1]
    if x.shape[1] == 0:
        return Sums(np.zeros((0, K)), np.zeros((0, K)))
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    mass = whole_vectors(np.zeros((x.shape[1], K)))
    total = np.zeros_like(mass)
    if is_complete(x):
        of_states = np.zeros(mass.shape[1])
        for rows in _pieces_to_cast(x):
            floats = np.ascontiguousarray(x[rows], dtype=np.float64)
            add_column_sums(floats, weight[rows], of_states, total)
        mass += of_states
    else:
        x = np.ascontiguousarray(x, dtype=np.float64)
        add_masses(x, weight, mass)
        add_sums(x, weight, total)
    return Sums(mass[:, :K], total[:, :K])


def _pieces_to_cast(x: np.ndarray) -> list[slice]:
    """All rows, or a few at a time where copies are made of them: as many as kernels sum at once,
    or that several times, so that sums have one order.
    """
    if x.dtype == np.float64:
        return [slice(0, len(x))]
    step = MANY * max(1, PIECE // (MANY * x.shape[1]))
    return [slice(first, first + step) for first in range(0, len(x), step)]


def sums_of_all(x: np.ndarray, weight: np.ndarray) -> Sums:
    """Sums of all rows, whose weights are (n,), as of one state; a few rows at a time, as copies
    are made of rows that are no floats.
    """
    parts = (sums_of(x[rows], weight[rows, None]) for rows in row_pieces(x) or [slice(0, 0)])
    return reduce(Sums.merged, parts)


def moments_of(
    x: np.ndarray, weight: np.ndarray, kind: str, before: Gaussians | None = None
) -> Moments:
    """Moments of rows x (n, d) for covariances of this kind, where `weight` is (n, K).

    NaN is a number that is missing. Where columns are independent, each one has the moments of the
    numbers that are there. Else missing numbers are expected under the Gaussians `before`, which
    may be left out where none is missing (Little & Rubin, "Statistical Analysis with Missing Data",
    section 11.2).
    """
    if x.shape[1] == 0:
        nothing = np.zeros((weight.shape[1], 0))
        return Moments(nothing, nothing, nothing)
    independent = kind in ("diag", "spherical")
    if independent and is_complete(x):
        return _columns(x, weight)
    # copies are made of what follows
    parts = (
        _columns_with_gaps(x[rows], weight[rows])
        if independent
        else _joint(x[rows], weight[rows], before)
        for rows in row_pieces(x) or [slice(0, 0)]
    )
    return reduce(Moments.merged, parts)


def _columns(x: np.ndarray, weight: np.ndarray) -> Moments:
    x = np.ascontiguousarray(x, dtype=np.float64)
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    K = weight.shape[1]
    d = x.shape[1]
    # one piece of memory for all tables
    room = np.zeros((1 + 2 * d, padded(K)))
    mean = room[1 : 1 + d]
    squares = room[1 + d :]
    add_column_moments(x, weight, room[0], mean, squares)
    of_columns = np.repeat(room[0, :K, None], d, axis=1)
    return Moments(of_columns, _states_first(mean, K), _states_first(squares, K))


def _columns_with_gaps(x: np.ndarray, weight: np.ndarray) -> Moments:
    K = weight.shape[1]
    mass, total = sums_of(x, weight)
    divisor = np.maximum(mass, TINY)
    mean = total / divisor
    rest = np.zeros_like(mean)
    squares = np.zeros_like(mean)
    # two passes: the mean of squares less the square of the mean would cancel
    add_squares(x, weight, mean, rest, squares)
    # what rounding left of the mean
    lacks = rest / divisor
    squares -= rest * lacks
    return Moments(*(_states_first(table, K) for table in (mass, mean + lacks, squares)))


def _states_first(table: np.ndarray, K: int) -> np.ndarray:
    """Tables (d, P) of kernels as (K, d)."""
    return np.ascontiguousarray(table[:, :K].T)


def _joint(x: np.ndarray, weight: np.ndarray, before: Gaussians | None) -> Moments:
    incomplete = Incomplete.of(x)
    if incomplete is None:
        return _complete_joint(x, weight)
    rows = incomplete.complete
    joint = _complete_joint(x[rows], weight[rows])
    if before is None:
        return joint
    parts = incomplete.expected(x, of_kind(before, "full"))
    others = (_expected_joint(numbers, weight[among], rest) for among, numbers, rest in parts)
    return reduce(Moments.merged, others, joint)


def _complete_joint(x: np.ndarray, weight: np.ndarray) -> Moments:
    x = np.ascontiguousarray(x, dtype=np.float64)
    weight = np.ascontiguousarray(weight, dtype=np.float64)
    K = weight.shape[1]
    d = x.shape[1]
    mass, mean, _ = _columns(x, weight)
    rows, columns = np.tril_indices(d)
    lower = np.zeros((K, len(rows)))
    add_outer(x, weight, mean, lower)
    scatter = np.empty((K, d, d))
    scatter[:, rows, columns] = lower
    scatter[:, columns, rows] = lower
    return Moments(mass[:, :1], mean, scatter)


def _expected_joint(numbers: np.ndarray, weight: np.ndarray, rest: np.ndarray) -> Moments:
    """Of rows whose numbers (K, n, d) are expected in each state, with covariances `rest` (K, d,
    d).
    """
    share = weight.T
    mass = share.sum(axis=1, keepdims=True)
    mean = (share[:, None] @ numbers)[:, 0] / np.maximum(mass, TINY)
    away = numbers - mean[:, None]
    scatter = np.swapaxes(away * share[:, :, None], 1, 2) @ away
    # symmetric but for rounding
    scatter = (scatter + np.swapaxes(scatter, 1, 2)) / 2 + mass[:, :, None] * rest
    return Moments(mass, mean, scatter)
