"""Belief propagation on graphs whose cliques are edges, with numbers instead of logarithms.

Messages are probabilities, tables exponentials of scores. Where scores of a node and of its edges
differ by so much that numbers would not hold them, and where something is forbidden, `log_messages`
does the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    at,
    div,
    exp,
    fma,
    largest,
    load,
    load_part,
    maximum,
    mul,
    padded,
    splat,
    store,
    store_part,
    sub,
    total,
)
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques, FlatScores, first_score
from sklearn_struct.inference.graphs.pair_scores import PairScores, table_of

__all__ = [
    "PairMessages",
    "Room",
    "add_edge_beliefs",
    "node_beliefs",
    "places_of_labels",
    "send_pairs",
]

# messages whose product is scaled anew
MANY = 8


class PairMessages(NamedTuple):
    """Probabilities (n_places, P) that edges tell their nodes, or odds (n_places, 1) where
    `odds_messages` sends them; and their powers by the shares of the edges: the same array where
    all shares are 1.
    """

    told: np.ndarray
    powers: np.ndarray


class Room(NamedTuple):
    """What sending needs, for itself alone: unset rows (P,) and (2 P,); which places of a row have
    a label, 1 or 0; 1 / K in all other places; and rows of the identity.
    """

    belief: np.ndarray
    row: np.ndarray
    labels: np.ndarray
    padding: np.ndarray
    unit: np.ndarray


@kernel
def places_of_labels(K: int) -> np.ndarray:
    """1 where a row has a label, 0 behind."""
    labels = np.zeros(padded(K))
    labels[:K] = 1.0
    return labels


@kernel
def send_pairs(
    scores: PairScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    way: tuple[bool, float],
    messages: PairMessages,
    room: Room,
) -> float:
    """Send the messages of nodes from the first to before the last, in this order to later nodes if
    `way` begins with True, else the other way round to earlier ones; the largest change.

    The other number of `way` is damping, the share of the old message in the new one.
    """
    # arrays by names of their own: in loops it takes long to look them up in tuples
    node, tables, start, _, share, shared_out = scores
    told, powers = messages
    belief, row, labels, padding, _ = room
    bounds = graph.bounds
    places = graph.places
    members = cliques.members
    first, stop = nodes
    forward, damping = way
    P = told.shape[1]
    K = int(labels.sum())
    change = splat(0.0)
    for i in range(stop - first):
        v = first + i if forward else stop - 1 - i
        _believe(node, bounds, places, v, powers, belief)
        for e in range(bounds[v], bounds[v + 1]):
            p = places[e]
            # the other end of the edge
            q = p ^ 1
            if (members[q] > v) != forward:
                continue
            for k in range(0, P, LANES):
                store(row, k, div(load(belief, k), load(told, p * P + k)))
            o, stride, turned = table_of(start[p], p, K, P)
            mass = _product(tables, o, turned, stride, row, labels, K)
            scale = splat((1.0 - damping) / mass)
            for k in range(0, P, LANES):
                old = load(told, q * P + k)
                new = fma(splat(1.0 - damping), load(padding, k), mul(load(row, P + k), scale))
                new = fma(splat(damping), old, new)
                change = maximum(maximum(sub(new, old), sub(old, new)), change)
                store(told, q * P + k, new)
            if shared_out:
                _raise(row, q, share[q // 2], messages, K)
    return largest(change)


@inlined
def _raise(row: np.ndarray, q: int, share: float, messages: PairMessages, K: int) -> None:
    """The power of a message by the share of its edge; the second half of a row is used."""
    told, powers = messages
    P = told.shape[1]
    for k in range(K):
        row[P + k] = share * np.log(told[q, k])
    for k in range(0, P, LANES):
        store(powers, q * P + k, exp(load(row, P + k)))


@inlined
def _believe(
    node: np.ndarray,
    bounds: np.ndarray,
    places: np.ndarray,
    v: int,
    powers: np.ndarray,
    belief: np.ndarray,
) -> float:
    """The product of a node's scores and messages, scaled; the logarithm of what it was divided
    by.
    """
    P = len(belief)
    first = bounds[v]
    last = bounds[v + 1]
    taken = 0.0
    for k in range(0, P, LANES):
        # a vector at a time, so that it stays in registers
        x = load(node, v * P + k)
        for e in range(first, min(first + MANY, last)):
            x = mul(x, load(powers, places[e] * P + k))
        store(belief, k, x)
    for start in range(first + MANY, last, MANY):
        taken += _scale(belief)
        for k in range(0, P, LANES):
            x = load(belief, k)
            for e in range(start, min(start + MANY, last)):
                x = mul(x, load(powers, places[e] * P + k))
            store(belief, k, x)
    return taken


@kernel
def _scale(belief: np.ndarray) -> float:
    """Divide by the largest number; the logarithm of that."""
    top = splat(0.0)
    for k in range(0, len(belief), LANES):
        top = maximum(load(belief, k), top)
    highest = largest(top)
    for k in range(0, len(belief), LANES):
        store(belief, k, mul(load(belief, k), splat(1.0 / highest)))
    taken: float = np.log(highest)
    return taken


@inlined
def _product(
    tables: np.ndarray,
    start: int,
    turned: bool,
    stride: int,
    row: np.ndarray,
    labels: np.ndarray,
    K: int,
) -> float:
    """The product of the first half of a row with a table, into the second half; its sum."""
    P = len(row) // 2
    mass = 0.0
    if turned:
        for j in range(K):
            sums = splat(0.0)
            for k in range(0, P, LANES):
                # what stands behind a row is multiplied by zero
                sums = fma(load(row, k), load(tables, start + j * stride + k), sums)
            x = total(sums)
            row[P + j] = x
            mass += x
    else:
        sum_of_all = splat(0.0)
        for k in range(0, P, LANES):
            sums = splat(0.0)
            more = splat(0.0)
            for j in range(0, K - 1, 2):
                o = start + j * stride + k
                sums = fma(splat(at(row, j)), load(tables, o), sums)
                more = fma(splat(at(row, j + 1)), load(tables, o + stride), more)
            if K % 2 == 1:
                o = start + (K - 1) * stride + k
                sums = fma(splat(at(row, K - 1)), load(tables, o), sums)
            # without what stands behind a row
            sums = mul(add(sums, more), load(labels, k))
            store(row, P + k, sums)
            sum_of_all = add(sum_of_all, sums)
        mass = total(sum_of_all)
    return mass


@kernel
def node_beliefs(
    scores: PairScores,
    graph: Adjacency,
    nodes: tuple[int, int],
    powers: np.ndarray,
    beliefs: np.ndarray,
) -> float:
    """Write the beliefs of nodes, padded, from the first row on; their part of the value, whose
    derivatives beliefs are.
    """
    P = powers.shape[1]
    first, stop = nodes
    value = 0.0
    for v in range(first, stop):
        belief = beliefs[v - first]
        value += _believe(scores.node, graph.bounds, graph.places, v, powers, belief)
        mass = splat(0.0)
        for k in range(0, P, LANES):
            mass = add(load(belief, k), mass)
        norm = total(mass)
        value += np.log(norm)
        for k in range(0, P, LANES):
            store(belief, k, mul(load(belief, k), splat(1.0 / norm)))
    return value


@kernel
def add_edge_beliefs(
    scores: PairScores,
    cliques: Cliques,
    edges: tuple[int, int],
    of_nodes: tuple[np.ndarray, int],
    weight: float,
    told: np.ndarray,
    out: FlatScores,
) -> float:
    """Add weighted beliefs of edges; their part of the value. `of_nodes` are beliefs, and the node
    of the first row.
    """
    beliefs, first = of_nodes
    P = told.shape[1]
    K = out.node.shape[1]
    row = np.zeros(2 * P)
    labels = np.ones(P)
    labels[K:] = 0.0
    value = 0.0
    members = cliques.members
    for c in range(edges[0], edges[1]):
        belief = beliefs[members[2 * c] - first]
        for k in range(0, P, LANES):
            store(row, k, div(load(belief, k), load(told, 2 * c * P + k)))
        start, stride, _ = table_of(scores.start[2 * c], 2 * c, K, P)
        _product(scores.tables, start, False, stride, row, labels, K)
        # what the second node tells, in the place of what it is told
        belief = beliefs[members[2 * c + 1] - first]
        mass = splat(0.0)
        for k in range(0, P, LANES):
            x = div(load(belief, k), load(told, (2 * c + 1) * P + k))
            mass = fma(load(row, P + k), x, mass)
            store(row, P + k, x)
        norm = total(mass)
        value += scores.share[c] * np.log(norm)
        into = first_score(out, cliques, c)
        for j in range(K):
            scale = splat(weight / norm * row[j])
            for k in range(0, P, LANES):
                x = mul(load(row, P + k), load(scores.tables, start + j * stride + k))
                o = into + j * K + k
                sums = load_part(out.tables, o, K - k, 0.0)
                store_part(out.tables, o, fma(scale, x, sums), K - k)
    return value
