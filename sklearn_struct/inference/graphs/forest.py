"""Exact inference on graphs without cycles, of which chains are one kind: messages from the leaves
to the roots, and back.

All is done in logarithms. A message to a parent sums the scores of all that hangs on a child; the
one back sums those of the rest. With each number goes its derivative in the direction of a reward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials, Structure, n_columns, zeros
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.graphs.rooted_trees import RootedTrees, rooted

__all__ = ["Forest"]

# scores of nodes, of edges, their derivatives, and the edges
_Scores: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class _Messages(NamedTuple):
    """For each node: scores of its labels with all below it, the message to its parent, and scores
    with everything.

    Each is (2, n, K), scores and their derivatives. ``totals`` (2, n) are log Z of its tree.
    """

    inside: np.ndarray
    upward: np.ndarray
    everything: np.ndarray
    totals: np.ndarray


@dataclass(frozen=True)
class Forest(Inference):
    """Exact inference on structures whose one family are edges without cycles.

    An edge (a, b) scores label j of a and k of b in column j * K + k, whichever is nearer to a
    root. A token takes K ** 2 steps.
    """

    def most_tokens(self, structure: Structure, n_labels: int) -> int:
        """With how many nodes a call is still short."""
        return 20_000_000 // n_columns(n_labels, 2)

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals to `out`, write log Z; see `Inference.marginals`."""
        _sums(potentials, None, structure, weight, out, log_Z)

    def tangent(
        self,
        potentials: Potentials,
        reward: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        mean: np.ndarray,
    ) -> None:
        """Add weighted covariances with a reward to `out`; see `Inference.tangent`."""
        _sums(potentials, reward, structure, weight, out, mean)

    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Write the best labelling and, if asked for, its score; ties go to the smaller label."""
        node, table, edges = _tables(potentials, structure)
        trees = rooted(structure)
        best = np.empty(node.shape)
        patiently(lambda: _best(node, table, edges, trees, best, labels), node.size * node.shape[1])
        if score is not None:
            score[:] = self.scores(potentials, structure, labels)


def _tables(
    potentials: Potentials, structure: Structure
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    node, (table,) = potentials
    K = node.shape[1]
    node = np.ascontiguousarray(node, np.float64)
    table = np.ascontiguousarray(table, np.float64).reshape(-1, K, K)
    return node, table, structure.families[0].nodes


def _sums(
    potentials: Potentials,
    reward: Potentials | None,
    structure: Structure,
    weight: np.ndarray,
    out: Potentials,
    total: np.ndarray,
) -> None:
    """Marginals and log Z or, with a reward, covariances and its mean."""
    node, table, edges = _tables(potentials, structure)
    gain, gains, _ = _tables(zeros(potentials) if reward is None else reward, structure)
    trees = rooted(structure)
    n, K = node.shape
    inside, upward, everything = np.zeros((3, 2, n, K))
    messages = _Messages(inside, upward, everything, np.zeros((2, n)))
    part = 0 if reward is None else 1
    example = np.repeat(np.arange(len(weight)), np.diff(structure.offsets))
    roots = np.flatnonzero(trees.parent < 0)

    def work() -> None:
        scores = node, table, gain, gains, edges
        _upward(scores, trees, messages)
        log_Z, slope = (np.bincount(example[roots], z[roots], len(weight)) for z in messages.totals)
        used = np.where(log_Z > -np.inf, weight, 0.0)[example]
        room = out.node, out.cliques[0].reshape(-1, K, K)
        _downward(scores, trees, messages, (used, part), room)
        total[:] = np.where(log_Z > -np.inf, slope, np.nan) if part else log_Z
        total[weight == 0] = 0.0

    patiently(work, 4 * node.size * K)


@kernel
def _log_sum(scores: np.ndarray, slopes: np.ndarray) -> tuple[float, float]:
    """log sum exp of a row, and its derivative."""
    top = np.max(scores)
    mass = 0.0
    slope = 0.0
    for k in range(len(scores)):
        # slopes of what is forbidden may be infinite, which times 0 would be NaN
        if scores[k] > -np.inf:
            p = np.exp(scores[k] - top)
            mass += p
            slope += p * slopes[k]
    return (top + np.log(mass), slope / mass) if mass > 0.0 else (-np.inf, 0.0)


@kernel
def _edge(tables: np.ndarray, edges: np.ndarray, e: int, child: int, j: int, k: int) -> float:
    """Score of an edge where its child has label j and its parent label k."""
    row = min(e, tables.shape[0] - 1)
    score: float = tables[row, j, k] if edges[e, 0] == child else tables[row, k, j]
    return score


@kernel
def _upward(scores: _Scores, trees: RootedTrees, messages: _Messages) -> None:
    """Fill `inside`, `upward` and the roots' log Z."""
    node, table, gain, gains, edges = scores
    inside, upward, _, log_Z = messages
    K = node.shape[1]
    row = np.empty((2, K))
    inside[0] += node
    inside[1] += gain
    for c in trees.order[::-1]:
        p = trees.parent[c]
        e = trees.link[c]
        if p < 0:
            log_Z[0, c], log_Z[1, c] = _log_sum(inside[0, c], inside[1, c])
        for k in range(K if p >= 0 else 0):
            for j in range(K):
                row[0, j] = inside[0, c, j] + _edge(table, edges, e, c, j, k)
                row[1, j] = inside[1, c, j] + _edge(gains, edges, e, c, j, k)
            upward[0, c, k], upward[1, c, k] = _log_sum(row[0], row[1])
            inside[:, p, k] += upward[:, c, k]


