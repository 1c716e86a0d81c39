"""Chains of second order, derivatives of marginals in the direction of a reward.

As in `first_order_tangent`, each number goes with its derivative, and rows are normalised before
they are differentiated, so derivatives are deviations from a mean. Here the numbers are those of
`second_order`, eight sequences side by side, and their derivatives follow in two more passes. A
sequence whose result cannot be trusted is redone in logarithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    add,
    fma,
    if_larger,
    largest,
    load,
    maximum,
    minimum,
    mul,
    padded,
    splat,
    store,
    sub,
    total,
    workspace,
)
from sklearn_struct.inference.chains.dual_passes import LARGEST, LEAST, MAX
from sklearn_struct.inference.chains.flat_tuples import TripleLinks, Triples
from sklearn_struct.inference.chains.second_order import (
    Jobs,
    by_length,
    clear,
    forward_backward,
    room,
)
from sklearn_struct.inference.chains.second_order_lanes import (
    Lanes,
    Tables,
    add_lanes,
    entry,
    fill_edges,
    fill_shared,
    is_shared,
    spread_edges,
)
from sklearn_struct.inference.chains.second_order_log import log_tangent

__all__ = ["tangent"]


class _Rises(NamedTuple):
    """Derivatives of what `Lanes` has, in tables of the same shapes."""

    node: np.ndarray  # (T, K) rewards of labels, 0 behind the end
    A: np.ndarray
    B: np.ndarray
    V: np.ndarray  # (K, K) of a token, then sums over pairs
    first: np.ndarray  # times the rewards
    later: np.ndarray
    norms: np.ndarray  # (T,) derivative of log c_t
    size: np.ndarray  # (8,) the largest reward of what is not forbidden


def tangent(
    potentials: Triples,
    reward: Triples,
    structure: TripleLinks,
    weight: np.ndarray,
    out: Triples,
    mean: np.ndarray,
) -> None:
    """Add weighted covariances with a reward to `out`: as `first_order_tangent.tangent`, with
    triples.
    """
    potentials, reward = (
        Triples(*(np.ascontiguousarray(a, np.float64) for a in p)) for p in (potentials, reward)
    )
    jobs = by_length(structure, weight)
    mean[:] = 0.0
    if len(jobs.order) == 0:
        return
    K = potentials.node.shape[1]
    lanes = room(jobs, K)
    _scaled_tangent(potentials, reward, structure, jobs, lanes, _rises(jobs, K), out, mean)
    for i in jobs.order[np.isnan(mean[jobs.order])].tolist():
        mean[i] = log_tangent(potentials, reward, structure, i, weight[i], out)


def _rises(jobs: Jobs, K: int) -> _Rises:
    T = jobs.lengths[0]
    sizes = [T * K, T * K * K, T * K * K, K * K, K * K, K**3, T, 1]
    tables = workspace((LANES * sum(sizes),), np.float64)
    return _Rises(*np.split(tables, LANES * np.cumsum(sizes)[:-1]))


@kernel
def _scaled_tangent(
    potentials: Triples,
    reward: Triples,
    structure: TripleLinks,
    jobs: Jobs,
    lanes: Lanes,
    rises: _Rises,
    out: Triples,
    mean: np.ndarray,
) -> None:
    """All sequences of `jobs`; what cannot be trusted gets mean nan and adds nothing."""
    tables = potentials.edge, potentials.triple
    rewards = reward.edge, reward.triple
    K = potentials.node.shape[1]
    shared = is_shared(tables) and is_shared(rewards)
    spread = np.zeros(2)
    sizes = np.zeros(2)
    for later in range(2 if is_shared(tables) else 0):
        fill_shared(tables, later, lanes.later if later else lanes.first, lanes.top, spread)
    for later in range(2 if shared else 0):
        sizes[later] = _reward_shared(
            rewards,
            lanes.later if later else lanes.first,
            later,
            rises.later if later else rises.first,
        )
    for first in range(0, len(jobs.order), LANES):
        n = forward_backward(potentials, structure, jobs, first, spread, lanes)
        for r in range(LANES):
            rises.size[r] = max(sizes[0], sizes[1] if lanes.tokens[1, r] > 2 else 0.0)
        _reward_nodes(reward.node, lanes, rises)
        _forward(tables, rewards, K, lanes, rises)
        _backward(tables, rewards, K, lanes, rises)
        for r in range(n):
            mean[jobs.order[first + r]] = _expected(K, r, lanes, rises)
        _add_pairs(K, lanes, rises, out)
        _add_triples(tables, rewards, K, lanes, rises, out.triple)


@inlined
def _rewarded(score: Vector, reward: Vector) -> tuple[Vector, Vector]:
    """Numbers, exponentials of scores, times their rewards; and how large rewards are, 0 of what is
    forbidden.
    """
    size = minimum(maximum(reward, sub(splat(0.0), reward)), splat(MAX))
    # finite, so that a reward of what is forbidden, times 0, is 0
    cut = minimum(maximum(reward, splat(-LARGEST)), splat(LARGEST))
    return mul(score, cut), if_larger(score, splat(0.0), size)


@inlined
def _reward_shared(rewards: Tables, table: np.ndarray, later: int, out: np.ndarray) -> float:
    """Write exponentials times rewards, of the scores of first or later edges, where all share a
    table; return the largest reward.
    """
    edge, triple = rewards
    n_pairs = edge.shape[1]
    n = triple.shape[1] if later else n_pairs
    # as those of the padding are 0
    out[: padded(n)] = 0.0
    for m in range(n):
        out[m] = edge[0, m % n_pairs]
        if later:
            out[m] += triple[0, m]
    size = splat(0.0)
    for m in range(0, n, LANES):
        number, here = _rewarded(load(table, m), load(out, m))
        store(out, m, number)
        size = maximum(here, size)
    return largest(size)


@kernel
def _reward_edges(rewards: Tables, t: int, shared: bool, lanes: Lanes, rises: _Rises) -> None:
    """The same for the edges into tokens t, each with rewards of its own; `shared` says whether
    they share their scores.
    """
    table = lanes.first if t == 1 else lanes.later
    out = rises.first if t == 1 else rises.later
    n = spread_edges(rewards, t, lanes, out)
    size = load(rises.size, 0)
    for m in range(n):
        number, here = _rewarded(entry(table, m, shared), load(out, m * LANES))
        store(out, m * LANES, number)
        size = maximum(here, size)
    store(rises.size, 0, size)


@inlined
def _reward_nodes(node: np.ndarray, lanes: Lanes, rises: _Rises) -> None:
    """Fill in the rewards of labels, and note the largest."""
    K = node.shape[1]
    for t in range(lanes.tokens[1, 0]):
        for k in range(K):
            m = (t * K + k) * LANES
            for r in range(LANES):
                rises.node[m + r] = 0.0
                if t < lanes.tokens[1, r]:
                    rises.node[m + r] = node[lanes.tokens[0, r] + t, k]
            reward = load(rises.node, m)
            _, size = _rewarded(load(lanes.U, m), reward)
            cut, _ = _rewarded(splat(1.0), reward)
            store(rises.node, m, cut)
            store(rises.size, 0, maximum(size, load(rises.size, 0)))


@inlined
def _fill(tables: Tables, rewards: Tables, t: int, lanes: Lanes, rises: _Rises) -> None:
    """The tables of the edges into tokens t, unless all edges share them."""
    shared = is_shared(tables)
    if not shared:
        fill_edges(tables, t, lanes)
    if not shared or not is_shared(rewards):
        _reward_edges(rewards, t, shared, lanes, rises)


@inlined
def _forward(tables: Tables, rewards: Tables, K: int, lanes: Lanes, rises: _Rises) -> None:
    """Fill the derivatives of A, and those of the logarithms of norms."""
    A = lanes.A
    dA = rises.A
    shared = is_shared(tables)
    rewards_shared = shared and is_shared(rewards)
    for t in range(lanes.tokens[1, 0]):
        if t > 0:
            _fill(tables, rewards, t, lanes, rises)
        table = lanes.first if t == 1 else lanes.later
        rewarded = rises.first if t == 1 else rises.later
        n = 0 if t == 0 else 1 if t == 1 else K
        before = (t - 1) * K * K
        here = t * K * K
        rise = splat(0.0)
        for j in range(K):
            for k in range(K):
                da = splat(0.0)
                for i in range(n):
                    m = i * K + j
                    at = (before + m) * LANES
                    da = fma(load(dA, at), entry(table, m * K + k, shared), da)
                    da = fma(load(A, at), entry(rewarded, m * K + k, rewards_shared), da)
                u = mul(load(lanes.U, (t * K + k) * LANES), load(lanes.scale, t * LANES))
                at = (here + j * K + k) * LANES
                da = fma(load(A, at), load(rises.node, (t * K + k) * LANES), mul(da, u))
                store(dA, at, da)
                rise = add(rise, da)
        # alpha sums to 1, so the sum of its derivatives is that of log c
        store(rises.norms, t * LANES, rise)
        down = sub(splat(0.0), rise)
        for m in range(here * LANES, (here + K * K) * LANES, LANES):
            # deviations from the mean: they do not grow with the length of a chain
            store(dA, m, fma(load(A, m), down, load(dA, m)))


@inlined
def _backward(tables: Tables, rewards: Tables, K: int, lanes: Lanes, rises: _Rises) -> None:
    """Fill the derivatives of B."""
    V = lanes.V
    dV = rises.V
    KK = K * K
    shared = is_shared(tables)
    rewards_shared = shared and is_shared(rewards)
    T = lanes.tokens[1, 0]
    for t in range(T - 1, -1, -1):
        n = 0 if t == T - 1 else 1 if t == 0 else K
        if n > 0:
            _fill(tables, rewards, t + 1, lanes, rises)
        table = lanes.first if t == 0 else lanes.later
        rewarded = rises.first if t == 0 else rises.later
        for pair in range(KK):
            db = splat(0.0)
            v = pair % K * K
            for k in range(K if pair < n * K else 0):
                at = (v + k) * LANES
                db = fma(entry(table, pair * K + k, shared), load(dV, at), db)
                db = fma(entry(rewarded, pair * K + k, rewards_shared), load(V, at), db)
            store(rises.B, (t * KK + pair) * LANES, db)
        for pair in range(KK):
            at = (t * KK + pair) * LANES
            value, rise = _weighed(t * K + pair % K, t, at, lanes, rises)
            store(V, pair * LANES, value)
            store(dV, pair * LANES, rise)


@inlined
def _weighed(state: int, t: int, at: int, lanes: Lanes, rises: _Rises) -> tuple[Vector, Vector]:
    """v_t = u_t beta_t / c_t of the number `at` in B, and its derivative."""
    u = mul(load(lanes.U, state * LANES), load(lanes.scale, t * LANES))
    v = mul(u, load(lanes.B, at))
    rise = sub(load(rises.node, state * LANES), load(rises.norms, t * LANES))
    return v, fma(v, rise, mul(u, load(rises.B, at)))


@inlined
def _expected(K: int, r: int, lanes: Lanes, rises: _Rises) -> float:
    """The mean reward of a lane; nan where its result cannot be trusted, of which nothing stays."""
    T = lanes.tokens[1, r]
    size = rises.size[r]
    expected = 0.0
    for t in range(T):
        expected += rises.norms[t * LANES + r]
    # rewards beyond were cut off, or could underflow in products
    trusted = size == 0.0 or LEAST <= size <= LARGEST
    if trusted and np.isfinite(expected) and not np.isnan(lanes.logs[r]):
        return expected
    clear(K, r, lanes)
    for m in range(r, T * K * K * LANES, LANES):
        rises.A[m] = rises.B[m] = 0.0
    for m in range(r, T * LANES, LANES):
        rises.norms[m] = 0.0
    return np.nan


@inlined
def _add_pairs(K: int, lanes: Lanes, rises: _Rises, out: Triples) -> None:
    """Add weighted derivatives of the marginals of labels and pairs; A is weighted from here on,
    and B is v.
    """
    A = lanes.A
    sums = rises.V
    out_node = out.node
    out_edge = out.edge
    shared = out_edge.shape[0] == 1
    weight = load(lanes.weight, 0)
    # it is free now, and of the right size
    sums[:] = 0.0
    for t in range(lanes.tokens[1, 0]):
        for k in range(K):
            slopes = splat(0.0)
            for j in range(K):
                pair = j * K + k
                at = (t * K * K + pair) * LANES
                a = mul(load(A, at), weight)
                da = mul(load(rises.A, at), weight)
                slope = fma(a, load(rises.B, at), mul(da, load(lanes.B, at)))
                v, dv = _weighed(t * K + k, t, at, lanes, rises)
                store(A, at, a)
                store(rises.A, at, da)
                store(lanes.B, at, v)
                store(rises.B, at, dv)
                slopes = add(slopes, slope)
                if shared and t > 0:
                    store(sums, pair * LANES, add(slope, load(sums, pair * LANES)))
                if t > 0 and not shared:
                    add_lanes(slope, t, (2, t - 1), pair, lanes, out_edge)
            add_lanes(slopes, t, (0, t), k, lanes, out_node)
    for pair in range(K * K if shared else 0):
        out_edge[0, pair] += total(load(sums, pair * LANES))


@inlined
def _add_triples(
    tables: Tables,
    rewards: Tables,
    K: int,
    lanes: Lanes,
    rises: _Rises,
    out_triple: np.ndarray,
) -> None:
    """Add the weighted derivatives of alpha_{t-1}(i, j) G(i, j, k) v_t(j, k)."""
    KK = K * K
    T = lanes.tokens[1, 0]
    shared = is_shared(tables)
    rewards_shared = shared and is_shared(rewards)
    step = 0 if out_triple.shape[0] == 1 else 1
    summed = rewards_shared and step == 0
    for m in range(K * KK if summed else 0):
        p = splat(0.0)
        slope = splat(0.0)
        for t in range(2, T):
            left = ((t - 1) * KK + m // K) * LANES
            right = (t * KK + m % KK) * LANES
            a = load(lanes.A, left)
            v = load(lanes.B, right)
            p = fma(a, v, p)
            slope = fma(a, load(rises.B, right), slope)
            slope = fma(load(rises.A, left), v, slope)
        out_triple[0, m] += total(slope) * lanes.later[m] + total(p) * rises.later[m]
    for t in range(2, 0 if summed else T):
        _fill(tables, rewards, t, lanes, rises)
        for m in range(K * KK):
            left = ((t - 1) * KK + m // K) * LANES
            right = (t * KK + m % KK) * LANES
            a = load(lanes.A, left)
            v = load(lanes.B, right)
            slope = fma(a, load(rises.B, right), mul(load(rises.A, left), v))
            slope = mul(slope, entry(lanes.later, m, shared))
            slope = fma(mul(a, v), entry(rises.later, m, rewards_shared), slope)
            add_lanes(slope, t, (3, t), m, lanes, out_triple)
