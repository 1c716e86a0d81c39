"""Planes that touch the loss of one term from below, and the best shares among them.

The structured hinge of a term is the largest of many planes, one for each labelling. A term keeps
those that were met, as sparse slopes, in its potentials or in the parameters. Their shares are its
dual variables: they sum to 1, and say how much each plane counts in the weights. Products of slopes
in the parameters are kept, too, so the best shares of a term are found without a look at features.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["Planes"]

MOST = 40  # planes of a term; those without a share make room for new ones
NEAR = 0.01  # of what a term could gain at first: what may be left when its shares are good enough


class Planes:
    """The planes of one term. The first one is 0 everywhere: that of the right labelling."""

    def __init__(self) -> None:
        self.starts = np.zeros(2, np.int64)
        self.column = np.zeros(0, np.int32)
        self.slope = np.zeros(0)
        self.offset = np.zeros(1)
        self.share = np.ones(1)
        self.product = np.zeros((1, 1))

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def height(self) -> float:
        """The offset of the mean of all planes, each as much as its share."""
        return float(np.dot(self.share, self.offset))

    def values(self, at: np.ndarray) -> np.ndarray:
        """The value of each plane at these potentials, or at these parameters."""
        values = np.empty(len(self))
        _evaluate(self.starts, self.column, self.slope, self.offset, at, values)
        return values

    def add(self, slope: np.ndarray, offset: float, image: np.ndarray) -> None:
        """Add a plane without a share, by its slope in the potentials and the potentials where the
        parameters are its slope in these; or by its slope in the parameters, twice.
        """
        if len(self) >= MOST:
            self._keep(np.flatnonzero(self.share > 0))
        n = len(self)
        product = np.empty((n + 1, n + 1))
        product[:n, :n] = self.product
        across = np.empty(n)
        _evaluate(self.starts, self.column, self.slope, np.zeros(n), image, across)
        product[n, :n] = across
        product[:n, n] = across
        product[n, n] = np.dot(slope, image)
        self.product = product
        stored = np.flatnonzero(slope).astype(np.int32)
        self.column = np.append(self.column, stored)
        self.slope = np.append(self.slope, slope[stored])
        self.starts = np.append(self.starts, len(self.column))
        self.offset = np.append(self.offset, offset)
        self.share = np.append(self.share, 0.0)

    def share_anew(
        self, at: np.ndarray, curvature: float, factor: float, into: np.ndarray
    ) -> float:
        """Give planes their best shares while all other terms keep theirs.

        Parameters
        ----------
        at : ndarray
            The potentials of the term as it is, or the parameters.
        curvature : float
            How much a unit of a slope's product takes off the value along it.
        factor : float
            By which the change of the mean slope is added to `into`.
        into : ndarray
            Is written; may be `at`.

        Returns
        -------
        gap : float
            How far the highest plane was above their mean.
        """
        slopes = (self.starts, self.column, self.slope)
        return float(
            _share_anew(*slopes, self.offset, self.share, self.product, at, curvature, factor, into)
        )

    def _keep(self, kept: np.ndarray) -> None:
        """Forget all planes but these, and the first."""
        kept = np.union1d(kept, [0])
        pieces = [slice(self.starts[p], self.starts[p + 1]) for p in kept]
        self.column = np.concatenate([self.column[piece] for piece in pieces])
        self.slope = np.concatenate([self.slope[piece] for piece in pieces])
        lengths = np.diff(self.starts)[kept]
        self.starts = np.concatenate([[0], np.cumsum(lengths)])
        self.offset = self.offset[kept]
        self.share = self.share[kept]
        self.product = np.ascontiguousarray(self.product[np.ix_(kept, kept)])


@kernel
def _evaluate(
    starts: np.ndarray,
    column: np.ndarray,
    slope: np.ndarray,
    offset: np.ndarray,
    at: np.ndarray,
    out: np.ndarray,
) -> None:
    for p in range(len(out)):
        value = offset[p]
        for s in range(starts[p], starts[p + 1]):
            value += slope[s] * at[column[s]]
        out[p] = value


@kernel
def _share_anew(
    starts: np.ndarray,
    column: np.ndarray,
    slope: np.ndarray,
    offset: np.ndarray,
    share: np.ndarray,
    product: np.ndarray,
    at: np.ndarray,
    curvature: float,
    factor: float,
    into: np.ndarray,
) -> float:
    values = np.empty_like(offset)
    _evaluate(starts, column, slope, offset, at, values)
    before = share.copy()
    gap = _move_shares(share, values, product, curvature)
    for p in range(len(share)):
        change = factor * (share[p] - before[p])
        if change != 0.0:
            for s in range(starts[p], starts[p + 1]):
                into[column[s]] += change * slope[s]
    return gap


@kernel
def _move_shares(
    share: np.ndarray, values: np.ndarray, product: np.ndarray, curvature: float
) -> float:
    """Move shares from the lowest plane that has one to the highest, each as far as it gains.

    `share` and `values` are written; what is returned is the gap before.
    """
    n = len(share)
    mean = 0.0
    highest = float(values[0])
    for p in range(n):
        mean += share[p] * values[p]
        highest = max(highest, values[p])
    gap = highest - mean
    for _ in range(20 * n):
        to = 0
        since = -1
        for p in range(n):
            if values[p] > values[to]:
                to = p
            if share[p] > 0.0 and (since < 0 or values[p] < values[since]):
                since = p
        gain = values[to] - values[since]
        if not gain > NEAR * gap:
            break
        bend = curvature * (product[to, to] + product[since, since] - 2.0 * product[to, since])
        step = share[since]
        if bend * step > gain:
            step = gain / bend
            share[since] -= step
        else:
            share[since] = 0.0
        share[to] += step
        for p in range(n):
            values[p] -= step * curvature * (product[p, to] - product[p, since])
    return gap
