"""Belief propagation with numbers, example by example: until messages settle, and beliefs."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import LANES
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores
from sklearn_struct.inference.graphs.kept_messages import Started
from sklearn_struct.inference.graphs.odds_messages import from_odds, send_odds, to_odds
from sklearn_struct.inference.graphs.pair_messages import (
    PairMessages,
    Room,
    add_pair_beliefs,
    places_of_labels,
    send_pairs,
)
from sklearn_struct.inference.graphs.pair_scores import PairScores
from sklearn_struct.inference.graphs.short_messages import MOST_LABELS, send_short

__all__ = ["DAMPING", "LONGER", "Examples", "Limits", "are_odds", "by_pairs", "forget", "send"]

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
    odds = np.empty(len(graph.places) if are_odds(scores, K) else 0)
    for i in which:
        nodes = (offsets[i], offsets[i + 1])
        edges = cliques.ranges[i]
        if not settled[i]:
            forget(messages, scores, edges, K)
        plain = (max_sweeps, tol, 0.0)
        last = _settle(scores, cliques, graph, nodes, plain, messages, odds, room)
        if settled[i] and not last[1] <= tol:
            # they began far from where they end now
            forget(messages, scores, edges, K)
            last = _settle(scores, cliques, graph, nodes, plain, messages, odds, room)
        if not last[1] <= tol:
            forget(messages, scores, edges, K)
            damped = (LONGER * max_sweeps, tol, DAMPING)
            last = _settle(scores, cliques, graph, nodes, damped, messages, odds, room)
        settled[i] = last[1] <= tol
        sweeps[i], change[i] = last
        log_Z[i] = add_pair_beliefs(scores, cliques, graph, nodes, edges, weight[i], messages, out)


@kernel
def are_odds(scores: PairScores, K: int) -> bool:
    """Whether messages are sent as odds."""
    return K == 2 and not scores.shared_out


@kernel
def _settle(
    scores: PairScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    settings: tuple[int, float, float],
    messages: PairMessages,
    odds: np.ndarray,
    room: Room,
) -> tuple[int, float]:
    """Send messages among the nodes of one example; see `log_messages.exchange`."""
    max_sweeps, tol, damping = settings
    if len(odds):
        to_odds(messages.told, graph, nodes, odds)
    change = np.inf
    n = 0
    while n < max_sweeps and not change <= tol:
        there = send(scores, cliques, graph, nodes, (True, damping), messages, odds, room)
        back = send(scores, cliques, graph, nodes, (False, damping), messages, odds, room)
        change = max(there, back)
        n += 1
    if len(odds):
        from_odds(odds, graph, nodes, messages.told)
    return n, change


@kernel
def send(
    scores: PairScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    way: tuple[bool, float],
    messages: PairMessages,
    odds: np.ndarray,
    room: Room,
) -> float:
    """Send the messages of some nodes one way, by the quickest kernel; see
    `pair_messages.send_pairs`.
    """
    if len(odds):
        return send_odds(scores, cliques, graph, nodes, way, odds)
    if scores.shared_out or len(room.labels) > MOST_LABELS:
        return send_pairs(scores, cliques, graph, nodes, way, messages, room)
    return send_short(scores, cliques, graph, nodes, way, messages.told, room)


@kernel
def forget(messages: PairMessages, scores: PairScores, edges: np.ndarray, K: int) -> None:
    """Make all messages of edges, ranges (n_families, 2), say that labels are equally probable,
    also in padding.
    """
    P = messages.told.shape[1]
    for f in range(len(edges)):
        for p in range(2 * edges[f, 0], 2 * edges[f, 1]):
            for k in range(P):
                messages.told[p, k] = 1.0 / K
            if scores.shared_out:
                power = K ** -scores.share[p // 2]
                for k in range(P):
                    messages.powers[p, k] = power
