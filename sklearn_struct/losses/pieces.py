"""Piecewise training on any structure: each clique is normalised alone, with shares of its nodes'
scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import padded
from sklearn_struct.compiled.softmax import softmax
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.inference.graphs.flat_scores import (
    Cliques,
    FlatScores,
    add_to,
    cliques_of,
    first_score,
    flat_scores,
)
from sklearn_struct.inference.graphs.remembered import of_structure
from sklearn_struct.losses.base import Batch, Loss

__all__ = ["Pieces"]

EXP = 4  # an exponential takes as long as so many sums


class Pieces(Loss):
    """The loss of a graph cut into its cliques (Sutton & McCallum, UAI 2005; P1 5.4.3).

        sum_c -log p_c(y_c),   p_c(y_c) ~ exp(score of the clique + sum_i share_i * score of node i)

    over the nodes i of clique c. The share of a node is 1 / the number of its cliques, so that each
    score counts once. A node without cliques is a piece of its own. By the inequality of the sum of
    products it bounds -log p(y | x) from above. No inference is needed: belief propagation that has
    made no sweep has these probabilities, where cliques have the scores of their nodes.

    Parameters
    ----------
    share_nodes : bool, default=True
        If False, all nodes are pieces of their own, and cliques have no share of them: on chains of
        first order that is `Factors`.
    """

    twice_differentiable = True

    def __init__(self, share_nodes: bool = True) -> None:
        self.share_nodes = share_nodes

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The derivative is probabilities minus indicators."""
        potentials, evidence, structure, weight = batch
        y = evidence.known_labels()
        pieces = self._pieces(structure)
        scores = flat_scores(potentials)
        into = flat_scores(out, empty=True)
        examples = structure.offsets, weight
        patiently(
            lambda: _losses(scores, pieces.cliques, pieces.share, y, examples, into, value),
            _n_steps(potentials, structure),
        )
        add_to(out, into)

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """Covariances with the scores of the direction."""
        potentials, _, structure, weight = batch
        pieces = self._pieces(structure)
        scores = flat_scores(potentials), flat_scores(direction)
        into = flat_scores(out, empty=True)
        examples = structure.offsets, weight
        patiently(
            lambda: _covariances(scores, pieces.cliques, pieces.share, examples, into),
            _n_steps(potentials, structure),
        )
        add_to(out, into)

    def _pieces(self, structure: Structure) -> _Pieces:
        key = "pieces", self.share_nodes
        return of_structure(structure, key, lambda: _pieces(structure, self.share_nodes))


class _Pieces(NamedTuple):
    """Cliques, and the share (n,) of each node's score that each of its cliques has; 0 where the
    node is a piece of its own.
    """

    cliques: Cliques
    share: np.ndarray


def _pieces(structure: Structure, share_nodes: bool) -> _Pieces:
    cliques = cliques_of(structure)
    degree = np.bincount(cliques.members, minlength=int(structure.offsets[-1]))
    share = np.zeros(len(degree))
    np.divide(1.0, degree, where=(degree > 0) & share_nodes, out=share)
    return _Pieces(cliques, share)


def _n_steps(potentials: Potentials, structure: Structure) -> int:
    tables = zip(potentials.cliques, structure.families, strict=True)
    numbers: int = sum(table.shape[1] * len(family.nodes) for table, family in tables)
    n_steps: int = EXP * (potentials.node.size + numbers)
    return n_steps


@kernel
def _losses(
    scores: FlatScores,
    cliques: Cliques,
    share: np.ndarray,
    y: np.ndarray,
    examples: tuple[np.ndarray, np.ndarray],
    out: FlatScores,
    value: np.ndarray,
) -> None:
    offsets, weight = examples
    ranges = cliques.ranges
    K = scores.node.shape[1]
    for i in range(len(weight)):
        loss = 0.0
        row = np.empty(padded(K))
        for v in range(offsets[i], offsets[i + 1] if weight[i] != 0.0 else offsets[i]):
            if share[v] == 0.0:
                _node(scores.node, v, -np.inf, row)
                loss += _normalise(row, y[v], weight[i])
                _add_node(row, v, out.node)
        for f in range(ranges.shape[1] if weight[i] != 0.0 else 0):
            for c in range(ranges[i, f, 0], ranges[i, f, 1]):
                size = cliques.bounds[c + 1] - cliques.bounds[c]
                if c == ranges[i, f, 0]:
                    row = np.empty(padded(K**size))
                _clique(scores, cliques, c, share, -np.inf, row)
                column = 0
                for p in range(cliques.bounds[c], cliques.bounds[c + 1]):
                    column = column * K + y[cliques.members[p]]
                loss += _normalise(row, column, weight[i])
                _add_clique(row, cliques, c, share, out)
        value[i] = loss


