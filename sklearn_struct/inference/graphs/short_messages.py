"""Belief propagation on graphs of at most sixteen labels, whose messages are one or two vectors:
these stay in registers, which takes half the time of `pair_messages`.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    add,
    at,
    div,
    fma,
    largest,
    load,
    maximum,
    mul,
    splat,
    store,
    sub,
    total,
)
from sklearn_struct.inference.graphs.adjacency import Adjacency
from sklearn_struct.inference.graphs.flat_scores import Cliques
from sklearn_struct.inference.graphs.pair_messages import Room
from sklearn_struct.inference.graphs.pair_scores import PairScores, table_of

__all__ = ["MOST_LABELS", "send_short"]

MOST_LABELS = 2 * LANES

# messages whose product is scaled anew
MANY = 8


@kernel
def send_short(
    scores: PairScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    way: tuple[bool, float],
    told: np.ndarray,
    room: Room,
) -> float:
    """As `pair_messages.send_pairs`, where all shares are 1."""
    if told.shape[1] == LANES:
        return _one_vector(scores, cliques, graph, nodes, way, told, room)
    return _two_vectors(scores, cliques, graph, nodes, way, told, room)


@kernel
def _one_vector(
    scores: PairScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    way: tuple[bool, float],
    told: np.ndarray,
    room: Room,
) -> float:
    """Of at most 8 labels."""
    node, tables, start, _, _, _ = scores
    bounds = graph.bounds
    places = graph.places
    members = cliques.members
    first, stop = nodes
    forward, damping = way
    _, row, labels, padding, unit = room
    K = int(labels.sum())
    change = splat(0.0)
    for i in range(stop - first):
        v = first + i if forward else stop - 1 - i
        belief = load(node, v * LANES)
        for e in range(bounds[v], bounds[v + 1]):
            belief = mul(belief, load(told, at(places, e) * LANES))
            if (e - bounds[v]) % MANY == MANY - 1:
                belief = mul(belief, splat(1.0 / largest(belief)))
        for e in range(bounds[v], bounds[v + 1]):
            p = at(places, e)
            # the other end of the edge
            q = p ^ 1
            if (at(members, q) > v) != forward:
                continue
            cavity = div(belief, load(told, p * LANES))
            o, step, turned = table_of(at(start, p), p, K, LANES)
            sums = splat(0.0)
            if turned:
                for j in range(K):
                    # what stands behind a row is multiplied by zero
                    x = total(mul(cavity, load(tables, o + j * step)))
                    sums = fma(splat(x), load(unit, 2 * j * LANES), sums)
            else:
                store(row, 0, cavity)
                more = splat(0.0)
                for j in range(0, K - 1, 2):
                    sums = fma(splat(at(row, j)), load(tables, o + j * step), sums)
                    more = fma(splat(at(row, j + 1)), load(tables, o + (j + 1) * step), more)
                if K % 2 == 1:
                    sums = fma(splat(at(row, K - 1)), load(tables, o + (K - 1) * step), sums)
                # without what stands behind a row
                sums = mul(add(sums, more), load(labels, 0))
            scale = splat((1.0 - damping) / total(sums))
            old = load(told, q * LANES)
            new = fma(sums, scale, mul(splat(1.0 - damping), load(padding, 0)))
            new = fma(splat(damping), old, new)
            change = maximum(maximum(sub(new, old), sub(old, new)), change)
            store(told, q * LANES, new)
    return largest(change)


@kernel
def _two_vectors(
    scores: PairScores,
    cliques: Cliques,
    graph: Adjacency,
    nodes: tuple[int, int],
    way: tuple[bool, float],
    told: np.ndarray,
    room: Room,
) -> float:
    """Of 9 to 16 labels: the first 8, and the others."""
    node, tables, start, _, _, _ = scores
    bounds = graph.bounds
    places = graph.places
    members = cliques.members
    first, stop = nodes
    forward, damping = way
    _, row, labels, padding, unit = room
    K = int(labels.sum())
    change = splat(0.0)
    for i in range(stop - first):
        v = first + i if forward else stop - 1 - i
        low = load(node, v * 2 * LANES)
        high = load(node, v * 2 * LANES + LANES)
        for e in range(bounds[v], bounds[v + 1]):
            p = at(places, e) * 2 * LANES
            low = mul(low, load(told, p))
            high = mul(high, load(told, p + LANES))
            if (e - bounds[v]) % MANY == MANY - 1:
                scale = splat(1.0 / largest(maximum(low, high)))
                low = mul(low, scale)
                high = mul(high, scale)
        for e in range(bounds[v], bounds[v + 1]):
            p = at(places, e)
            # the other end of the edge
            q = (p ^ 1) * 2 * LANES
            if (at(members, p ^ 1) > v) != forward:
                continue
            store(row, 0, div(low, load(told, p * 2 * LANES)))
            store(row, LANES, div(high, load(told, p * 2 * LANES + LANES)))
            o, step, turned = table_of(at(start, p), p, K, 2 * LANES)
            x, y = _product(tables, o, step, turned, row, unit, K)
            # without what stands behind a row
            y = mul(y, load(labels, LANES))
            scale = splat((1.0 - damping) / total(add(x, y)))
            old = load(told, q)
            new = fma(splat(damping), old, mul(x, scale))
            change = maximum(maximum(sub(new, old), sub(old, new)), change)
            store(told, q, new)
            old = load(told, q + LANES)
            new = fma(y, scale, mul(splat(1.0 - damping), load(padding, LANES)))
            new = fma(splat(damping), old, new)
            change = maximum(maximum(sub(new, old), sub(old, new)), change)
            store(told, q + LANES, new)
    return largest(change)


@inlined
def _product(
    tables: np.ndarray,
    start: int,
    step: int,
    turned: bool,
    row: np.ndarray,
    unit: np.ndarray,
    K: int,
) -> tuple[Vector, Vector]:
    """The two vectors of the product of a row with a table, or with its transpose."""
    low = splat(0.0)
    high = splat(0.0)
    for j in range(K):
        o = start + j * step
        x = load(tables, o)
        y = load(tables, o + LANES)
        if turned:
            # what stands behind a row is multiplied by zero
            z = splat(total(fma(load(row, 0), x, mul(load(row, LANES), y))))
            x = load(unit, 2 * j * LANES)
            y = load(unit, 2 * j * LANES + LANES)
        else:
            z = splat(at(row, j))
        low = fma(z, x, low)
        high = fma(z, y, high)
    return low, high
