"""Chains of second order, sum-product: log Z, marginals of labels, pairs and triples.

p(y | x) = exp(sum_t node[t, y_t] + sum_t pair[t, y_{t-1}, y_t] + sum_{t >= 2} triple[t, y_{t-2},
y_{t-1}, y_t]) / Z(x). K ** 3 a token.

A state is two labels (j, k), of a token and of the one before it; there is one label before the
first token. As in `first_order`, scaled numbers are trusted only where nothing can have been lost,
else logarithms redo the sequence. Eight sequences of about one length stand side by side, each in a
lane of all vectors; so a number of a table that all edges share serves eight products, and a
sequence's result does not depend on its neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    fma,
    load,
    mul,
    splat,
    store,
    total,
    workspace,
)
from sklearn_struct.inference.chains.flat_tuples import TripleLinks, Triples
from sklearn_struct.inference.chains.second_order_lanes import (
    Lanes,
    add_lanes,
    entry,
    fill_edges,
    fill_nodes,
    fill_shared,
    is_shared,
)
from sklearn_struct.inference.chains.second_order_log import log_marginals

__all__ = ["Jobs", "by_length", "clear", "forward_backward", "marginals", "room"]

# ranges of scores within which nothing can underflow that matters, in the two steps that a state
# spans
NEAR = 300.0

TINY = 1e-200

HUGE = 1e220


def marginals(
    potentials: Triples,
    structure: TripleLinks,
    weight: np.ndarray,
    out: Triples,
    log_Z: np.ndarray,
) -> None:
    """Add weighted marginals to `out` and write log Z of each sequence: as
    `first_order.marginals`, with triples.
    """
    potentials = Triples(*(np.ascontiguousarray(table, np.float64) for table in potentials))
    jobs = by_length(structure, weight)
    log_Z[:] = 0.0
    if len(jobs.order) == 0:
        return
    _scaled(potentials, structure, jobs, room(jobs, potentials.node.shape[1]), out, log_Z)
    for i in jobs.order[np.isnan(log_Z[jobs.order])]:
        log_Z[i] = log_marginals(potentials, structure, i, weight[i], out)


class Jobs(NamedTuple):
    """The sequences that have tokens and a weight, longest first."""

    order: np.ndarray
    lengths: np.ndarray
    weight: np.ndarray  # of all sequences


def by_length(structure: TripleLinks, weight: np.ndarray) -> Jobs:
    """What is to be done: sequences of about one length side by side leave few lanes idle."""
    lengths = np.diff(structure.offsets) * (weight != 0)
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
    return Jobs(order, lengths[order], weight)


def room(jobs: Jobs, K: int) -> Lanes:
    """Lanes for the longest sequence; there must be one."""
    T = jobs.lengths[0]
    sizes = [T * K, T * K * K, T * K * K, K * K, T, K * K, K**3]
    tables = np.split(workspace((LANES * sum(sizes),), np.float64), LANES * np.cumsum(sizes)[:-1])
    weight, logs, *rest = np.zeros((6, LANES))
    spread = np.array(rest[:2])
    row = np.concatenate(rest[2:])
    return Lanes(np.zeros((4, LANES), np.int64), weight, logs, spread, np.zeros(2), row, *tables)


@kernel
def _scaled(
    potentials: Triples,
    structure: TripleLinks,
    jobs: Jobs,
    lanes: Lanes,
    out: Triples,
    log_Z: np.ndarray,
) -> None:
    """All sequences of `jobs`; what cannot be trusted gets log Z nan and adds nothing."""
    tables = potentials.edge, potentials.triple
    order = jobs.order
    K = potentials.node.shape[1]
    spread = np.zeros(2)
    # two tables: that of the edge into a second token, which has no triple, and that of all others
    for later in range(2 if is_shared(tables) else 0):
        fill_shared(tables, later, lanes.later if later else lanes.first, lanes.top, spread)
    for first in range(0, len(order), LANES):
        n = forward_backward(potentials, structure, jobs, first, spread, lanes)
        for r in range(n):
            log_Z[order[first + r]] = lanes.logs[r]
        _add_pairs(K, lanes, out)
        _add_triples(is_shared(tables), tables, K, lanes, out.triple)


@inlined
def forward_backward(
    potentials: Triples,
    structure: TripleLinks,
    jobs: Jobs,
    first: int,
    spread: np.ndarray,
    lanes: Lanes,
) -> int:
    """Fill lanes with the jobs from `first`; return how many they are.

    Tables that all edges share, and the `spread` of their scores, have been filled in before.
    """
    tables = potentials.edge, potentials.triple
    order = jobs.order
    K = potentials.node.shape[1]
    n = min(LANES, len(order) - first)
    for r in range(LANES):
        # spare lanes repeat a sequence, with no tokens
        i = order[first + min(r, n - 1)]
        T = jobs.lengths[first + r] if r < n else 0
        lanes.tokens[0, r] = structure.offsets[i]
        lanes.tokens[1, r] = T
        lanes.tokens[2, r] = structure.edge_offsets[i]
        # so that the triple which ends at token t is this plus t
        lanes.tokens[3, r] = structure.triple_offsets[i] - 2
        lanes.weight[r] = jobs.weight[i]
        lanes.spread[0, r] = 0.0
        # two tokens have no triple, so the range of these scores does not concern them
        lanes.spread[1, r] = max(spread[0], spread[1] if T > 2 else 0.0)
        lanes.logs[r] = 0.0
    fill_nodes(potentials.node, lanes)
    _forward(tables, K, lanes)
    _backward(tables, K, lanes)
    for r in range(n):
        _distrust(potentials, r, lanes)
    return n


@inlined
def _forward(tables: tuple[np.ndarray, np.ndarray], K: int, lanes: Lanes) -> None:
    """Fill A and the scales, and complete log Z, which is nan where alpha vanishes."""
    A = lanes.A
    row = lanes.row
    shared = is_shared(tables)
    mass = np.ones(LANES)
    for t in range(lanes.tokens[1, 0]):
        if t > 0 and not shared:
            fill_edges(tables, t, lanes)
        for r in range(LANES if t > 0 else 0):
            if t < lanes.tokens[1, r]:
                lanes.logs[r] += lanes.top[0 if t == 1 else 1] if shared else row[r]
                if not shared and not row[LANES + r] <= lanes.spread[1, r]:
                    lanes.spread[1, r] = row[LANES + r]
        _step(K, t, lanes, shared)
        for r in range(LANES):
            norm = row[r]
            lanes.scale[t * LANES + r] = 0.0
            # the inverse of a smaller one might be no float
            if norm > 1e-300:
                lanes.scale[t * LANES + r] = 1.0 / norm
                mass[r] *= norm
            elif t < lanes.tokens[1, r]:
                lanes.logs[r] = np.nan
            if not 1e-100 < mass[r] < 1e100:  # a logarithm now and then instead of one a token
                lanes.logs[r] += np.log(mass[r])
                mass[r] = 1.0
        scale = load(lanes.scale, t * LANES)
        for m in range(t * K * K * LANES, (t + 1) * K * K * LANES, LANES):
            store(A, m, mul(load(A, m), scale))
    for r in range(LANES):
        lanes.logs[r] += np.log(mass[r])


@inlined
def _step(K: int, t: int, lanes: Lanes, shared: bool) -> None:
    """alpha_t before it is scaled, and its sum, into `row`."""
    A = lanes.A
    U = lanes.U
    mass = splat(0.0)
    zero = splat(0.0)
    table = lanes.first if t == 1 else lanes.later
    before = (t - 1) * K * K
    here = t * K * K
    n = 1 if t == 1 else K
    for j in range(K):
        for k in range(K):
            a = zero
            if t == 0:
                a = splat(1.0) if j == 0 else zero
            else:
                for i in range(n):
                    m = i * K + j
                    a = fma(load(A, (before + m) * LANES), entry(table, m * K + k, shared), a)
            a = mul(a, load(U, (t * K + k) * LANES))
            store(A, (here + j * K + k) * LANES, a)
            mass = add(mass, a)
    store(lanes.row, 0, mass)


@inlined
def _backward(tables: tuple[np.ndarray, np.ndarray], K: int, lanes: Lanes) -> None:
    """Fill B."""
    B = lanes.B
    V = lanes.V
    U = lanes.U
    KK = K * K
    shared = is_shared(tables)
    zero = splat(0.0)
    T = lanes.tokens[1, 0]
    for t in range(T - 1, -1, -1):
        n = 0 if t == T - 1 else 1 if t == 0 else K
        if n > 0 and not shared:
            fill_edges(tables, t + 1, lanes)
        table = lanes.first if t == 0 else lanes.later
        for pair in range(KK):
            b = zero
            v = pair % K * K
            for k in range(K if pair < n * K else 0):
                b = fma(entry(table, pair * K + k, shared), load(V, (v + k) * LANES), b)
            store(B, (t * KK + pair) * LANES, b)
        for r in range(LANES):
            # sequences in lanes side by side end at different tokens
            if t == lanes.tokens[1, r] - 1:
                for pair in range(KK):
                    B[(t * KK + pair) * LANES + r] = 1.0
        for pair in range(KK):
            u = mul(load(U, (t * K + pair % K) * LANES), load(lanes.scale, t * LANES))
            store(V, pair * LANES, mul(u, load(B, (t * KK + pair) * LANES)))


@inlined
def _distrust(potentials: Triples, r: int, lanes: Lanes) -> None:
    """Clear what stands in a lane whose result cannot be trusted; its log Z is nan."""
    K = potentials.node.shape[1]
    near = lanes.spread[0, r] + lanes.spread[1, r] < NEAR
    if np.isnan(lanes.logs[r]) or not (near or not _lost(potentials, r, lanes)):
        lanes.logs[r] = np.nan
        clear(K, r, lanes)


@inlined
def clear(K: int, r: int, lanes: Lanes) -> None:
    """Let nothing stay of a lane: it would add nan to what all lanes share."""
    T = lanes.tokens[1, r]
    for m in range(r, T * K * K * LANES, LANES):
        lanes.A[m] = lanes.B[m] = 0.0
    for m in range(r, T * K * LANES, LANES):
        lanes.U[m] = 0.0


@kernel
def _lost(potentials: Triples, r: int, lanes: Lanes) -> bool:
    """Whether an alpha that structure allows to be positive came near the smallest numbers, or a
    beta the largest.

    As long as none did, "alpha is positive" is the same as "there is a way here", which tells zeros
    that mean "forbidden" from zeros that mean "underflowed". What beta or `exp` lose to underflow
    then has a probability below 1e-308 * HUGE.
    """
    node = potentials.node
    edge = potentials.edge
    triple = potentials.triple
    A = lanes.A
    B = lanes.B
    last = len(edge) - 1
    last_triple = len(triple) - 1
    K = node.shape[1]
    t0 = lanes.tokens[0, r]
    for t in range(lanes.tokens[1, r]):
        e = min(lanes.tokens[2, r] + t - 1, last)
        of_three = min(lanes.tokens[3, r] + t, last_triple)
        scale = lanes.scale[t * LANES + r]
        for pair in range(K * K if t > 0 else K):
            m = (t * K * K + pair) * LANES + r
            k = pair % K
            if not B[m] <= HUGE or not B[m] * lanes.U[(t * K + k) * LANES + r] * scale <= HUGE:
                return True
            if node[t0 + t, k] == -np.inf or A[m] >= TINY * scale:
                continue
            if t == 0:
                return True
            for i in range(1 if t == 1 else K):
                before = ((t - 1) * K * K + i * K + pair // K) * LANES + r
                if (
                    A[before] > 0.0
                    and edge[e, pair] > -np.inf
                    and (t == 1 or triple[of_three, i * K * K + pair] > -np.inf)
                ):
                    return True
    return False


@inlined
def _add_pairs(K: int, lanes: Lanes, out: Triples) -> None:
    """Add weighted marginals of labels and pairs; A is weighted from here on, and B is v."""
    A = lanes.A
    B = lanes.B
    sums = lanes.V
    out_node = out.node
    out_edge = out.edge
    shared = out_edge.shape[0] == 1
    weight = load(lanes.weight, 0)
    # `V` is free now, and of the right size
    sums[:] = 0.0
    for t in range(lanes.tokens[1, 0]):
        scale = load(lanes.scale, t * LANES)
        for k in range(K):
            p = splat(0.0)
            u = mul(load(lanes.U, (t * K + k) * LANES), scale)
            for j in range(K):
                pair = j * K + k
                m = (t * K * K + pair) * LANES
                a = mul(load(A, m), weight)
                b = load(B, m)
                store(A, m, a)
                store(B, m, mul(b, u))
                p = fma(a, b, p)
                if shared and t > 0:
                    store(sums, pair * LANES, fma(a, b, load(sums, pair * LANES)))
                if t > 0 and not shared:
                    add_lanes(mul(a, b), t, (2, t - 1), pair, lanes, out_edge)
            add_lanes(p, t, (0, t), k, lanes, out_node)
    for pair in range(K * K if shared else 0):
        out_edge[0, pair] += total(load(sums, pair * LANES))


@inlined
def _add_triples(
    shared: bool,
    tables: tuple[np.ndarray, np.ndarray],
    K: int,
    lanes: Lanes,
    out_triple: np.ndarray,
) -> None:
    """Add the weighted marginals alpha_{t-1}(i, j) G(i, j, k) v_t(j, k)."""
    A = lanes.A
    V = lanes.B
    KK = K * K
    T = lanes.tokens[1, 0]
    step = 0 if out_triple.shape[0] == 1 else 1
    for m in range(K * KK if shared and step == 0 else 0):
        left = m // K * LANES
        right = m % KK * LANES
        p = splat(0.0)
        for t in range(2, T):
            p = fma(load(A, left + (t - 1) * KK * LANES), load(V, right + t * KK * LANES), p)
        out_triple[0, m] += total(p) * lanes.later[m]
    for t in range(2, T if step == 1 or not shared else 0):
        if not shared:
            fill_edges(tables, t, lanes)
        for m in range(K * KK):
            a = mul(load(A, ((t - 1) * KK + m // K) * LANES), entry(lanes.later, m, shared))
            p = mul(a, load(V, (t * KK + m % KK) * LANES))
            add_lanes(p, t, (3, t), m, lanes, out_triple)