@kernel
def _covariances(
    scores: tuple[FlatScores, FlatScores],
    cliques: Cliques,
    share: np.ndarray,
    examples: tuple[np.ndarray, np.ndarray],
    out: FlatScores,
) -> None:
    potentials, direction = scores
    offsets, weight = examples
    ranges = cliques.ranges
    K = potentials.node.shape[1]
    for i in range(len(weight)):
        row = np.empty(padded(K))
        slope = np.empty(padded(K))
        for v in range(offsets[i], offsets[i + 1] if weight[i] != 0.0 else offsets[i]):
            if share[v] == 0.0:
                _node(potentials.node, v, -np.inf, row)
                _node(direction.node, v, 0.0, slope)
                _covary(row, slope, weight[i])
                _add_node(row, v, out.node)
        for f in range(ranges.shape[1] if weight[i] != 0.0 else 0):
            for c in range(ranges[i, f, 0], ranges[i, f, 1]):
                size = cliques.bounds[c + 1] - cliques.bounds[c]
                if c == ranges[i, f, 0]:
                    row = np.empty(padded(K**size))
                    slope = np.empty(padded(K**size))
                _clique(potentials, cliques, c, share, -np.inf, row)
                _clique(direction, cliques, c, share, 0.0, slope)
                _covary(row, slope, weight[i])
                _add_clique(row, cliques, c, share, out)


@kernel
def _node(of_nodes: np.ndarray, v: int, fill: float, row: np.ndarray) -> None:
    """The scores of a node's labels; `fill` behind the last."""
    for k in range(len(row)):
        row[k] = of_nodes[v, k] if k < of_nodes.shape[1] else fill


@kernel
def _clique(
    scores: FlatScores, cliques: Cliques, c: int, share: np.ndarray, fill: float, row: np.ndarray
) -> None:
    """The scores of the labellings of a clique, with the shares of its nodes."""
    tables = scores.tables
    of_nodes = scores.node
    K = of_nodes.shape[1]
    width = K ** (cliques.bounds[c + 1] - cliques.bounds[c])
    start = first_score(scores, cliques, c)
    for column in range(len(row)):
        row[column] = tables[start + column] if column < width else fill
    stride = width
    for p in range(cliques.bounds[c], cliques.bounds[c + 1]):
        v = cliques.members[p]
        stride //= K
        # else a forbidden label would be -inf times 0
        if share[v] == 0.0:
            continue
        for first in range(0, width, stride * K):
            for k in range(K):
                x = share[v] * of_nodes[v, k]
                for column in range(first + k * stride, first + (k + 1) * stride):
                    row[column] += x


@kernel
def _normalise(row: np.ndarray, column: int, weight: float) -> float:
    """Weighted probabilities less the indicator of one labelling; return its loss."""
    score = row[column]
    top, mass = softmax(row)
    for k in range(len(row)):
        row[k] *= weight
    row[column] -= weight
    # what is forbidden has probability 0; -inf - -inf would be nan
    loss: float = top - score + np.log(mass) if score > -np.inf else np.inf
    return loss


@kernel
def _covary(row: np.ndarray, slope: np.ndarray, weight: float) -> None:
    """Weighted covariances of indicators with the slopes, in the place of scores."""
    softmax(row)
    mean = 0.0
    for k in range(len(row)):
        mean += row[k] * slope[k]
    for k in range(len(row)):
        row[k] *= weight * (slope[k] - mean)


@kernel
def _add_node(row: np.ndarray, v: int, of_nodes: np.ndarray) -> None:
    for k in range(of_nodes.shape[1]):
        of_nodes[v, k] += row[k]


@kernel
def _add_clique(
    row: np.ndarray, cliques: Cliques, c: int, share: np.ndarray, out: FlatScores
) -> None:
    """Add a row to the sums of a clique, and the shares of its nodes in it to theirs."""
    tables = out.tables
    of_nodes = out.node
    K = of_nodes.shape[1]
    width = K ** (cliques.bounds[c + 1] - cliques.bounds[c])
    start = first_score(out, cliques, c)
    for column in range(width):
        tables[start + column] += row[column]
    stride = width
    for p in range(cliques.bounds[c], cliques.bounds[c + 1]):
        v = cliques.members[p]
        stride //= K
        if share[v] == 0.0:
            continue
        for first in range(0, width, stride * K):
            for k in range(K):
                mass = 0.0
                for column in range(first + k * stride, first + (k + 1) * stride):
                    mass += row[column]
                of_nodes[v, k] += share[v] * mass
