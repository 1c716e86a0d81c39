"""Piecewise training with the smallest pieces: each factor is normalised alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import padded
from sklearn_struct.compiled.softmax import softmax
from sklearn_struct.containers.structures import Potentials, Structure, columns_of
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.conditionals import Conditionals

__all__ = ["Factors"]

NODES = Conditionals(left=False, right=False)

# of a family, and before it of all narrower ones
Tables: TypeAlias = tuple[np.ndarray, ...]


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
        K = batch.potentials.node.shape[1]
        for f, factors in enumerate(_factors(batch.structure)):
            codes = columns_of(y, batch.structure.families[f], K)
            tables = batch.potentials.cliques[: f + 1]
            _losses(tables, codes, factors, batch.weight, out.cliques[: f + 1], value)

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """Covariances with the scores of the direction."""
        NODES.hess_vec(batch, direction, out)
        for f, factors in enumerate(_factors(batch.structure)):
            tables = batch.potentials.cliques[: f + 1]
            towards = direction.cliques[: f + 1]
            _covariances(tables, towards, factors, batch.weight, out.cliques[: f + 1])


class _Factors(NamedTuple):
    """The cliques of one family that are factors: of example i those from ``first[i]`` to
    ``stop[i]``.

    What narrower cliques with the same last node score belongs to the factor: that of family g is
    the one with the number of the clique + ``shifts[g, i]``.
    """

    first: np.ndarray
    stop: np.ndarray
    shifts: np.ndarray


def _factors(structure: Structure) -> Iterator[_Factors]:
    """Those of each family, without cliques that belong to the factor of a wider one. The first
    cliques of a chain do not, as no wider ones end with them.
    """
    counts = [np.diff(family.offsets) for family in structure.families]
    none = np.zeros(structure.n_examples, np.int64)
    for f, (family, wider) in enumerate(zip(structure.families, [*counts[1:], none], strict=True)):
        first = family.offsets[:-1]
        narrower = structure.families[: f + 1]
        shifts = [other.offsets[:-1] - first + f - g for g, other in enumerate(narrower)]
        yield _Factors(first, first + counts[f] - wider, np.array(shifts))


@kernel
def _losses(
    tables: Tables,
    codes: np.ndarray,
    factors: _Factors,
    weight: np.ndarray,
    out: Tables,
    value: np.ndarray,
) -> None:
    """Add the losses of factors, and their derivatives; what all share is normalised once."""
    shared = _is_shared(tables)
    summed = shared and _is_shared(out)
    n = tables[-1].shape[1]
    row = np.empty(padded(n))
    norm = 0.0
    mass = 0.0
    # one normaliser for all factors
    if shared:
        norm = _normalise(tables, 0, 0, factors, row)
    for i in range(len(weight)):
        for c in range(factors.first[i], factors.stop[i] if weight[i] != 0.0 else factors.first[i]):
            if not shared:
                norm = _normalise(tables, c, i, factors, row)
            value[i] += norm - _score(tables, c, i, codes[c], factors)
            _subtract(weight[i], out, c, i, codes[c], factors)
            mass += weight[i]
            if not summed:
                _add(weight[i], row, out, c, i, factors)
    # all factors have the same probabilities: they are added once, times the weight of all
    if summed:
        for k in range(n):
            row[k] *= mass  # rounded here, and not fused with the sum
        _add(1.0, row, out, 0, 0, factors)


@kernel
def _covariances(
    tables: Tables, direction: Tables, factors: _Factors, weight: np.ndarray, out: Tables
) -> None:
    shared = _is_shared(tables)
    n = tables[-1].shape[1]
    p = np.empty(padded(n))
    slope = np.empty(padded(n))
    product = np.empty(n)
    for i in range(len(weight)):
        for c in range(factors.first[i], factors.stop[i] if weight[i] != 0.0 else factors.first[i]):
            if not shared or c == factors.first[i]:
                _normalise(tables, c, i, factors, p)
            _scores(direction, c, i, factors, slope)
            mean = 0.0
            for k in range(n):
                mean += p[k] * slope[k]
            for k in range(n):
                product[k] = weight[i] * p[k] * (slope[k] - mean)
            _add(1.0, product, out, c, i, factors)


@kernel
def _is_shared(tables: Tables) -> bool:
    """Whether all factors have the same scores."""
    shared = True
    for g in range(len(tables)):
        shared = shared and len(tables[g]) == 1
    return shared


@kernel
def _row(table: np.ndarray, c: int, i: int, g: int, factors: _Factors) -> int:
    """The row that clique c of example i has in the table of family g."""
    row: int = 0 if len(table) == 1 else c + factors.shifts[g, i]
    return row


@kernel
def _score(tables: Tables, c: int, i: int, column: int, factors: _Factors) -> float:
    """The score of one labelling of a factor: its last labels are those of narrower cliques."""
    own = tables[-1]
    wide = len(tables) - 1
    score: float = own[_row(own, c, i, wide, factors), column]
    for g in range(wide):
        table = tables[g]
        score = score + table[_row(table, c, i, g, factors), column % table.shape[1]]
    return score


@kernel
def _scores(tables: Tables, c: int, i: int, factors: _Factors, scores: np.ndarray) -> None:
    """Write the scores of all labellings of a factor."""
    n = tables[-1].shape[1]
    for g in range(len(tables)):
        table = tables[g]
        r = _row(table, c, i, g, factors)
        width = table.shape[1]
        for first in range(0, n, width):
            for k in range(width):
                # in the type of the tables, as `_score` adds
                before = table.dtype.type(scores[first + k] if g > 0 else 0.0)
                scores[first + k] = before + table[r, k]


@kernel
def _normalise(tables: Tables, c: int, i: int, factors: _Factors, row: np.ndarray) -> float:
    """Probabilities of the labellings of one factor; return the logarithm of their sum."""
    _scores(tables, c, i, factors, row)
    # -inf in the padding up to whole vectors, which must have no probability
    row[tables[-1].shape[1] :] = -np.inf
    top, mass = softmax(row)
    total: float = top + np.log(mass)
    return total


@kernel
def _subtract(weight: float, out: Tables, c: int, i: int, column: int, factors: _Factors) -> None:
    """Subtract the indicator of one labelling of a factor."""
    own = out[-1]
    wide = len(out) - 1
    own[_row(own, c, i, wide, factors), column] -= weight
    for g in range(wide):
        table = out[g]
        table[_row(table, c, i, g, factors), column % table.shape[1]] -= weight


@kernel
def _add(
    weight: float, numbers: np.ndarray, out: Tables, c: int, i: int, factors: _Factors
) -> None:
    """Add weighted numbers of all labellings of a factor, to all tables with scores of it."""
    own = out[-1]
    wide = len(out) - 1
    r = _row(own, c, i, wide, factors)
    for k in range(own.shape[1]):
        number = weight * numbers[k]
        own[r, k] += number
        for g in range(wide):
            table = out[g]
            table[_row(table, c, i, g, factors), k % table.shape[1]] += number
