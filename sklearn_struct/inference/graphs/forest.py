"""Exact inference on graphs without cycles, of which chains are one kind: messages from the leaves
to the roots, and back.

All is done in logarithms. A message to a parent sums the scores of all that hangs on a child; the
one back sums those of the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials, Structure, n_columns
from sklearn_struct.inference.graphs.complex_step import OnGraphs
from sklearn_struct.inference.graphs.log_sum import log_sum
from sklearn_struct.inference.graphs.remembered import of_structure
from sklearn_struct.inference.graphs.rooted_trees import RootedTrees, rooted

__all__ = ["Forest"]


class _Scores(NamedTuple):
    """Scores of nodes (n, K) and of edges (n_edges or 1, K, K), and the edges' nodes."""

    node: np.ndarray
    table: np.ndarray
    edges: np.ndarray


class _Messages(NamedTuple):
    """For each node (n, K): scores of its labels with all below it, the message to its parent, and
    scores with everything. ``totals`` (n) are log Z of its tree.
    """

    inside: np.ndarray
    upward: np.ndarray
    everything: np.ndarray
    totals: np.ndarray


@dataclass(frozen=True)
class Forest(OnGraphs):
    """Exact inference on structures whose one family are edges without cycles.

    An edge (a, b) scores label j of a and k of b in column j * K + k, whichever is nearer to a
    root. A token takes K ** 2 steps.
    """

    def most_tokens(self, structure: Structure, n_labels: int) -> int:
        """With how many nodes a call is still short."""
        return 20_000_000 // n_columns(n_labels, structure.families[0].nodes.shape[1])

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals to `out`, write log Z; see `Inference.marginals`."""
        _add_marginals(potentials, structure, weight, out, log_Z)

    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Write the best labelling and, if asked for, its score; ties go to the smaller label."""
        scores = _scores(potentials, structure)
        trees = of_structure(structure, "rooted", lambda: rooted(structure))
        best = scores.node.copy()
        patiently(lambda: _best(scores, trees, best, labels), best.size * best.shape[1])
        if score is not None:
            score[:] = self.scores(potentials, structure, labels)

    def sample(
        self,
        potentials: Potentials,
        structure: Structure,
        uniform: np.ndarray,
        labels: np.ndarray,
        score: np.ndarray,
    ) -> None:
        """Draw one labelling of each example from p(y | x), by one number in [0, 1) a node."""
        scores = _scores(potentials, structure)
        trees = of_structure(structure, "rooted", lambda: rooted(structure))
        inside, upward = np.zeros((2, *scores.node.shape))
        messages = _Messages(inside, upward, upward, np.zeros(len(inside)))

        def work() -> None:
            _upward(scores, trees, messages)
            _draw(scores, trees, inside, uniform, labels)

        patiently(work, 2 * inside.size * inside.shape[1])
        score[:] = self.scores(potentials, structure, labels)


def _scores(potentials: Potentials, structure: Structure) -> _Scores:
    node, (table,) = potentials
    K = node.shape[1]
    dtype = np.result_type(node, table, np.float64)
    node = np.ascontiguousarray(node, dtype)
    table = np.ascontiguousarray(table, dtype).reshape(-1, K, K)
    return _Scores(node, table, structure.families[0].nodes)


def _add_marginals(
    potentials: Potentials,
    structure: Structure,
    weight: np.ndarray,
    out: Potentials,
    log_Z: np.ndarray,
) -> None:
    """Marginals and log Z, real or complex as the scores are."""
    scores = _scores(potentials, structure)
    n, K = scores.node.shape
    trees = of_structure(structure, "rooted", lambda: rooted(structure))
    inside, upward, everything = np.zeros((3, n, K), scores.node.dtype)
    messages = _Messages(inside, upward, everything, np.zeros(n, scores.node.dtype))
    roots = np.flatnonzero(trees.parent < 0)
    example = np.repeat(np.arange(len(weight)), np.diff(structure.offsets))

    def work() -> None:
        _upward(scores, trees, messages)
        log_Z[:] = 0.0
        np.add.at(log_Z, example[roots], messages.totals[roots])
        used = np.where(log_Z.real > -np.inf, weight, 0.0)[example]
        _downward(scores, trees, messages, used, (out.node, out.cliques[0].reshape(-1, K, K)))
        log_Z[weight == 0] = 0.0

    patiently(work, 4 * n * sum(table.shape[1] for table in out.cliques))


