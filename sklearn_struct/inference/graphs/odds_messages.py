"""Belief propagation on graphs of two labels, whose messages are one number: by how much the second
label is more probable than the first. That is a third of the work of `pair_messages`.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import at
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques
from sklearn_struct.inference.graphs.pair_scores import PairScores

__all__ = ["from_odds", "send_odds", "to_odds"]


@kernel
def send_odds(
    scores: PairScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    way: tuple[bool, float],
    odds: np.ndarray,
) -> float:
    """As `pair_messages.send_pairs`, where all shares are 1."""
    node, tables, start, stride, turned, _, _, _ = scores
    bounds = graph.bounds
    places = graph.places
    members = cliques.members
    first, stop = nodes
    forward, damping = way
    change = 0.0
    for i in range(stop - first):
        v = first + i if forward else stop - 1 - i
        zero = node[v, 0]
        one = node[v, 1]
        for e in range(bounds[v], bounds[v + 1]):
            one *= at(odds, at(places, e))
        for e in range(bounds[v], bounds[v + 1]):
            p = at(places, e)
            # the other end of the edge
            q = p ^ 1
            if (at(members, q) > v) != forward:
                continue
            # the first label, without what this edge tells
            rest = zero * at(odds, p)
            o = at(start, p)
            right = 1
            down = at(stride, p)
            if turned[p]:
                right, down = down, right
            a = at(tables, o) * rest + at(tables, o + down) * one
            b = at(tables, o + right) * rest + at(tables, o + down + right) * one
            old = at(odds, q)
            new = b / a
            if damping > 0.0:
                low = (1.0 - damping) / (1.0 + new) + damping / (1.0 + old)
                new = (1.0 - low) / low
            # the difference of two probabilities
            change = max(change, abs(new - old) / ((1.0 + new) * (1.0 + old)))
            odds[q] = new
    return change


@kernel
def to_odds(told: np.ndarray, graph: Adjacency, nodes: tuple[int, int], odds: np.ndarray) -> None:
    """Write the odds of what some nodes are told."""
    for e in range(graph.bounds[nodes[0]], graph.bounds[nodes[1]]):
        p = graph.places[e]
        odds[p] = told[p, 1] / told[p, 0]


@kernel
def from_odds(odds: np.ndarray, graph: Adjacency, nodes: tuple[int, int], told: np.ndarray) -> None:
    """Write the probabilities."""
    for e in range(graph.bounds[nodes[0]], graph.bounds[nodes[1]]):
        p = graph.places[e]
        told[p, 0] = 1.0 / (1.0 + odds[p])
        told[p, 1] = odds[p] / (1.0 + odds[p])
