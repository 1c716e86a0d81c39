"""Piecewise training with the smallest pieces: each factor is normalised alone."""

from __future__ import annotations

import numpy as np

from sklearn_struct.batch import Potentials, Structure
from sklearn_struct.inference.softmax import softmax
from sklearn_struct.kernel import kernel
from sklearn_struct.losses.conditionals import Conditionals
from sklearn_struct.simd import padded

__all__ = ["Factors"]

NODES = Conditionals(left=False, right=False)


class Factors:
    """The loss of a chain cut into single factors (Sutton & McCallum, UAI 2005).

        sum_t -log p_t(y_t) + sum_t -log p_{t,t+1}(y_t, y_{t+1}),

    with p_t(k) = exp(node[t, k]) / sum of these over the labels, and p_{t,t+1}(j, k) = exp(edge[t, j, k]) / sum of
    these over all pairs. By the inequality of the sum of products it bounds -log p(y | x) from above.
    """

    convex, token_weights = True, False

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
        NODES(potentials, y, structure, weight, out, value)
        _edges(potentials.edge, _pairs(y, structure, potentials), structure.edge_offsets, weight, out.edge, value)

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
        NODES.hess_vec(potentials, direction, y, structure, weight, out)
        _edge_covariances(potentials.edge, direction.edge, structure.edge_offsets, weight, out.edge)


def _pairs(y: np.ndarray, structure: Structure, potentials: Potentials) -> np.ndarray:
    left, right = structure.edges.T
    return y[left].astype(np.int64) * potentials.node.shape[1] + y[right]


@kernel
def _edges(edge, pairs, edge_offsets, weight, out, value):
    """Add the losses of edges, and their derivatives; a table that all share is normalised once."""
    width, step, out_step = edge.shape[1], 0 if edge.shape[0] == 1 else 1, 0 if out.shape[0] == 1 else 1
    row, norm, mass = np.empty(padded(width)), 0.0, 0.0
    for e in range(min(len(edge), 1)):
        norm = _normalise(edge, e, row)
    for i in range(len(weight)):
        for e in range(edge_offsets[i], edge_offsets[i + 1] if weight[i] != 0.0 else edge_offsets[i]):
            if step == 1:
                norm = _normalise(edge, e, row)
            value[i] += norm - edge[step * e, pairs[e]]
            out[out_step * e, pairs[e]] -= weight[i]
            mass += weight[i]
            for p in range(width if step == 1 or out_step == 1 else 0):
                out[out_step * e, p] += weight[i] * row[p]
    for p in range(width if step == 0 and out_step == 0 else 0):
        out[0, p] += mass * row[p]


@kernel
def _edge_covariances(edge, direction, edge_offsets, weight, out):
    width, step, out_step = edge.shape[1], 0 if edge.shape[0] == 1 else 1, 0 if out.shape[0] == 1 else 1
    direction_step, row = 0 if direction.shape[0] == 1 else 1, np.empty(padded(width))
    for i in range(len(weight)):
        for e in range(edge_offsets[i], edge_offsets[i + 1] if weight[i] != 0.0 else edge_offsets[i]):
            if step == 1 or e == edge_offsets[i]:
                _normalise(edge, step * e, row)
            mean = 0.0
            for p in range(width):
                mean += row[p] * direction[direction_step * e, p]
            for p in range(width):
                out[out_step * e, p] += weight[i] * row[p] * (direction[direction_step * e, p] - mean)


@kernel
def _normalise(edge, e, row):
    """Probabilities of the pairs of one table; return the logarithm of its sum."""
    for p in range(len(row)):
        row[p] = edge[e, p] if p < edge.shape[1] else -np.inf
    top, mass = softmax(row)
    return top + np.log(mass)