@kernel
def _edge(scores: _Scores, e: int, child: int, j: int, k: int) -> complex:
    """Score of an edge where its child has label j and its parent label k."""
    table = scores.table[min(e, scores.table.shape[0] - 1)]
    score: complex = table[j, k] if scores.edges[e, 0] == child else table[k, j]
    return score


@kernel
def _upward(scores: _Scores, trees: RootedTrees, messages: _Messages) -> None:
    """Fill `inside`, `upward` and the roots' log Z."""
    inside = messages.inside
    K = inside.shape[1]
    row = np.empty(K, inside.dtype)
    inside += scores.node
    for c in trees.order[::-1]:
        p = trees.parent[c]
        if p < 0:
            messages.totals[c] = log_sum(inside[c])
        for k in range(K if p >= 0 else 0):
            for j in range(K):
                row[j] = inside[c, j] + _edge(scores, trees.link[c], c, j, k)
            messages.upward[c, k] = log_sum(row)
            inside[p, k] += messages.upward[c, k]


@kernel
def _downward(
    scores: _Scores,
    trees: RootedTrees,
    messages: _Messages,
    weight: np.ndarray,
    room: tuple[np.ndarray, np.ndarray],
) -> None:
    """Fill `everything`, and add weighted marginals to `room`."""
    inside, upward, everything, log_Z = messages
    out_node, out_table = room
    K = inside.shape[1]
    row = np.empty(K, inside.dtype)
    for c in trees.order:
        p = trees.parent[c]
        e = trees.link[c]
        everything[c] = inside[c]
        if p >= 0:
            # of the whole tree, known at its root; parents come first in this order
            log_Z[c] = log_Z[p]
        r = min(e, out_table.shape[0] - 1)
        for j in range(K if weight[c] != 0.0 else 0):
            for k in range(K if p >= 0 else 0):
                row[k] = -np.inf
                if upward[c, k].real > -np.inf:  # else no label of the child goes with k
                    row[k] = everything[p, k] - upward[c, k] + _edge(scores, e, c, j, k)
                of_pair = weight[c] * np.exp(inside[c, j] + row[k] - log_Z[c])
                if scores.edges[e, 0] == c:
                    out_table[r, j, k] += of_pair
                else:
                    out_table[r, k, j] += of_pair
            if p >= 0:
                everything[c, j] += log_sum(row)
            out_node[c, j] += weight[c] * np.exp(everything[c, j] - log_Z[c])


@kernel
def _best(scores: _Scores, trees: RootedTrees, best: np.ndarray, labels: np.ndarray) -> None:
    """Make `best` the scores of labels with the best of all below them, and go down along it."""
    K = best.shape[1]
    for c in trees.order[::-1]:
        p = trees.parent[c]
        for k in range(K if p >= 0 else 0):
            top = -np.inf
            for j in range(K):
                top = max(top, best[c, j] + _edge(scores, trees.link[c], c, j, k))
            best[p, k] += top
    for c in trees.order:
        p = trees.parent[c]
        top = -np.inf
        # some label, also where none is allowed, as it is an index of the tables below
        labels[c] = 0
        for j in range(K):
            score = best[c, j]
            if p >= 0:
                score += _edge(scores, trees.link[c], c, j, labels[p])
            if score > top:
                top = score
                labels[c] = j


@kernel
def _draw(
    scores: _Scores,
    trees: RootedTrees,
    inside: np.ndarray,
    uniform: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Draw labels from the roots down, each given that of its parent."""
    K = inside.shape[1]
    row = np.empty(K)
    for c in trees.order:
        p = trees.parent[c]
        for j in range(K):
            row[j] = inside[c, j]
            if p >= 0:
                row[j] += _edge(scores, trees.link[c], c, j, labels[p])
        total = log_sum(row)
        left = uniform[c]
        labels[c] = 0
        for j in range(K if total > -np.inf else 0):
            # else no label at all is allowed
            if row[j] > -np.inf:
                labels[c] = j
                left -= np.exp(row[j] - total)
                if left < 0.0:
                    break
