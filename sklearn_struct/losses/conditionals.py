"""Minus the log-probabilities of single labels given the true labels beside them: pseudolikelihood and MEMM."""

from __future__ import annotations

import numpy as np

from sklearn_struct.batch import Potentials, Structure
from sklearn_struct.inference.softmax import softmax
from sklearn_struct.kernel import kernel
from sklearn_struct.simd import LANES, add, cast, fma, load, load_part, padded, splat, store, store_part

__all__ = ["Conditionals"]


class Conditionals:
    """The loss sum_t -log p(y_t | given neighbours, x), each normalised over the labels of that token alone.

        both neighbours     Besag's pseudolikelihood, sum_t -log p(y_t | y_{t-1}, y_{t+1}, x) (P1 5.23)
        the left one        a maximum-entropy Markov model, -log p(y | x) = sum_t -log p(y_t | y_{t-1}, x)
        neither             node factors, each a piece of its own

    It is what `Windows` is for windows of one token, in a few operations a label instead of a chain for each token.

    Parameters
    ----------
    left, right : bool, default=True
        Whether the label of the token before, and of the one behind, is given.
    """

    convex, token_weights = True, False

    def __init__(self, left: bool = True, right: bool = True) -> None:
        self.left, self.right = left, right

    def __call__(
        self,
        potentials: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        value: np.ndarray,
    ) -> None:
        """Write ``value[i]``; add ``weight[i]`` times its derivative, probabilities minus indicators, to `out`."""
        _conditionals(potentials, y, structure, (weight, self.left, self.right), out, value)

    def hess_vec(
        self,
        potentials: Potentials,
        direction: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
    ) -> None:
        """Add ``weight[i]`` times the second derivative in a direction, covariances with its scores, to `out`."""
        _covariances(potentials, direction, y, structure, (weight, self.left, self.right), out)


@kernel
def _conditionals(potentials, y, structure, given, out, value):
    offsets, edge_offsets, (weight, left, right) = structure.offsets, structure.edge_offsets, given
    row = np.empty(padded(potentials.node.shape[1]))
    for i in range(len(weight)):
        loss, product = 0.0, 1.0
        lo, hi = offsets[i], offsets[i + 1] if weight[i] != 0.0 else offsets[i]
        for t in range(lo, hi):
            before = np.int64(y[t - 1]) if left and t > lo else -1
            after = np.int64(y[t + 1]) if right and t + 1 < hi else -1
            place = (t, edge_offsets[i] + t - 1 - lo, before, after)
            _scores(potentials, place, -np.inf, row)
            score = row[y[t]]
            top, mass = softmax(row)
            loss += top - score if score > -np.inf else np.inf
            product *= mass
            if not product < 1e100:  # a logarithm now and then instead of one a token
                loss, product = loss + np.log(product), 1.0
            _add(row, weight[i], place, out)
            _subtract(y[t], weight[i], place, out)
        value[i] = loss + np.log(product) if product > 0.0 else np.inf


@kernel
def _covariances(potentials, direction, y, structure, given, out):
    offsets, edge_offsets, (weight, left, right) = structure.offsets, structure.edge_offsets, given
    row, slope = np.empty(padded(potentials.node.shape[1])), np.empty(padded(potentials.node.shape[1]))
    for i in range(len(weight)):
        lo, hi = offsets[i], offsets[i + 1] if weight[i] != 0.0 else offsets[i]
        for t in range(lo, hi):
            before = np.int64(y[t - 1]) if left and t > lo else -1
            after = np.int64(y[t + 1]) if right and t + 1 < hi else -1
            place = (t, edge_offsets[i] + t - 1 - lo, before, after)
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
    """The scores of the labels of a token beside those given (-1: none); `fill` behind the last."""
    node, edge, (t, e, before, after) = potentials.node, potentials.edge, place
    K, step, low = node.shape[1], 0 if edge.shape[0] == 1 else 1, node.dtype.type(fill)
    o = (step * e * K + before) * K
    for k in range(0, K, LANES):
        x = cast(load_part(node, t * K + k, K - k, low), row)
        if before >= 0:
            x = add(cast(load_part(edge, o + k, K - k, low), row), x)
        store(row, k, x)
    if after >= 0:
        for k in range(K):
            row[k] += edge[step * (e + 1), k * K + after]


@kernel
def _subtract(label, weight, place, out):
    """Subtract the indicators of a labelling at one token."""
    node, edge, (t, e, before, after) = out.node, out.edge, place
    K, step = node.shape[1], 0 if edge.shape[0] == 1 else 1
    node[t, label] -= weight
    if before >= 0:
        edge[step * e, before * K + label] -= weight
    if after >= 0:
        edge[step * (e + 1), label * K + after] -= weight


@kernel
def _add(row, weight, place, out):
    """Add a weighted row to the derivatives in all potentials that it is made of."""
    node, edge, (t, e, before, after) = out.node, out.edge, place
    K, step, scale = node.shape[1], 0 if edge.shape[0] == 1 else 1, splat(weight)
    o = (step * e * K + before) * K
    for k in range(0, K, LANES):
        x = load(row, k)
        store_part(node, t * K + k, fma(x, scale, load_part(node, t * K + k, K - k, 0.0)), K - k)
        if before >= 0:
            store_part(edge, o + k, fma(x, scale, load_part(edge, o + k, K - k, 0.0)), K - k)
    if after >= 0:
        for k in range(K):
            edge[step * (e + 1), k * K + after] += weight * row[k]
