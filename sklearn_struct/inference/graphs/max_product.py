"""Max-product belief propagation with damping: labellings of large scores, under cliques of any
size.

Messages are the largest scores of what is behind them. Nodes are visited in the order of their
numbers, and back. Where each but the first of a tree comes after one of its neighbours, two sweeps
find the best labelling of forests (P1 4.2).
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques
from sklearn_struct.inference.graphs.search_order import TIE
from sklearn_struct.inference.graphs.search_scores import SearchScores
from sklearn_struct.inference.graphs.trw_s import best_pairs, labelling_score

__all__ = ["best_by_max_product"]

# sweeps without damping, which forests need; how much of the old message stays in later ones
PLAIN = 10
DAMPING = 0.5
# sweeps in vain after which it ends
PATIENCE = 10
# the change of messages that is none
NOTHING = 1e-9


@kernel
def best_by_max_product(
    scores: SearchScores,
    cliques: Cliques,
    graph: Adjacency,
    example: tuple[int, int, int, int],
    messages: tuple[np.ndarray, np.ndarray],
    labels: np.ndarray,
) -> float:
    """Write the best labelling of an example that is met; its score.

    `example` is its number, its nodes from the first to before the last, and the largest number of
    sweeps. Scores are finite. `messages`, to nodes and to cliques (n_places, K), are 0 at first.
    """
    i, first, stop, max_sweeps = example
    now = np.empty(stop - first, labels.dtype)
    best = -np.inf
    last = 0
    for s in range(max_sweeps):
        damping = DAMPING if s >= PLAIN else 0.0
        change = 0.0
        for v in range(first, stop):
            _answer(scores, graph, v, messages)
            change = max(change, _send(scores, cliques, graph, v, True, damping, messages))
        for v in range(stop - 1, first - 1, -1):
            _answer(scores, graph, v, messages)
            change = max(change, _send(scores, cliques, graph, v, False, damping, messages))
        for v in range(first, stop):
            _label(scores, cliques, graph, v, first, messages[0], now)
        score = labelling_score(scores, cliques, i, first, now)
        if score > best:
            best = score
            last = s
            for v in range(stop - first):
                labels[first + v] = now[v]
        if change <= NOTHING or s - last > PATIENCE:
            break
    return best


@kernel
def _answer(
    scores: SearchScores, graph: Adjacency, v: int, messages: tuple[np.ndarray, np.ndarray]
) -> None:
    """What a node tells each of its cliques: its scores, and what it hears from the others."""
    to_nodes, to_cliques = messages
    for k in range(scores.node.shape[1]):
        total = scores.node[v, k]
        for e in range(graph.bounds[v], graph.bounds[v + 1]):
            total += to_nodes[graph.places[e], k]
        for e in range(graph.bounds[v], graph.bounds[v + 1]):
            p = graph.places[e]
            to_cliques[p, k] = total - to_nodes[p, k]


@kernel
def _send(
    scores: SearchScores,
    cliques: Cliques,
    graph: Adjacency,
    v: int,
    forward: bool,
    damping: float,
    messages: tuple[np.ndarray, np.ndarray],
) -> float:
    """Send the messages of a node's cliques to nodes that are the next ones on the way; the largest
    change.
    """
    to_nodes, to_cliques = messages
    K = to_nodes.shape[1]
    new = np.empty(K)
    change = 0.0
    for e in range(graph.bounds[v], graph.bounds[v + 1]):
        c = graph.clique[graph.places[e]]
        target = -1
        for q in range(cliques.bounds[c], cliques.bounds[c + 1]):
            u = cliques.members[q]
            if (u > v) == forward and u != v:
                nearer = target < 0 or (u < cliques.members[target]) == forward
                if nearer:
                    target = q
        if target < 0:
            continue
        _message(scores, cliques, c, target, to_cliques, new)
        top = new[0]
        for k in range(1, K):
            top = max(top, new[k])
        for k in range(K):
            old = to_nodes[target, k]
            to_nodes[target, k] = (1.0 - damping) * (new[k] - top) + damping * old
            change = max(change, abs(to_nodes[target, k] - old))
    return change


@kernel
def _message(
    scores: SearchScores,
    cliques: Cliques,
    c: int,
    target: int,
    to_cliques: np.ndarray,
    new: np.ndarray,
) -> None:
    """For each label of one of a clique's nodes the largest score with what the others tell."""
    K = len(new)
    first = cliques.bounds[c]
    r = cliques.bounds[c + 1] - first
    start = scores.firsts[c]
    if r == 2:
        p = first + (1 if target == first else 0)
        best_pairs(scores.tables, start, scores.apart[c], target == first, to_cliques[p], new)
        return
    for k in range(K):
        new[k] = -np.inf
    n = 1
    for _ in range(r):
        n *= K
    for column in range(0, n, K):
        # of the labels of all but the last node, one after the other
        here = 0
        x = 0.0
        rest = column // K
        for p in range(first + r - 2, first - 1, -1):
            if p == target:
                here = rest % K
            else:
                x += to_cliques[p, rest % K]
            rest //= K
        if target == first + r - 1:
            for k in range(K):
                new[k] = max(new[k], x + scores.tables[start + column + k])
        else:
            top = new[here]
            for k in range(K):
                y = scores.tables[start + column + k] + to_cliques[first + r - 1, k]
                top = max(top, x + y)
            new[here] = top


@kernel
def _label(
    scores: SearchScores,
    cliques: Cliques,
    graph: Adjacency,
    v: int,
    first: int,
    to_nodes: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Write the best label of a node beside those of nodes before it; where a clique has other
    nodes, by what it tells.
    """
    K = to_nodes.shape[1]
    best = 0.0
    for k in range(K):
        x = scores.node[v, k]
        for e in range(graph.bounds[v], graph.bounds[v + 1]):
            p = graph.places[e]
            c = graph.clique[p]
            column = 0
            known = True
            for q in range(cliques.bounds[c], cliques.bounds[c + 1]):
                u = cliques.members[q]
                known = known and u <= v
                if known:
                    column = column * K + (k if q == p else labels[u - first])
            if known:
                x += scores.tables[scores.firsts[c] + column]
            else:
                x += to_nodes[p, k]
        if k == 0 or x > best + TIE * (1.0 + abs(best)):
            best = x
            labels[v - first] = k
