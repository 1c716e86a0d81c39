"""Belief propagation with numbers, example by example: until messages settle, and beliefs."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import LANES, padded
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores
from sklearn_struct.inference.graphs.kept_messages import Started
from sklearn_struct.inference.graphs.odds_messages import (
    add_odds_of_edges,
    odds_of_nodes,
    send_odds,
)
from sklearn_struct.inference.graphs.pair_messages import (
    PairMessages,
    Room,
    add_edge_beliefs,
    node_beliefs,
    places_of_labels,
    send_pairs,
)
from sklearn_struct.inference.graphs.pair_scores import PairScores, are_odds
from sklearn_struct.inference.graphs.short_messages import MOST_LABELS, send_short

__all__ = [
    "DAMPING",
    "LONGER",
    "Examples",
    "Limits",
    "add_edges",
    "believe",
    "by_pairs",
    "forget",
    "message_width",
    "send",
    "width_of_beliefs",
]

# of graphs whose messages do not settle: how much of the old message stays, and how much longer
DAMPING = 0.5
LONGER = 4

# largest number of sweeps, tolerance
Limits: TypeAlias = tuple[int, float]
# of examples: weight, log Z, sweeps, last change
Examples: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@kernel
def by_pairs(
    scores: PairScores,
    cliques: Cliques,
    graph: Adjacency,
    chosen: tuple[np.ndarray, np.ndarray],
    limits: Limits,
    examples: Examples,
    started: Started,
    out: FlatScores,
) -> None:
    """Infer the chosen examples."""
    offsets, which = chosen
    max_sweeps, tol = limits
    weight, log_Z, sweeps, change = examples
    K = out.node.shape[1]
    labels = places_of_labels(K)
    P = len(labels)
    padding = (1.0 - labels) / K
    room = Room(np.zeros(P), np.zeros(2 * P), labels, padding, np.eye(2 * LANES))
    messages, settled = started
    for i in which:
        nodes = (offsets[i], offsets[i + 1])
        edges = cliques.ranges[i]
        if not settled[i]:
            forget(messages, scores, edges, K)
        plain = (max_sweeps, tol, 0.0)
        last = _settle(scores, cliques, graph, nodes, plain, messages, room)
        if settled[i] and not last[1] <= tol:
            # they began far from where they end now
            forget(messages, scores, edges, K)
            last = _settle(scores, cliques, graph, nodes, plain, messages, room)
        if not last[1] <= tol:
            forget(messages, scores, edges, K)
            damped = (LONGER * max_sweeps, tol, DAMPING)
            last = _settle(scores, cliques, graph, nodes, damped, messages, room)
        settled[i] = last[1] <= tol
        sweeps[i], change[i] = last
        beliefs = np.empty((nodes[1] - nodes[0], width_of_beliefs(messages)))
        value = believe(scores, graph, nodes, messages, beliefs)
        for v in range(nodes[0], nodes[1]):
            for k in range(K):
                out.node[v, k] += weight[i] * beliefs[v - nodes[0], k]
        of_nodes = (beliefs, nodes[0])
        for f in range(len(edges)):
            of_family = (edges[f, 0], edges[f, 1])
            value += add_edges(scores, cliques, of_family, of_nodes, weight[i], messages, out)
        log_Z[i] = value


def message_width(n_labels: int, shared_out: bool) -> int:
    """How many numbers a message has: one, its odds, where that is enough."""
    width: int = 1 if are_odds(n_labels, shared_out) else padded(n_labels)
    return width


@kernel
def _of_one_number(messages: PairMessages) -> bool:
    """Whether messages are one number."""
    width: int = messages.told.shape[1]
    return width == 1


@kernel
def width_of_beliefs(messages: PairMessages) -> int:
    """How many places a row of beliefs has, for `believe`."""
    return 2 if _of_one_number(messages) else messages.told.shape[1]


@kernel
def _settle(
    scores: PairScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    settings: tuple[int, float, float],
    messages: PairMessages,
    room: Room,
) -> tuple[int, float]:
    """Send messages among the nodes of one example; see `log_messages.exchange`."""
    max_sweeps, tol, damping = settings
    change = np.inf
    n = 0
    while n < max_sweeps and not change <= tol:
        there = send(scores, cliques, graph, nodes, (True, damping), messages, room)
        back = send(scores, cliques, graph, nodes, (False, damping), messages, room)
        change = max(there, back)
        n += 1
    return n, change


@kernel
def send(
    scores: PairScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    way: tuple[bool, float],
    messages: PairMessages,
    room: Room,
) -> float:
    """Send the messages of some nodes one way, by the quickest kernel; see
    `pair_messages.send_pairs`.
    """
    if _of_one_number(messages):
        return send_odds(scores, cliques, graph, nodes, way, messages.told)
    if scores.shared_out or len(room.labels) > MOST_LABELS:
        return send_pairs(scores, cliques, graph, nodes, way, messages, room)
    return send_short(scores, cliques, graph, nodes, way, messages.told, room)


@kernel
def believe(
    scores: PairScores,
    graph: Adjacency,
    nodes: tuple[int, int],
    messages: PairMessages,
    beliefs: np.ndarray,
) -> float:
    """Write the beliefs of nodes; see `pair_messages.node_beliefs`."""
    if _of_one_number(messages):
        return odds_of_nodes(scores, graph, nodes, messages.told, beliefs)
    return node_beliefs(scores, graph, nodes, messages.powers, beliefs)


@kernel
def add_edges(
    scores: PairScores,
    cliques: Cliques,
    edges: tuple[int, int],
    of_nodes: tuple[np.ndarray, int],
    weight: float,
    messages: PairMessages,
    out: FlatScores,
) -> float:
    """Add weighted beliefs of edges; see `pair_messages.add_edge_beliefs`."""
    if _of_one_number(messages):
        return add_odds_of_edges(scores, cliques, edges, of_nodes, weight, messages.told, out)
    return add_edge_beliefs(scores, cliques, edges, of_nodes, weight, messages.told, out)


@kernel
def forget(messages: PairMessages, scores: PairScores, edges: np.ndarray, K: int) -> None:
    """Make all messages of edges, ranges (n_families, 2), say that labels are equally probable,
    also in padding.
    """
    P = messages.told.shape[1]
    alike = 1.0 if _of_one_number(messages) else 1.0 / K
    for f in range(len(edges)):
        for p in range(2 * edges[f, 0], 2 * edges[f, 1]):
            for k in range(P):
                messages.told[p, k] = alike
            if scores.shared_out:
                power = K ** -scores.share[p // 2]
                for k in range(P):
                    messages.powers[p, k] = power
