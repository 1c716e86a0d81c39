"""Piecewise training with the smallest pieces: each factor is normalised alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import padded
from sklearn_struct.compiled.softmax import softmax
from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.chains.flat_tuples import Triples, with_triple_links, with_triples
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.conditionals import Conditionals

__all__ = ["Factors"]

NODES = Conditionals(left=False, right=False)


class Factors(Loss):
    """The loss of a chain cut into single factors (Sutton & McCallum, UAI 2005).

        sum_t -log p_t(y_t) + sum_t -log p_{t,t+1}(y_t, y_{t+1}),

    with p_t(k) = exp(node[t, k]) / sum of these over the labels, and p_{t,t+1}(j, k) = exp(edge[t,
    j, k]) / sum of these over all pairs. In a chain of second order the factor of an edge is one of
    three labels, but for the first edge: exp(pair[t, j, k] + triple[t, i, j, k]) over the sum of
    these over all triples. By the inequality of the sum of products it bounds -log p(y | x) from
    above.
    """

    twice_differentiable = True

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative is probabilities minus indicators."""
        NODES(batch, out, value)
        y = batch.evidence.known_labels()
        tables = with_triples(batch.potentials)
        for factors in _factors(batch):
            K = tables.node.shape[1]
            codes = _codes(y, factors, batch, K)
            _edges(tables, codes, factors, batch.weight, with_triples(out), value)

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """Covariances with the scores of the direction."""
        NODES.hess_vec(batch, direction, out)
        tables = with_triples(batch.potentials)
        for factors in _factors(batch):
            into = with_triples(out)
            _edge_covariances(tables, with_triples(direction), factors, batch.weight, into)


class _Factors(NamedTuple):
    """The edges of each example whose factors are of `size` labels, from ``first[i]`` to
    ``stop[i]``; the triple that ends with edge e is e + ``shift[i]``.
    """

    size: int
    first: np.ndarray
    stop: np.ndarray
    shift: np.ndarray


def _factors(batch: Batch) -> list[_Factors]:
    links = with_triple_links(batch.structure)
    first = links.edge_offsets[:-1]
    stop = links.edge_offsets[1:]
    shift = links.triple_offsets[:-1] - first - 1
    if len(batch.potentials.cliques) == 1:
        return [_Factors(2, first, stop, shift)]
    second = np.minimum(first + 1, stop)
    return [_Factors(2, first, second, shift), _Factors(3, second, stop, shift)]


def _codes(y: np.ndarray, factors: _Factors, batch: Batch, K: int) -> np.ndarray:
    """The label pair of each edge, or the triple that ends with it; of first edges only the pair
    has a meaning.
    """
    left, right = y[batch.structure.families[0].nodes.T].astype(np.int64)
    pairs: np.ndarray = left * K + right
    if factors.size == 2:
        return pairs
    # of each edge, the left label of the edge before it
    before = np.concatenate([left[:1], left])[: len(left)]
    triples: np.ndarray = before * batch.potentials.cliques[0].shape[1] + pairs
    return triples


@kernel
def _edges(
    tables: Triples,
    codes: np.ndarray,
    factors: _Factors,
    weight: np.ndarray,
    out: Triples,
    value: np.ndarray,
) -> None:
    """Add the losses of edges, and their derivatives; a table that all share is normalised once."""
    shared = _is_shared(tables, factors)
    out_shared = _is_shared(out, factors)
    n = _n_columns(factors, tables)
    row = np.empty(padded(n))
    norm = 0.0
    mass = 0.0
    # one normaliser for all edges
    if shared:
        norm = _normalise(tables, 0, 0, factors, row)
    for i in range(len(weight)):
        shift = factors.shift[i]
        for e in range(factors.first[i], factors.stop[i] if weight[i] != 0.0 else factors.first[i]):
            if not shared:
                norm = _normalise(tables, e, e + shift, factors, row)
            value[i] += norm - _score(tables, e, e + shift, codes[e], factors)
            _add(-weight[i], out, e, e + shift, codes[e], factors)
            mass += weight[i]
            for p in range(n if not (shared and out_shared) else 0):
                _add(weight[i] * row[p], out, e, e + shift, p, factors)
    # all edges have the same probabilities: they are added once, times the weight of all edges
    for p in range(n if shared and out_shared else 0):
        of_all = mass * row[p]
        out.edge[0, p % out.edge.shape[1]] += of_all
        if factors.size == 3:
            out.triple[0, p] += of_all


@kernel
def _edge_covariances(
    tables: Triples, direction: Triples, factors: _Factors, weight: np.ndarray, out: Triples
) -> None:
    shared = _is_shared(tables, factors)
    n = _n_columns(factors, tables)
    row = np.empty(padded(n))
    for i in range(len(weight)):
        shift = factors.shift[i]
        for e in range(factors.first[i], factors.stop[i] if weight[i] != 0.0 else factors.first[i]):
            if not shared or e == factors.first[i]:
                _normalise(tables, e, e + shift, factors, row)
            mean = 0.0
            for p in range(n):
                mean += row[p] * _score(direction, e, e + shift, p, factors)
            for p in range(n):
                slope = _score(direction, e, e + shift, p, factors) - mean
                _add(weight[i] * row[p] * slope, out, e, e + shift, p, factors)


@inlined
def _is_shared(tables: Triples, factors: _Factors) -> bool:
    """Whether all factors have the same scores."""
    return tables.edge.shape[0] == 1 and (factors.size == 2 or tables.triple.shape[0] == 1)


@kernel
def _n_columns(factors: _Factors, tables: Triples) -> int:
    """Number of labellings of a factor."""
    n: int = tables.edge.shape[1] if factors.size == 2 else tables.triple.shape[1]
    return n


@kernel
def _score(tables: Triples, e: int, m: int, p: int, factors: _Factors) -> float:
    """The score of one labelling of a factor: that of its last pair and, of three labels, of the
    triple.
    """
    edge = tables.edge
    triple = tables.triple
    row = min(e, edge.shape[0] - 1)
    if factors.size == 2:
        of_pair: float = edge[row, p]
        return of_pair
    of_three: float = edge[row, p % edge.shape[1]] + triple[min(m, triple.shape[0] - 1), p]
    return of_three


@kernel
def _add(number: float, out: Triples, e: int, m: int, p: int, factors: _Factors) -> None:
    """The transpose of `_score`."""
    edge = out.edge
    triple = out.triple
    row = min(e, edge.shape[0] - 1)
    if factors.size == 2:
        edge[row, p] += number
    else:
        edge[row, p % edge.shape[1]] += number
        triple[min(m, triple.shape[0] - 1), p] += number


@kernel
def _normalise(tables: Triples, e: int, m: int, factors: _Factors, row: np.ndarray) -> float:
    """Probabilities of the labellings of one factor; return the logarithm of their sum."""
    n = _n_columns(factors, tables)
    for p in range(len(row)):
        # -inf in the padding up to whole vectors, which must have no probability
        row[p] = _score(tables, e, m, p, factors) if p < n else -np.inf
    top, mass = softmax(row)
    total: float = top + np.log(mass)
    return total
