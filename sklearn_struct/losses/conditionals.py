"""Minus the log-probabilities of single labels given the true labels beside them: pseudolikelihood
and MEMM.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
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
from sklearn_struct.containers.structures import Potentials
from sklearn_struct.inference.chains.flat_tuples import (
    TripleLinks,
    Triples,
    with_triple_links,
    with_triples,
)
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.scores_beside_labels import MOST, beside

__all__ = ["Conditionals"]


class Conditionals(Loss):
    """The loss sum_t -log p(y_t | given neighbours, x), each normalised over the labels of that
    token alone.

        both neighbours  Besag's pseudolikelihood, sum_t -log p(y_t | y_{t-1}, y_{t+1}, x) (P1 5.23)
        the left one     an MEMM, -log p(y | x) = sum_t -log p(y_t | y_{t-1}, x)
        neither          node factors, each a piece of its own

    In chains of second order two labels on a side are given, (y_{t-2}, y_{t-1}) and (y_{t+1},
    y_{t+2}): what is scored among them and y_t counts. It is what `Windows` is for windows of one
    token, in a few operations a label instead of a chain for each token.

    Parameters
    ----------
    left, right : bool, default=True
        Whether the labels of the tokens before, and of those behind, are given.
    """

    twice_differentiable = True

    def __init__(self, left: bool = True, right: bool = True) -> None:
        self.left = left
        self.right = right

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative is probabilities minus indicators."""
        potentials, evidence, structure, weight = batch
        given = weight, (self.left, self.right)
        _conditionals(
            with_triples(potentials),
            evidence.known_labels(),
            with_triple_links(structure),
            given,
            with_triples(out),
            value,
        )

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """Covariances with the scores of the direction."""
        potentials, evidence, structure, weight = batch
        given = weight, (self.left, self.right)
        _covariances(
            with_triples(potentials),
            with_triples(direction),
            evidence.known_labels(),
            with_triple_links(structure),
            given,
            with_triples(out),
        )


@kernel
def _conditionals(
    potentials: Triples,
    y: np.ndarray,
    structure: TripleLinks,
    given: tuple[np.ndarray, tuple[bool, bool]],
    out: Triples,
    value: np.ndarray,
) -> None:
    offsets = structure.offsets
    weight, sides = given
    K = potentials.node.shape[1]
    width = potentials.triple.shape[1]
    rows = np.empty((MOST, 4), np.int64)
    row = np.empty(padded(K))
    for i in range(len(weight)):
        loss = 0.0
        product = 1.0
        lo = offsets[i]
        hi = offsets[i + 1] if weight[i] != 0.0 else offsets[i]
        bounds = (lo, hi, structure.edge_offsets[i], structure.triple_offsets[i], width)
        for t in range(lo, hi):
            # rows with step 1 come first: these are added as whole vectors
            place = (t, rows, beside(y, t, bounds, sides, K, rows))
            _scores(potentials, place, -np.inf, row)
            score = row[y[t]]
            top, mass = softmax(row)
            # a true label that is forbidden has probability 0; -inf - -inf would be nan
            loss += top - score if score > -np.inf else np.inf
            # at least 1 each, as the best label adds exp(0), so that the product can only grow
            product *= mass
            if not product < 1e100:  # a logarithm now and then instead of one a token
                loss = loss + np.log(product)
                product = 1.0
            _add(row, weight[i], place, out)
            _subtract(y[t], weight[i], place, out)
        # a token without an allowed label has no mass, and its sequence no probability
        value[i] = loss + np.log(product) if product > 0.0 else np.inf


