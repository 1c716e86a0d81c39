"""Sequential tree-reweighted message passing: labellings of large scores, and how much better any
other could be (V. Kolmogorov, IEEE Transactions on Pattern Analysis and Machine Intelligence 2006,
figure 3).

Nodes are visited in their order, and back. Each shares what it knows among the edges to later
nodes. The bound, the sum of all that is taken from rows to make their largest number 0, never
rises.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel, uncounted
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques
from sklearn_struct.inference.graphs.search_order import TIE
from sklearn_struct.inference.graphs.search_scores import SearchScores

__all__ = ["best_by_trees", "best_pairs", "labelling_score", "sweep_of_trees"]

# sweeps after which the bound must have come nearer to the score by a part of their distance
PATIENCE = 10
LEAST_GAIN = 1e-2
# relative difference of bound and score that is none
NOTHING = 1e-9


@kernel
def best_by_trees(
    scores: SearchScores,
    cliques: Cliques,
    graph: Adjacency,
    example: tuple[int, int, int, int],
    messages: np.ndarray,
    labels: np.ndarray,
) -> tuple[float, bool]:
    """Write the best labelling of an example that is met; the bound, and whether it is reached.

    `example` is its number, its nodes from the first to before the last, and the largest number of
    sweeps. All its cliques are edges. Scores are finite. `messages` (n_cliques, K) are those of
    edges to the node that is visited next, 0 at first. One for each edge is enough: what it told
    the other node is not read any more.
    """
    i, first, stop, max_sweeps = example
    now = np.empty(stop - first, labels.dtype)
    best = -np.inf
    bound = np.inf
    before = np.inf
    for s in range(max_sweeps):
        bound = sweep_of_trees(scores, cliques, graph, (first, stop), True, messages, now)
        score = labelling_score(scores, cliques, i, first, now)
        gain = score - best
        if gain > 0:
            best = score
            for v in range(stop - first):
                labels[first + v] = now[v]
        if bound - best <= NOTHING * (1.0 + abs(bound)):
            return bound, True
        if max_sweeps <= PATIENCE and gain < LEAST_GAIN * (bound - best):
            break
        if s + 1 == max_sweeps <= PATIENCE:
            # no sweep reads these messages any more
            break
        if s % PATIENCE == 0:
            if before - bound < LEAST_GAIN * (bound - best):
                break
            before = bound
        bound = sweep_of_trees(scores, cliques, graph, (first, stop), False, messages, now)
    return bound, bound - best <= NOTHING * (1.0 + abs(bound))


@kernel
def sweep_of_trees(
    scores: SearchScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    forward: bool,
    messages: np.ndarray,
    labels: np.ndarray,
) -> float:
    """Visit the nodes of an example forward, choosing their labels, or backward; the bound."""
    rows = np.empty((4, scores.node.shape[1]))
    return _visit(scores, cliques, graph, nodes, forward, messages, labels, rows)


@uncounted
def _visit(
    scores: SearchScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    forward: bool,
    messages: np.ndarray,
    labels: np.ndarray,
    rows: np.ndarray,
) -> float:
    node = scores.node
    tables = scores.tables
    firsts = scores.firsts
    aparts = scores.apart
    bounds = graph.bounds
    places = graph.places
    members = cliques.members
    first, stop = nodes
    K = node.shape[1]
    belief = rows[0]
    row = rows[1]
    told = rows[2]
    new = rows[3]
    bound = 0.0
    for o in range(stop - first):
        v = first + o if forward else stop - 1 - o
        for k in range(K):
            belief[k] = node[v, k]
            row[k] = node[v, k]
        n_later = 0
        for e in range(bounds[v], bounds[v + 1]):
            p = places[e]
            c = p >> 1
            later = members[p ^ 1] > v
            n_later += later == forward
            for k in range(K):
                belief[k] += messages[c, k]
            if not forward:
                continue
            if later:
                for k in range(K):
                    row[k] += messages[c, k]
            else:
                j = labels[members[p ^ 1] - first]
                start = firsts[c]
                if aparts[c] == aparts[c]:
                    row[j] += tables[start + j * (K + 1)] - aparts[c]
                else:
                    start += j if p % 2 == 0 else j * K
                    step = K if p % 2 == 0 else 1
                    for k in range(K):
                        row[k] += tables[start + k * step]
        if forward:
            labels[o] = _first_best(row)
        bound += _lower(belief)
        share = 1.0 / max(n_later, bounds[v + 1] - bounds[v] - n_later, 1)
        for k in range(K):
            belief[k] *= share
        for e in range(bounds[v], bounds[v + 1]):
            p = places[e]
            if (members[p ^ 1] > v) != forward:
                continue
            c = p >> 1
            for k in range(K):
                told[k] = belief[k] - messages[c, k]
            best_pairs(tables, firsts[c], aparts[c], p % 2 == 1, told, new)
            bound += _lower(new)
            for k in range(K):
                messages[c, k] = new[k]
    return bound


@uncounted
def _first_best(row: np.ndarray) -> int:
    """The place of the largest number, the first one where others are equal but for rounding."""
    top = largest(row)
    least = top - TIE * (1.0 + abs(top))
    k = 0
    while row[k] < least:
        k += 1
    return k


@uncounted
def _lower(row: np.ndarray) -> float:
    """Subtract the largest number; which it was."""
    top = largest(row)
    for k in range(len(row)):
        row[k] -= top
    return top


@uncounted
def largest(row: np.ndarray) -> float:
    """The largest number of a row."""
    K = len(row)
    # four at a time, as each comparison waits for the one before
    first = row[0]
    second = row[K // 4]
    third = row[K // 2]
    fourth = row[K - 1]
    for k in range(K // 4):
        first = max(first, row[4 * k])
        second = max(second, row[4 * k + 1])
        third = max(third, row[4 * k + 2])
        fourth = max(fourth, row[4 * k + 3])
    for k in range(4 * (K // 4), K):
        first = max(first, row[k])
    top: float = max(max(first, second), max(third, fourth))
    return top


@uncounted
def best_pairs(
    tables: np.ndarray, start: int, apart: float, turned: bool, told: np.ndarray, new: np.ndarray
) -> None:
    """For each label of an edge's other node the largest score with what its node tells.

    `apart` is the score of all pairs of different labels; NaN where these have scores of their own.
    """
    K = len(told)
    if apart == apart:
        # the best two labels are enough: one of them is another one than the other node's
        top = largest(told)
        second = -np.inf
        n_top = 0
        for j in range(K):
            n_top += told[j] == top
            second = max(second, told[j] if told[j] < top else -np.inf)
        if n_top > 1:
            second = top
        for k in range(K):
            other = second if told[k] == top else top
            new[k] = max(other + apart, told[k] + tables[start + k * (K + 1)])
    elif turned:
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
def labelling_score(
    scores: SearchScores, cliques: Cliques, i: int, first: int, labels: np.ndarray
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
            total += scores.tables[scores.firsts[c] + column]
    return total
