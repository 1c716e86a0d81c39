"""Piecewise training with the smallest pieces: each factor is normalised alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import padded
from sklearn_struct.compiled.softmax import softmax
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.losses.conditionals import Conditionals
from sklearn_struct.losses.triples import has_triples

__all__ = ["Factors"]

NODES = Conditionals(left=False, right=False)


class Factors:
    """The loss of a chain cut into single factors (Sutton & McCallum, UAI 2005).

        sum_t -log p_t(y_t) + sum_t -log p_{t,t+1}(y_t, y_{t+1}),

    with p_t(k) = exp(node[t, k]) / sum of these over the labels, and p_{t,t+1}(j, k) = exp(edge[t,
    j, k]) / sum of these over all pairs. In a chain of second order the factor of an edge is one of
    three labels, but for the first edge: exp(pair[t, j, k] + triple[t, i, j, k]) over the sum of
    these over all triples. By the inequality of the sum of products it bounds -log p(y | x) from
    above.
    """

    convex = True
    token_weights = False

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
        NODES(potentials, y, structure, weight, out, value)
        for factors in _factors(potentials, structure):
            codes = (
                _codes(y, structure, potentials.node.shape[1])
                % potentials.node.shape[1] ** factors.size
            )
            _edges(potentials.edge, codes, factors, weight, out.edge, value)

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
        NODES.hess_vec(potentials, direction, y, structure, weight, out)
        for factors in _factors(potentials, structure):
            _edge_covariances(potentials.edge, direction.edge, factors, weight, out.edge)


class _Factors(NamedTuple):
    """The edges of each example whose factors are of `size` labels, from ``first[i]`` to
    ``stop[i]``.
    """

    size: int
    first: np.ndarray
    stop: np.ndarray
    n_pairs: int


def _factors(potentials: Potentials, structure: Structure) -> list[_Factors]:
    first = structure.edge_offsets[:-1]
    stop = structure.edge_offsets[1:]
    n_pairs = potentials.node.shape[1] ** 2
    if not has_triples(potentials):
        return [_Factors(2, first, stop, n_pairs)]
    second = np.minimum(first + 1, stop)
    return [_Factors(2, first, second, n_pairs), _Factors(3, second, stop, n_pairs)]


def _codes(y: np.ndarray, structure: Structure, K: int) -> np.ndarray:
    """The triple that ends with each edge; of first edges only the pair has a meaning."""
    left, right = y[structure.edges.T].astype(np.int64)
    return (np.concatenate([left[:1], left])[: len(left)] * K + left) * K + right


@kernel
def _edges(edge, codes, factors, weight, out, value):
    """Add the losses of edges, and their derivatives; a table that all share is normalised once."""
    step = 0 if edge.shape[0] == 1 else 1
    out_step = 0 if out.shape[0] == 1 else 1
    n = _n_columns(factors, edge)
    row = np.empty(padded(n))
    norm = 0.0
    mass = 0.0
    for e in range(min(len(edge), 1)):
        norm = _normalise(edge, e, factors, row)
    for i in range(len(weight)):
        for e in range(factors.first[i], factors.stop[i] if weight[i] != 0.0 else factors.first[i]):
            if step == 1:
                norm = _normalise(edge, e, factors, row)
            value[i] += norm - _score(edge, step * e, codes[e], factors)
            _add(-weight[i], out, out_step * e, codes[e], factors)
            mass += weight[i]
            for p in range(n if step == 1 or out_step == 1 else 0):
                _add(weight[i] * row[p], out, out_step * e, p, factors)
    for p in range(n if step == 0 and out_step == 0 else 0):
        _add(mass * row[p], out, 0, p, factors)


@kernel
def _edge_covariances(edge, direction, factors, weight, out):
    step = 0 if edge.shape[0] == 1 else 1
    out_step = 0 if out.shape[0] == 1 else 1
    n = _n_columns(factors, edge)
    direction_step = 0 if direction.shape[0] == 1 else 1
    row = np.empty(padded(n))
    for i in range(len(weight)):
        for e in range(factors.first[i], factors.stop[i] if weight[i] != 0.0 else factors.first[i]):
            if step == 1 or e == factors.first[i]:
                _normalise(edge, step * e, factors, row)
            mean = 0.0
            for p in range(n):
                mean += row[p] * _score(direction, direction_step * e, p, factors)
            for p in range(n):
                slope = _score(direction, direction_step * e, p, factors) - mean
                _add(weight[i] * row[p] * slope, out, out_step * e, p, factors)


@kernel
def _n_columns(factors, edge):
    """Number of labellings of a factor."""
    return factors.n_pairs if factors.size == 2 else edge.shape[1] - factors.n_pairs


@kernel
def _score(edge, e, p, factors):
    """The score of one labelling of a factor: that of its last pair and, of three labels, of the
    triple.
    """
    if factors.size == 2:
        return edge[e, p]
    return edge[e, p % factors.n_pairs] + edge[e, factors.n_pairs + p]


@kernel
def _add(number, out, e, p, factors):
    """The transpose of `_score`."""
    if factors.size == 2:
        out[e, p] += number
    else:
        out[e, p % factors.n_pairs] += number
        out[e, factors.n_pairs + p] += number


@kernel
def _normalise(edge, e, factors, row):
    """Probabilities of the labellings of one factor; return the logarithm of their sum."""
    n = _n_columns(factors, edge)
    for p in range(len(row)):
        row[p] = _score(edge, e, p, factors) if p < n else -np.inf
    top, mass = softmax(row)
    return top + np.log(mass)
