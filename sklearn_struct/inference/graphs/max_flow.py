"""Largest flows and smallest cuts of graphs (Y. Boykov and V. Kolmogorov, IEEE Transactions on
Pattern Analysis and Machine Intelligence 2004).

Nodes are in trees from the source and from the sink, and the latter grow. Where two touch there is
a way for more flow, which fills an arc up; what hangs on that arc looks for another parent in its
tree, or is free. Trees from the source need not grow: what the sink's cannot reach is cut off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, uncounted
from sklearn_struct.inference.graphs.adjacency import Adjacency

__all__ = ["FREE", "SINK", "SOURCE", "Network", "Trees", "cut", "no_trees"]

# what a node is part of
SOURCE = 0
SINK = 1
FREE = 2
# parents that are no arcs
TERMINAL = -1
NOBODY = -2
FAR = 2**31 - 1


class Network(NamedTuple):
    """A graph with what its arcs let through.

    Place p is the arc from ``members[p]`` to ``members[p ^ 1]``, and lets ``arc[p]`` through.
    ``terminal[v]`` is what comes from the source to node v, less than 0 what goes to the sink. Both
    are written: what is left of them.
    """

    graph: Adjacency
    members: np.ndarray
    arc: np.ndarray
    terminal: np.ndarray


class Trees(NamedTuple):
    """Nodes in trees, each from the source or the sink.

    ``side`` is which, ``parent`` the arc to the parent, ``distance`` how far the root was when it
    was last ``seen``. Nodes that are to grow are a list: the one after each, -1 for none; a node
    that follows itself is the last one.
    """

    side: np.ndarray
    parent: np.ndarray
    seen: np.ndarray
    distance: np.ndarray
    following: np.ndarray
    ends: np.ndarray
    orphans: np.ndarray


def no_trees(n_nodes: int) -> Trees:
    """Room for the trees of so many nodes."""
    return Trees(
        np.empty(n_nodes, np.int8),
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int64),
        np.empty(2, np.int64),
        np.empty(n_nodes, np.int64),
    )


@uncounted
def cut(network: Network, first: int, stop: int, trees: Trees) -> None:
    """Send the largest flow through the nodes from `first` to before `stop`, which no arcs leave.

    What is written in ``trees.side`` is `SOURCE`, `SINK` or, where either will do, `FREE`.
    """
    terminal = network.terminal
    side = trees.side
    trees.ends[0] = -1
    trees.ends[1] = -1
    for v in range(first, stop):
        side[v] = FREE
        trees.parent[v] = NOBODY
        trees.seen[v] = 0
        trees.following[v] = -1
        trees.distance[v] = 1
        if terminal[v] != 0.0:
            side[v] = SOURCE if terminal[v] > 0.0 else SINK
            trees.parent[v] = TERMINAL
            if side[v] == SINK:
                _activate(trees, v)
    time = 0
    v = -1
    while True:
        if v < 0 or side[v] == FREE:
            v = _next_active(trees)
            if v < 0:
                break
        bridge = _grow(network, trees, v)
        if bridge < 0:
            v = -1
            continue
        time += 1
        n_orphans = _augment(network, trees, bridge)
        _adopt(network, trees, n_orphans, time)


@inlined
def _activate(trees: Trees, v: int) -> None:
    """Put a node at the end of those that are to grow, unless it is among them."""
    following = trees.following
    ends = trees.ends
    if following[v] < 0:
        if ends[1] < 0:
            ends[0] = v
        else:
            following[ends[1]] = v
        ends[1] = v
        following[v] = v


@uncounted
def _next_active(trees: Trees) -> int:
    """Take the first of the nodes that are to grow; -1 if none is left."""
    following = trees.following
    ends = trees.ends
    while ends[0] >= 0:
        v = ends[0]
        if following[v] == v:
            ends[0] = -1
            ends[1] = -1
        else:
            ends[0] = following[v]
        following[v] = -1
        if trees.side[v] != FREE:
            return int(v)
    return -1


@uncounted
def _grow(network: Network, trees: Trees, v: int) -> int:
    """Let a node of the sink take its free neighbours; the arc from the tree of the source if it
    meets one, else -1.
    """
    graph, members, arc, _ = network
    side = trees.side
    for e in range(graph.bounds[v], graph.bounds[v + 1]):
        p = graph.places[e]
        if not arc[p ^ 1] > 0.0:
            continue
        u = members[p ^ 1]
        if side[u] == FREE:
            side[u] = SINK
            trees.parent[u] = p ^ 1
            trees.seen[u] = trees.seen[v]
            trees.distance[u] = trees.distance[v] + 1
            _activate(trees, u)
        elif side[u] == SOURCE:
            return int(p ^ 1)
        elif trees.seen[u] <= trees.seen[v] and trees.distance[u] > trees.distance[v]:
            trees.parent[u] = p ^ 1
            trees.seen[u] = trees.seen[v]
            trees.distance[u] = trees.distance[v] + 1
    return -1


@uncounted
def _augment(network: Network, trees: Trees, bridge: int) -> int:
    """Send what goes through along a way from source to sink; the number of orphans it makes."""
    _, members, arc, terminal = network
    parent = trees.parent
    most = arc[bridge]
    for own in (SOURCE, SINK):
        v = members[bridge ^ own]
        while parent[v] >= 0:
            most = min(most, arc[parent[v] ^ 1 ^ own])
            v = members[parent[v] ^ 1]
        most = min(most, abs(terminal[v]))
    arc[bridge] -= most
    arc[bridge ^ 1] += most
    n_orphans = 0
    for own in (SOURCE, SINK):
        v = members[bridge ^ own]
        while parent[v] >= 0:
            p = parent[v]
            arc[p ^ own] += most
            arc[p ^ 1 ^ own] -= most
            above = members[p ^ 1]
            if not arc[p ^ 1 ^ own] > 0.0:
                parent[v] = NOBODY
                trees.orphans[n_orphans] = v
                n_orphans += 1
            v = above
        terminal[v] += most if own == SINK else -most
        if terminal[v] == 0.0:
            parent[v] = NOBODY
            trees.orphans[n_orphans] = v
            n_orphans += 1
    return n_orphans


@uncounted
def _adopt(network: Network, trees: Trees, n_orphans: int, time: int) -> None:
    """Find each orphan a parent in its tree, or set it free; what it was the parent of is then an
    orphan.
    """
    graph, members, arc, _ = network
    side = trees.side
    parent = trees.parent
    orphans = trees.orphans
    while n_orphans > 0:
        n_orphans -= 1
        v = orphans[n_orphans]
        own = side[v]
        nearest = FAR
        new = NOBODY
        for e in range(graph.bounds[v], graph.bounds[v + 1]):
            p = graph.places[e]
            u = members[p ^ 1]
            if side[u] == own and arc[p ^ 1 ^ own] > 0.0:
                distance = _distance(network, trees, u, time)
                if distance < nearest:
                    nearest = distance
                    new = p
        parent[v] = new
        if new != NOBODY:
            trees.seen[v] = time
            trees.distance[v] = nearest + 1
            continue
        side[v] = FREE
        for e in range(graph.bounds[v], graph.bounds[v + 1]):
            p = graph.places[e]
            u = members[p ^ 1]
            if side[u] != own:
                continue
            if own == SINK and arc[p] > 0.0:
                _activate(trees, u)
            if parent[u] == p ^ 1:
                parent[u] = NOBODY
                orphans[n_orphans] = u
                n_orphans += 1


@uncounted
def _distance(network: Network, trees: Trees, v: int, time: int) -> int:
    """How far a node is from its root; FAR if it has none. Nodes on the way remember it."""
    members = network.members
    parent = trees.parent
    seen = trees.seen
    distance = 0
    u = v
    while seen[u] != time:
        if parent[u] == NOBODY:
            return FAR
        distance += 1
        if parent[u] == TERMINAL:
            seen[u] = time
            trees.distance[u] = 1
            distance -= 1
            break
        u = members[parent[u] ^ 1]
    total = distance + trees.distance[u]
    length = total
    u = v
    while seen[u] != time:
        seen[u] = time
        trees.distance[u] = length
        length -= 1
        u = members[parent[u] ^ 1]
    return int(total)
