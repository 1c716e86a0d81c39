"""Sequential tree-reweighted message passing: labellings of large scores, and how much better any
other could be (V. Kolmogorov, IEEE Transactions on Pattern Analysis and Machine Intelligence 2006,
figure 3).

Nodes are visited in their order, and back. Each shares what it knows among the edges to later
nodes. The bound, the sum of all that is taken from rows to make their largest number 0, never
rises.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores, first_score
from sklearn_struct.inference.graphs.search_order import TIE

__all__ = ["best_by_trees", "best_pairs", "labelling_score", "sweep_of_trees"]

# sweeps after which the bound must have come nearer to the score by a part of their distance
PATIENCE = 10
LEAST_GAIN = 1e-2
# relative difference of bound and score that is none
NOTHING = 1e-9


@kernel
def best_by_trees(
    scores: FlatScores,
    cliques: Cliques,
    graph: Adjacency,
    example: tuple[int, int, int, int],
    messages: np.ndarray,
    labels: np.ndarray,
) -> tuple[float, bool]:
    """Write the best labelling of an example that is met; the bound, and whether it is reached.

    `example` is its number, its nodes from the first to before the last, and the largest number of
    sweeps. All its cliques are edges. Scores are finite. `messages` (n_places, K) are those that
    edges tell their nodes, 0 at first.
    """
    i, first, stop, max_sweeps = example
    now = np.empty(stop - first, labels.dtype)
    best = -np.inf
    bound = np.inf
    before = np.inf
    for s in range(max_sweeps):
        bound = sweep_of_trees(scores, cliques, graph, (first, stop), True, messages, now)
        score = labelling_score(scores, cliques, i, first, now)
        if score > best:
            best = score
            for v in range(stop - first):
                labels[first + v] = now[v]
        if bound - best <= NOTHING * (1.0 + abs(bound)):
            return bound, True
        if s % PATIENCE == 0:
            if before - bound < LEAST_GAIN * (bound - best):
                break
            before = bound
        bound = sweep_of_trees(scores, cliques, graph, (first, stop), False, messages, now)
    return bound, bound - best <= NOTHING * (1.0 + abs(bound))


@kernel
def sweep_of_trees(
    scores: FlatScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    forward: bool,
    messages: np.ndarray,
    labels: np.ndarray,
) -> float:
    """Visit the nodes of an example forward, choosing their labels, or backward; the bound."""
    node, tables, _, _ = scores
    bounds, places, _ = graph
    members = cliques.members
    first, stop = nodes
    K = node.shape[1]
    belief = np.empty(K)
    told = np.empty(K)
    new = np.empty(K)
    bound = 0.0
    for o in range(stop - first):
        v = first + o if forward else stop - 1 - o
        if forward:
            labels[o] = _label(scores, cliques, graph, v, first, messages, labels, belief)
        for k in range(K):
            belief[k] = node[v, k]
        n_later = 0
        for e in range(bounds[v], bounds[v + 1]):
            p = places[e]
            n_later += (members[p ^ 1] > v) == forward
            for k in range(K):
                belief[k] += messages[p, k]
        bound += _lower(belief)
        n = max(n_later, bounds[v + 1] - bounds[v] - n_later, 1)
        for e in range(bounds[v], bounds[v + 1]):
            p = places[e]
            if (members[p ^ 1] > v) != forward:
                continue
            for k in range(K):
                told[k] = belief[k] / n - messages[p, k]
            best_pairs(tables, first_score(scores, cliques, p // 2), p % 2 == 1, told, new)
            bound += _lower(new)
            for k in range(K):
                messages[p ^ 1, k] = new[k]
    return bound


@kernel
def _lower(row: np.ndarray) -> float:
    """Subtract the largest number; which it was."""
    top: float = row[0]
    for k in range(1, len(row)):
        top = max(top, row[k])
    for k in range(len(row)):
        row[k] -= top
    return top


@kernel
def best_pairs(
    tables: np.ndarray, start: int, turned: bool, told: np.ndarray, new: np.ndarray
) -> None:
    """For each label of an edge's other node the largest score with what its node tells."""
    K = len(told)
    if turned:
        for k in range(K):
            top = -np.inf
            for j in range(K):
                top = max(top, told[j] + tables[start + k * K + j])
            new[k] = top
    else:
        for k in range(K):
            new[k] = -np.inf
        for j in range(K):
            x = told[j]
            for k in range(K):
                new[k] = max(new[k], x + tables[start + j * K + k])


@kernel
def _label(
    scores: FlatScores,
    cliques: Cliques,
    graph: Adjacency,
    v: int,
    first: int,
    messages: np.ndarray,
    labels: np.ndarray,
    row: np.ndarray,
) -> int:
    """The best label of a node beside those of earlier nodes, by what later ones tell."""
    K = len(row)
    for k in range(K):
        row[k] = scores.node[v, k]
    for e in range(graph.bounds[v], graph.bounds[v + 1]):
        p = graph.places[e]
        u = cliques.members[p ^ 1]
        if u > v:
            for k in range(K):
                row[k] += messages[p, k]
        else:
            start = first_score(scores, cliques, p // 2)
            j = labels[u - first]
            for k in range(K):
                row[k] += scores.tables[start + (k * K + j if p % 2 == 0 else j * K + k)]
    best = 0
    for k in range(1, K):
        if row[k] > row[best] + TIE * (1.0 + abs(row[best])):
            best = k
    return best


@kernel
def labelling_score(
    scores: FlatScores, cliques: Cliques, i: int, first: int, labels: np.ndarray
) -> float:
    """The score of the labels of an example's nodes."""
    K = scores.node.shape[1]
    total = 0.0
    for v in range(len(labels)):
        total += scores.node[first + v, labels[v]]
    for f in range(cliques.ranges.shape[1]):
        for c in range(cliques.ranges[i, f, 0], cliques.ranges[i, f, 1]):
            column = 0
            for p in range(cliques.bounds[c], cliques.bounds[c + 1]):
                column = column * K + labels[cliques.members[p] - first]
            total += scores.tables[first_score(scores, cliques, c) + column]
    return total