@kernel
def _downward(
    scores: _Scores,
    trees: RootedTrees,
    messages: _Messages,
    weights: tuple[np.ndarray, int],
    room: tuple[np.ndarray, np.ndarray],
) -> None:
    """Fill `everything`, and add weighted marginals, or their derivatives, to `room`."""
    _, table, _, gains, edges = scores
    inside, upward, everything, log_Z = messages
    weight, part = weights
    out_node, out_table = room
    K = out_node.shape[1]
    row = np.empty((2, K))
    for c in trees.order:
        p = trees.parent[c]
        e = trees.link[c]
        everything[:, c] = inside[:, c]
        if p >= 0:
            # of the whole tree, known at its root; parents come first in this order
            log_Z[:, c] = log_Z[:, p]
        for j in range(K if weight[c] != 0.0 else 0):
            for k in range(K if p >= 0 else 0):
                row[0, k] = -np.inf
                if upward[0, c, k] > -np.inf:  # else no label of the child goes with k
                    row[:, k] = everything[:, p, k] - upward[:, c, k]
                    row[0, k] += _edge(table, edges, e, c, j, k)
                    row[1, k] += _edge(gains, edges, e, c, j, k)
                score = inside[0, c, j] + row[0, k] - log_Z[0, c]
                slope = inside[1, c, j] + row[1, k] - log_Z[1, c]
                into = out_table[min(e, out_table.shape[0] - 1)]
                if score > -np.inf:
                    of_pair = weight[c] * np.exp(score) * (slope if part else 1.0)
                    if edges[e, 0] == c:
                        into[j, k] += of_pair
                    else:
                        into[k, j] += of_pair
            if p >= 0:
                above, slope = _log_sum(row[0], row[1])
                everything[0, c, j] += above
                everything[1, c, j] += slope
            score = everything[0, c, j] - log_Z[0, c]
            slope = everything[1, c, j] - log_Z[1, c]
            if score > -np.inf:
                out_node[c, j] += weight[c] * np.exp(score) * (slope if part else 1.0)


@kernel
def _best(
    node: np.ndarray,
    table: np.ndarray,
    edges: np.ndarray,
    trees: RootedTrees,
    best: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Fill `best`, scores of labels with the best of all below them, and go down along it."""
    K = node.shape[1]
    best[:] = node
    for c in trees.order[::-1]:
        p = trees.parent[c]
        for k in range(K if p >= 0 else 0):
            top = -np.inf
            for j in range(K):
                top = max(top, best[c, j] + _edge(table, edges, trees.link[c], c, j, k))
            best[p, k] += top
    for c in trees.order:
        p = trees.parent[c]
        top = -np.inf
        # some label, also where none is allowed, as it is an index of the tables below
        labels[c] = 0
        for j in range(K):
            score = best[c, j]
            if p >= 0:
                score += _edge(table, edges, trees.link[c], c, j, labels[p])
            if score > top:
                top = score
                labels[c] = j