@kernel
def _covariances(
    potentials: Triples,
    direction: Triples,
    y: np.ndarray,
    structure: TripleLinks,
    given: tuple[np.ndarray, tuple[bool, bool]],
    out: Triples,
) -> None:
    offsets = structure.offsets
    weight, sides = given
    K = potentials.node.shape[1]
    width = potentials.triple.shape[1]
    rows = np.empty((MOST, 4), np.int64)
    row = np.empty(padded(K))
    slope = np.empty(padded(K))
    for i in range(len(weight)):
        lo = offsets[i]
        hi = offsets[i + 1] if weight[i] != 0.0 else offsets[i]
        bounds = (lo, hi, structure.edge_offsets[i], structure.triple_offsets[i], width)
        for t in range(lo, hi):
            place = (t, rows, beside(y, t, bounds, sides, K, rows))
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
def _scores(
    potentials: Triples, place: tuple[int, np.ndarray, int], fill: float, row: np.ndarray
) -> None:
    """The scores of the labels of a token, with the rows of cliques that they have beside those
    given.
    """
    node = potentials.node
    edge = potentials.edge
    triple = potentials.triple
    t, rows, n = place
    K = node.shape[1]
    # behind the last label: -inf adds nothing to a softmax; in a direction it would be 0 times
    # infinity
    low = node.dtype.type(fill)
    whole = _whole(rows, n)
    for k in range(0, K, LANES):
        x = cast(load_part(node, t * K + k, K - k, low), row)
        for r in range(whole):
            o = _first(potentials, rows, r) + k
            if rows[r, 0] == 0:
                x = add(cast(load_part(edge, o, K - k, low), row), x)
            else:
                x = add(cast(load_part(triple, o, K - k, low), row), x)
        store(row, k, x)
    for r in range(whole, n):
        o = _first(potentials, rows, r)
        step = rows[r, 3]
        for k in range(K):
            row[k] += at(edge, o + k * step) if rows[r, 0] == 0 else at(triple, o + k * step)


@inlined
def _first(tables: Triples, rows: np.ndarray, r: int) -> int:
    """Where a row's scores begin in its table, counted from the table's first number."""
    if rows[r, 0] == 0:
        first: int = min(rows[r, 1], len(tables.edge) - 1) * tables.edge.shape[1] + rows[r, 2]
    else:
        first = min(rows[r, 1], len(tables.triple) - 1) * tables.triple.shape[1] + rows[r, 2]
    return first


@kernel
def _whole(rows: np.ndarray, n: int) -> int:
    """How many rows are consecutive numbers."""
    for r in range(n):
        if rows[r, 3] != 1:
            return r
    return n


@inlined
def _row(tables: Triples, rows: np.ndarray, r: int) -> int:
    """The number of a row's clique in its table."""
    n = len(tables.edge) if rows[r, 0] == 0 else len(tables.triple)
    row: int = min(rows[r, 1], n - 1)
    return row


@kernel
def _subtract(label: int, weight: float, place: tuple[int, np.ndarray, int], out: Triples) -> None:
    """Subtract the indicators of a labelling at one token."""
    t, rows, n = place
    out.node[t, label] -= weight
    for r in range(n):
        column = rows[r, 2] + label * rows[r, 3]
        if rows[r, 0] == 0:
            out.edge[_row(out, rows, r), column] -= weight
        else:
            out.triple[_row(out, rows, r), column] -= weight


@kernel
def _add(row: np.ndarray, weight: float, place: tuple[int, np.ndarray, int], out: Triples) -> None:
    """Add a weighted row to the derivatives in all potentials that it is made of."""
    node = out.node
    edge = out.edge
    triple = out.triple
    t, rows, n = place
    K = node.shape[1]
    scale = splat(weight)
    whole = _whole(rows, n)
    for k in range(0, K, LANES):
        x = load(row, k)
        store_part(node, t * K + k, fma(x, scale, load_part(node, t * K + k, K - k, 0.0)), K - k)
        for r in range(whole):
            o = _first(out, rows, r) + k
            if rows[r, 0] == 0:
                store_part(edge, o, fma(x, scale, load_part(edge, o, K - k, 0.0)), K - k)
            else:
                store_part(triple, o, fma(x, scale, load_part(triple, o, K - k, 0.0)), K - k)
    for r in range(whole, n):
        clique = _row(out, rows, r)
        column = rows[r, 2]
        step = rows[r, 3]
        for k in range(K):
            if rows[r, 0] == 0:
                edge[clique, column + k * step] += weight * row[k]
            else:
                triple[clique, column + k * step] += weight * row[k]
