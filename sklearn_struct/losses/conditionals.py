"""Minus the log-probabilities of single labels given the true labels beside them: pseudolikelihood
and MEMM.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    at,
    cast,
    fma,
    load,
    load_part,
    padded,
    splat,
    store,
    store_part,
)
from sklearn_struct.compiled.softmax import softmax
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.losses.neighbour_scores import MOST, beside
from sklearn_struct.losses.triples import has_triples

__all__ = ["Conditionals"]


class Conditionals:
    """The loss sum_t -log p(y_t | given neighbours, x), each normalised over the labels of that
    token alone.

        both neighbours     Besag's pseudolikelihood, sum_t -log p(y_t | y_{t-1}, y_{t+1}, x) (P1 5.23)
        the left one        a maximum-entropy Markov model, -log p(y | x) = sum_t -log p(y_t | y_{t-1}, x)
        neither             node factors, each a piece of its own

    In chains of second order two labels on a side are given, (y_{t-2}, y_{t-1}) and (y_{t+1},
    y_{t+2}): what is scored among them and y_t counts. It is what `Windows` is for windows of one
    token, in a few operations a label instead of a chain for each token.

    Parameters
    ----------
    left, right : bool, default=True
        Whether the labels of the tokens before, and of those behind, are given.
    """

    convex = True
    token_weights = False

    def __init__(self, left: bool = True, right: bool = True) -> None:
        self.left = left
        self.right = right

    def __call__(
        self,
        potentials: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        value: np.ndarray,
    ) -> None:
        """Write ``value[i]``; add ``weight[i]`` times its derivative, probabilities minus
        indicators, to `out`.
        """
        _conditionals(potentials, y, structure, (weight, self._given(potentials)), out, value)

    def hess_vec(
        self,
        potentials: Potentials,
        direction: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
    ) -> None:
        """Add ``weight[i]`` times the second derivative in a direction, covariances with its
        scores, to `out`.
        """
        _covariances(potentials, direction, y, structure, (weight, self._given(potentials)), out)

    def _given(self, potentials: Potentials) -> tuple[tuple[bool, bool], int]:
        """The sides whose labels are given, and the order of the chain."""
        return (self.left, self.right), 2 if has_triples(potentials) else 1


@kernel
def _conditionals(potentials, y, structure, given, out, value):
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    weight, (sides, order) = given
    K = potentials.node.shape[1]
    rows = np.empty((MOST, 3), np.int64)
    row = np.empty(padded(K))
    for i in range(len(weight)):
        loss = 0.0
        product = 1.0
        lo = offsets[i]
        hi = offsets[i + 1] if weight[i] != 0.0 else offsets[i]
        for t in range(lo, hi):
            place = (t, rows, beside(y, t, (lo, hi, edge_offsets[i], order), sides, K, rows))
            _scores(potentials, place, -np.inf, row)
            score = row[y[t]]
            top, mass = softmax(row)
            loss += top - score if score > -np.inf else np.inf
            product *= mass
            if not product < 1e100:  # a logarithm now and then instead of one a token
                loss = loss + np.log(product)
                product = 1.0
            _add(row, weight[i], place, out)
            _subtract(y[t], weight[i], place, out)
        value[i] = loss + np.log(product) if product > 0.0 else np.inf


@kernel
def _covariances(potentials, direction, y, structure, given, out):
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    weight, (sides, order) = given
    K = potentials.node.shape[1]
    rows = np.empty((MOST, 3), np.int64)
    row = np.empty(padded(K))
    slope = np.empty(padded(K))
    for i in range(len(weight)):
        lo = offsets[i]
        hi = offsets[i + 1] if weight[i] != 0.0 else offsets[i]
        for t in range(lo, hi):
            place = (t, rows, beside(y, t, (lo, hi, edge_offsets[i], order), sides, K, rows))
            _scores(potentials, place, -np.inf, row)
            _scores(direction, place, 0.0, slope)
            softmax(row)
            mean = 0.0
            for k in range(len(row)):
                mean += row[k] * slope[k]
            for k in range(len(row)):
                row[k] *= slope[k] - mean
            _add(row, weight[i], place, out)


@kernel
def _scores(potentials, place, fill, row):
    """The scores of the labels of a token, with the rows of edges that they have beside those
    given.
    """
    node = potentials.node
    edge = potentials.edge
    t, rows, n = place
    K = node.shape[1]
    width = edge.shape[1]
    last = edge.shape[0] - 1
    low = node.dtype.type(fill)
    whole = _whole(rows, n)
    for k in range(0, K, LANES):
        x = cast(load_part(node, t * K + k, K - k, low), row)
        for r in range(whole):
            o = min(rows[r, 0], last) * width + rows[r, 1]
            x = add(cast(load_part(edge, o + k, K - k, low), row), x)
        store(row, k, x)
    for r in range(whole, n):
        o = min(rows[r, 0], last) * width + rows[r, 1]
        step = rows[r, 2]
        for k in range(K):
            row[k] += at(edge, o + k * step)


@kernel
def _whole(rows, n):
    """How many rows are consecutive numbers."""
    for r in range(n):
        if rows[r, 2] != 1:
            return r
    return n


@kernel
def _subtract(label, weight, place, out):
    """Subtract the indicators of a labelling at one token."""
    node = out.node
    edge = out.edge
    t, rows, n = place
    node[t, label] -= weight
    for r in range(n):
        edge[min(rows[r, 0], edge.shape[0] - 1), rows[r, 1] + label * rows[r, 2]] -= weight


@kernel
def _add(row, weight, place, out):
    """Add a weighted row to the derivatives in all potentials that it is made of."""
    node = out.node
    edge = out.edge
    t, rows, n = place
    K = node.shape[1]
    width = edge.shape[1]
    last = edge.shape[0] - 1
    scale = splat(weight)
    whole = _whole(rows, n)
    for k in range(0, K, LANES):
        x = load(row, k)
        store_part(node, t * K + k, fma(x, scale, load_part(node, t * K + k, K - k, 0.0)), K - k)
        for r in range(whole):
            o = min(rows[r, 0], last) * width + rows[r, 1] + k
            store_part(edge, o, fma(x, scale, load_part(edge, o, K - k, 0.0)), K - k)
    for r in range(whole, n):
        e = min(rows[r, 0], last)
        column = rows[r, 1]
        step = rows[r, 2]
        for k in range(K):
            edge[e, column + k * step] += weight * row[k]
