"""Linear chains, derivatives of marginals in the direction of a reward (P3: covariances with an
additive reward).

A reward R(y) = sum_t node[t, y_t] + sum_t edge[t, y_t, y_{t+1}] moves the potentials; the marginals
then change by the covariances of their indicators with R. One forward-backward in dual numbers,
each number with its derivative, gives all of them: Hessian-vector products, entropies and
expectation criteria alike.

As in `first_order` numbers are scaled, and a sequence whose scaled result cannot be trusted is redone,
alone, in log space (`first_order_log`). Everything is normalised before it is differentiated: derivatives
are deviations from a mean, and do not grow with the length of a chain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    add,
    exp,
    fma,
    largest,
    least,
    load,
    load_part,
    maximum,
    minimum,
    mul,
    padded,
    splat,
    store,
    store_part,
    sub,
    total,
)
from sklearn_struct.inference.chains.dual_numbers import (
    SPARE,
    add_outer_duals,
    duals,
    rows_times_duals,
    transpose_duals,
)
from sklearn_struct.inference.chains.first_order_log import log_tangent
from sklearn_struct.inference.chains.flat import Links, Pairs

__all__ = ["tangent"]

GROUP = 8  # sequences at a time: enough for products, and few enough for the cache
LIMIT = 600.0  # range of scores up to which nothing can underflow, if nothing is forbidden
# otherwise: smallest trusted alpha, before its row is scaled, and largest beta
TINY = 1e-200
HUGE = 1e220
# range of trusted rewards
LEAST = 1e-30
LARGEST = 1e30
MAX = float(np.finfo(float).max)


class _Group(NamedTuple):
    """Sequences that are worked on together, by falling length; at first all that are neither empty
    nor of weight 0.

    A row of the workspace is a token; token t of all sequences of the group that have one stand
    together.
    """

    order: np.ndarray  # which sequences
    lengths: np.ndarray
    tokens: np.ndarray  # first token of each
    edges: np.ndarray  # first edge of each
    weight: np.ndarray
    starts: np.ndarray  # first row of each t, and the end twice


class _Work(NamedTuple):
    """Workspace; E, A, B, V and pairs are rows of `duals`, numbers with their derivatives."""

    E: np.ndarray  # exp(edge - its maximum); derivative: times the reward
    E_T: np.ndarray  # the same, transposed
    A: np.ndarray  # alpha_t = (alpha_{t-1} E) * u_t / c_t, which sums to 1
    B: np.ndarray  # beta_t = E (u_{t+1} * beta_{t+1}) / c_{t+1}; alpha_t * beta_t are the marginals
    V: np.ndarray  # u_t * beta_t / c_t, of token t + 1 in the row of token t
    U: np.ndarray  # u_t / c_t, where u_t = exp(node - its row's maximum)
    norms: np.ndarray  # c_t, and the derivative of log c_t
    pairs: np.ndarray  # sum of alpha_t(j) v_{t+1}(k)
    node_spread: np.ndarray  # of each sequence: largest range of a token's scores
    edge_spread: np.ndarray  # and of an edge's
    size: np.ndarray  # and largest reward


def tangent(
    potentials: Pairs,
    reward: Pairs,
    structure: Links,
    weight: np.ndarray,
    out: Pairs,
    mean: np.ndarray,
) -> None:
    """Add weighted covariances with a reward, the derivative of the marginals in its direction, to
    `out`.

    Parameters
    ----------
    potentials : Pairs
        ``node`` (n, K) and ``edge`` (n_edges or 1, K * K), float64 or float32, -inf allowed.
    reward : Pairs
        Rewards of labels and label pairs, ``edge`` (n_edges or 1, K * K), finite; of what is
        forbidden they may be anything, and are ignored.
    structure : Links
        As made by `flat.links`.
    weight : ndarray of shape (n_sequences,), float64
        ``out += weight[i] * Cov(indicators, R)``. Sequences of weight 0 are skipped, their mean is
        written as 0.
    out : Pairs
        float64, ``node`` (n, K) and ``edge`` (n_edges, K * K), or (1, K * K) for the sum over all
        edges.
    mean : ndarray of shape (n_sequences,), float64
        E[R], the derivative of log Z, is written; nan where no labelling is allowed, and then
        nothing is added.
    """
    potentials, reward = (
        Pairs(*(np.ascontiguousarray(a, np.float64) for a in p)) for p in (potentials, reward)
    )
    lengths = np.diff(structure.offsets) * (weight != 0)
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
    starts = np.empty(lengths.max(initial=0) + 2, np.int64)
    used = _Group(
        order,
        lengths[order],
        structure.offsets[order],
        structure.edge_offsets[order],
        weight[order],
        starts,
    )
    rows = np.add.reduceat(np.append(used.lengths, 0), np.arange(0, len(order) + 1, GROUP)).max()
    work = _workspace(rows, potentials.node.shape[1])
    mean[:] = 0.0
    if _scaled_tangent(potentials, reward, used, out, mean, work):
        for i in np.flatnonzero(np.isnan(mean)).tolist():
            mean[i] = log_tangent(potentials, reward, structure, i, weight[i], out)


def _workspace(n: int, K: int) -> _Work:
    """For n rows of a group."""
    A, B, V, E, E_T, pairs = (
        duals(rows, K) for rows in (n + SPARE, n + SPARE, n + SPARE, K, K, padded(K))
    )
    U = np.empty((n, padded(K)))
    norms = np.empty((n, 2))
    return _Work(
        E, E_T, A, B, V, U, norms, pairs, np.empty(GROUP), np.empty(GROUP), np.empty(GROUP)
    )


@kernel
def _scaled_tangent(
    potentials: Pairs, reward: Pairs, used: _Group, out: Pairs, mean: np.ndarray, work: _Work
) -> int:
    """The same, but sequences whose scaled result cannot be trusted get mean nan; return their
    number.
    """
    shared = _shared(potentials, reward)
    edge_spread = 0.0
    edge_size = 0.0
    if shared:
        edge_spread, edge_size = _fill(potentials, reward, 0, True, work)
        transpose_duals(work.E, work.E_T)
    elif potentials.edge.shape[0] == 1 and len(reward.edge) > 0:
        _fill(potentials, reward, 0, True, work)  # edges differ in their rewards alone
    n_untrusted = 0
    for first in range(0, len(used.order), GROUP):
        last = min(first + GROUP, len(used.order))
        group = _group(used, first, last)
        for r in range(last - first):
            work.node_spread[r] = 0.0
            work.edge_spread[r] = edge_spread
            work.size[r] = edge_size
        _exponentials(potentials.node, reward.node, group, work)
        _forward(potentials, reward, group, work)
        _backward(potentials, reward, group, work)
        for r in range(last - first):
            expected = _expected(potentials, group, r, work)
            n_untrusted += np.isnan(expected)
            mean[group.order[r]] = expected
            _add_nodes(group, r, not np.isnan(expected), work, out.node)
        if shared and out.edge.shape[0] == 1:
            add_outer_duals(work.A, work.V, group.starts[group.lengths[0]], work.pairs)
        else:
            _add_edges(potentials, reward, group, work, out.edge)
    if shared and out.edge.shape[0] == 1:
        _add_pairs(work, out.edge)
    return n_untrusted


@kernel
def _shared(potentials: Pairs, reward: Pairs) -> bool:
    """Whether all edges have the same scores and rewards."""
    return len(potentials.edge) == 1 and len(reward.edge) == 1


@kernel
def _group(used: _Group, first: int, last: int) -> _Group:
    """Some of the sequences in use, with the rows of their tokens."""
    order, lengths, tokens, edges, weight, starts = used
    n = last - first
    row = 0
    T = lengths[first]
    for t in range(T):
        while lengths[first + n - 1] <= t:
            n -= 1
        starts[t] = row
        row += n
    starts[T] = row
    starts[T + 1] = row
    return _Group(
        order[first:last],
        lengths[first:last],
        tokens[first:last],
        edges[first:last],
        weight[first:last],
        starts,
    )


@kernel
def _extent(
    scores: np.ndarray, i: int, rewards: np.ndarray, j: int, n: int
) -> tuple[float, float, float]:
    """Maximum and range of scores[i : i + n], and largest reward that is not forbidden, of
    rewards[j : j + n].
    """
    top = splat(-np.inf)
    bottom = splat(np.inf)
    size = splat(0.0)
    for k in range(0, n, LANES):
        score = load_part(scores, i + k, n - k, -np.inf)
        x = load_part(rewards, j + k, n - k, 0.0)
        top = maximum(score, top)
        bottom = minimum(load_part(scores, i + k, n - k, np.inf), bottom)
        size = maximum(minimum(maximum(x, sub(splat(0.0), x)), add(score, splat(MAX))), size)
    return largest(top), largest(top) - least(bottom), largest(size)


@kernel
def _rewards(rewards: np.ndarray, i: int, n: int) -> Vector:
    """The first n of rewards[i : i + LANES], and 0; finite, so that a forbidden one times 0 is 0."""
    return minimum(maximum(load_part(rewards, i, n, 0.0), splat(-LARGEST)), splat(LARGEST))


@kernel
def _fill(
    potentials: Pairs, reward: Pairs, e: int, fresh: bool, work: _Work
) -> tuple[float, float]:
    """Fill E with the table of edge e, unless `fresh` with its rewards alone; return its range and
    largest reward.
    """
    edge = potentials.edge
    rewards = reward.edge
    E = work.E
    K = E.shape[0]
    P = E.shape[1] // 2
    i = min(e, len(edge) - 1) * K * K
    j = min(e, len(rewards) - 1) * K * K
    top, spread, size = _extent(edge, i, rewards, j, K * K)
    shift = splat(top if top > -np.inf else 0.0)
    for row in range(K):
        for k in range(0, K, LANES):
            x = load(E, 2 * row * P + k)
            if fresh:
                x = exp(sub(load_part(edge, i + row * K + k, K - k, -np.inf), shift))
                store(E, 2 * row * P + k, x)
            store(E, (2 * row + 1) * P + k, mul(x, _rewards(rewards, j + row * K + k, K - k)))
    return spread, size


@kernel
def _exponentials(node: np.ndarray, rewards: np.ndarray, group: _Group, work: _Work) -> None:
    """Fill U with u_t, and note spread and size of nodes."""
    U = work.U
    spread = work.node_spread
    size = work.size
    starts = group.starts
    K = node.shape[1]
    P = U.shape[1]
    for r in range(len(group.order)):
        for t in range(group.lengths[r]):
            i = (group.tokens[r] + t) * K
            top, row_spread, row_size = _extent(node, i, rewards, i, K)
            spread[r], size[r] = max(spread[r], row_spread), max(size[r], row_size)
            shift = splat(top if top > -np.inf else 0.0)
            for k in range(0, P, LANES):
                store(
                    U,
                    (starts[t] + r) * P + k,
                    exp(sub(load_part(node, i + k, K - k, -np.inf), shift)),
                )


@kernel
def _forward(potentials: Pairs, reward: Pairs, group: _Group, work: _Work) -> None:
    """Fill A and norms, and divide U by c."""
    edges = group.edges
    starts = group.starts
    A = work.A
    E = work.E
    spread = work.edge_spread
    size = work.size
    shared = _shared(potentials, reward)
    for t in range(group.lengths[0]):
        lo = starts[t]
        n = starts[t + 1] - starts[t]
        step = n if shared else 1
        for r in range(0, n if t > 0 else 0, step):
            if not shared:
                edge_spread, edge_size = _fill(
                    potentials, reward, edges[r] + t - 1, len(potentials.edge) > 1, work
                )
                spread[r], size[r] = max(spread[r], edge_spread), max(size[r], edge_size)
            rows_times_duals(A, starts[t - 1] + r, step, E, A, lo + r)
        _weigh(reward.node, group, t, work)


@kernel
def _weigh(rewards: np.ndarray, group: _Group, t: int, work: _Work) -> None:
    """Multiply rows of A, until then products of alpha_{t-1} and E, by u_t and scale them."""
    tokens = group.tokens
    starts = group.starts
    U = work.U
    A = work.A
    norms = work.norms
    K = rewards.shape[1]
    P = U.shape[1]
    zero = splat(0.0)
    for r in range(starts[t + 1] - starts[t]):
        i = (tokens[r] + t) * K
        row = starts[t] + r
        u0 = row * P
        a0 = 2 * row * P
        mass = zero
        rise = zero
        for k in range(0, P, LANES):
            u = load(U, u0 + k)
            a = mul(load(A, a0 + k), u) if t > 0 else u
            store(A, a0 + k, a)
            store(A, a0 + P + k, mul(load(A, a0 + P + k), u) if t > 0 else zero)
            mass = add(mass, a)
        norm = total(mass)
        scale = splat(1.0 / norm)
        for k in range(0, P, LANES):
            a = mul(load(A, a0 + k), scale)
            da = fma(a, _rewards(rewards, i + k, K - k), mul(load(A, a0 + P + k), scale))
            store(U, u0 + k, mul(load(U, u0 + k), scale))
            store(A, a0 + k, a)
            store(A, a0 + P + k, da)
            rise = add(rise, da)
        norms[row, 0], norms[row, 1] = norm, total(rise)
        shift = splat(-norms[row, 1])
        for k in range(0, P, LANES):
            store(A, a0 + P + k, fma(load(A, a0 + k), shift, load(A, a0 + P + k)))


@kernel
def _backward(potentials: Pairs, reward: Pairs, group: _Group, work: _Work) -> None:
    """Fill B and V; rows of V at the end of a sequence are 0."""
    edges = group.edges
    starts = group.starts
    B = work.B
    V = work.V
    shared = _shared(potentials, reward)
    P = work.U.shape[1]
    for t in range(group.lengths[0] - 1, -1, -1):
        lo = starts[t]
        n = starts[t + 2] - starts[t + 1]
        _leave(reward.node, group, t, work)
        step = max(n, 1) if shared else 1
        for r in range(0, n, step):
            if not shared:
                _fill(potentials, reward, edges[r] + t, len(potentials.edge) > 1, work)
                transpose_duals(work.E, work.E_T)
            rows_times_duals(V, lo + r, step, work.E_T, B, lo + r)
        for row in range(lo + n, starts[t + 1]):
            for k in range(P):
                B[row, k] = 1.0
                B[row, P + k] = 0.0
                V[row, k] = 0.0
                V[row, P + k] = 0.0


@kernel
def _leave(rewards: np.ndarray, group: _Group, t: int, work: _Work) -> None:
    """V of row t from u, c and beta of the next token."""
    U = work.U
    B = work.B
    V = work.V
    norms = work.norms
    tokens = group.tokens
    starts = group.starts
    K = rewards.shape[1]
    P = U.shape[1]
    for r in range(starts[t + 2] - starts[t + 1]):
        i = (tokens[r] + t + 1) * K
        row = starts[t + 1] + r
        o = 2 * (starts[t] + r) * P
        shift = splat(norms[row, 1])
        for k in range(0, P, LANES):
            u = load(U, row * P + k)
            v = mul(u, load(B, 2 * row * P + k))
            rise = sub(_rewards(rewards, i + k, K - k), shift)
            store(V, o + k, v)
            store(V, o + P + k, fma(v, rise, mul(u, load(B, (2 * row + 1) * P + k))))


@kernel
def _expected(potentials: Pairs, group: _Group, r: int, work: _Work) -> float:
    """Expected reward of a sequence; nan where its result cannot be trusted."""
    expected = 0.0
    size = work.size[r]
    for t in range(group.lengths[r]):
        expected += work.norms[group.starts[t] + r, 1]
    if not np.isfinite(expected) or not (size == 0.0 or LEAST <= size <= LARGEST):
        return np.nan
    if not work.node_spread[r] + work.edge_spread[r] < LIMIT and _left_range(
        potentials, group, r, work
    ):
        return np.nan
    return expected


@kernel
def _left_range(potentials: Pairs, group: _Group, r: int, work: _Work) -> bool:
    """Whether an alpha that structure allows to be positive came near the smallest numbers, or a
    beta the largest.

    As long as none did, "alpha is positive" is the same as "there is a way here", which tells zeros
    that mean "forbidden" from zeros that mean "underflowed". What beta or `exp` lose to underflow
    then has a probability below 1e-308 * HUGE. Derivatives are such numbers times deviations of
    rewards, which are moderate.
    """
    node = potentials.node
    edge = potentials.edge
    t0 = group.tokens[r]
    e0 = group.edges[r]
    starts = group.starts
    A = work.A
    B = work.B
    V = work.V
    norms = work.norms
    K = node.shape[1]
    last = len(edge) - 1
    for t in range(group.lengths[r]):
        row = starts[t] + r
        before = starts[max(t - 1, 0)] + r
        for k in range(K):
            if not B[row, k] <= HUGE or not V[row, k] <= HUGE:
                return True
            if node[t0 + t, k] > -np.inf and not A[row, k] * norms[row, 0] >= TINY:
                if t == 0:
                    return True
                for j in range(K):
                    if A[before, j] > 0.0 and edge[min(e0 + t - 1, last), j * K + k] > -np.inf:
                        return True
    return False


@kernel
def _add_nodes(group: _Group, r: int, trusted: bool, work: _Work, out: np.ndarray) -> None:
    """Add weighted derivatives of node marginals; weigh the rows of A, or blank all rows of a
    sequence not trusted.
    """
    A = work.A
    B = work.B
    V = work.V
    weight = splat(group.weight[r])
    zero = splat(0.0)
    K = out.shape[1]
    P = work.U.shape[1]
    for t in range(group.lengths[r]):
        row = 2 * (group.starts[t] + r) * P
        i = (group.tokens[r] + t) * K
        for k in range(0, P if trusted else 0, LANES):
            a = mul(weight, load(A, row + k))
            da = mul(weight, load(A, row + P + k))
            slope = fma(a, load(B, row + P + k), mul(da, load(B, row + k)))
            store(A, row + k, a)
            store(A, row + P + k, da)
            store_part(out, i + k, add(load_part(out, i + k, K - k, 0.0), slope), K - k)
        for k in range(row, row if trusted else row + 2 * P, LANES):
            store(A, k, zero)
            store(V, k, zero)


@kernel
def _add_pairs(work: _Work, out: np.ndarray) -> None:
    """Add the sum of the derivatives of edge marginals, of alpha_t(j) E(j, k) v_{t+1}(k)."""
    E = work.E
    pairs = work.pairs
    K = E.shape[0]
    P = E.shape[1] // 2
    for j in range(K):
        for k in range(K):
            out[0, j * K + k] += E[j, k] * pairs[j, P + k] + E[j, P + k] * pairs[j, k]


@kernel
def _add_edges(
    potentials: Pairs, reward: Pairs, group: _Group, work: _Work, out: np.ndarray
) -> None:
    """Add derivatives of edge marginals, edge by edge."""
    E = work.E
    A = work.A
    V = work.V
    K = E.shape[0]
    P = E.shape[1] // 2
    last = len(out) - 1
    shared = _shared(potentials, reward)
    for r in range(len(group.order)):
        for t in range(group.lengths[r] - 1):
            row = group.starts[t] + r
            e = group.edges[r] + t
            if not shared:
                _fill(potentials, reward, e, len(potentials.edge) > 1, work)
            for j in range(K):
                a = splat(A[row, j])
                da = splat(A[row, P + j])
                pair = (min(e, last) * K + j) * K
                for k in range(0, K, LANES):
                    v = load(V, 2 * row * P + k)
                    dv = load(V, (2 * row + 1) * P + k)
                    n = K - k
                    slope = mul(load(E, 2 * j * P + k), fma(a, dv, mul(da, v)))
                    slope = fma(load(E, (2 * j + 1) * P + k), mul(a, v), slope)
                    store_part(out, pair + k, add(load_part(out, pair + k, n, 0.0), slope), n)
