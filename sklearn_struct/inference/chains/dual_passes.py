"""Forward and backward passes of `first_order_tangent`: sequences side by side, in dual numbers.

Each number goes with its derivative in the direction of a reward, as rows of `dual_numbers`.
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
    duals,
    rows_times_duals,
    transpose_duals,
)
from sklearn_struct.inference.chains.flat_tuples import PairRows, Pairs

__all__ = [
    "GROUP",
    "LARGEST",
    "LEAST",
    "MAX",
    "Group",
    "Work",
    "add_row_edges",
    "backward",
    "exponentials",
    "fill",
    "forward",
    "is_shared",
    "workspace",
]

GROUP = 8  # sequences at a time: enough for products, and few enough for the cache
LARGEST = 1e30  # of trusted rewards: what is beyond is cut off
LEAST = 1e-30  # of those that are not 0
MAX = float(np.finfo(float).max)


class Group(NamedTuple):
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


class Work(NamedTuple):
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


def workspace(n: int, K: int) -> Work:
    """For n rows of a group."""
    A, B, V, E, E_T, pairs = (
        duals(rows, K) for rows in (n + SPARE, n + SPARE, n + SPARE, K, K, padded(K))
    )
    U = np.empty((n, padded(K)))
    norms = np.empty((n, 2))
    return Work(E, E_T, A, B, V, U, norms, pairs, np.empty(GROUP), np.empty(GROUP), np.empty(GROUP))


@kernel
def is_shared(potentials: Pairs, reward: Pairs) -> bool:
    """Whether all edges have the same scores and rewards."""
    return len(potentials.edge) == 1 and len(reward.edge) == 1


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
    """The first n of rewards[i : i + LANES], and 0; finite, so a forbidden one times 0 is 0."""
    return minimum(maximum(load_part(rewards, i, n, 0.0), splat(-LARGEST)), splat(LARGEST))


@kernel
def fill(potentials: Pairs, reward: Pairs, e: int, fresh: bool, work: Work) -> tuple[float, float]:
    """Fill E with the table of edge e, unless `fresh` with its rewards alone; return its range and
    largest reward.
    """
    edge = potentials.edge
    rewards = reward.edge
    E = work.E
    K = E.shape[0]
    P = E.shape[1] // 2
    n_pairs = edge.shape[1]
    i = min(e, len(edge) - 1) * n_pairs
    j = min(e, len(rewards) - 1) * n_pairs
    top, spread, size = _extent(edge, i, rewards, j, n_pairs)
    shift = splat(top if top > -np.inf else 0.0)
    for row in range(K):
        for k in range(0, K, LANES):
            x = load(E, 2 * row * P + k)
            if fresh:
                x = exp(sub(load_part(edge, i + row * K + k, K - k, -np.inf), shift))
                store(E, 2 * row * P + k, x)
            # the derivative of exp(score) in the direction of the reward
            store(E, (2 * row + 1) * P + k, mul(x, _rewards(rewards, j + row * K + k, K - k)))
    return spread, size


@kernel
def exponentials(node: np.ndarray, rewards: np.ndarray, group: Group, work: Work) -> None:
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
            spread[r] = max(spread[r], row_spread)
            size[r] = max(size[r], row_size)
            shift = splat(top if top > -np.inf else 0.0)
            for k in range(0, P, LANES):
                store(
                    U,
                    (starts[t] + r) * P + k,
                    exp(sub(load_part(node, i + k, K - k, -np.inf), shift)),
                )


@kernel
def forward(potentials: Pairs, reward: Pairs, rows: PairRows, group: Group, work: Work) -> None:
    """Fill A and norms, and divide U by c."""
    edges = group.edges
    starts = group.starts
    A = work.A
    E = work.E
    spread = work.edge_spread
    size = work.size
    shared = is_shared(potentials, reward)
    for t in range(group.lengths[0]):
        lo = starts[t]
        n = starts[t + 1] - starts[t]
        step = n if shared else 1
        for r in range(0, n if t > 0 else 0, step):
            if not shared:
                edge_spread, edge_size = fill(
                    potentials, reward, edges[r] + t - 1, len(potentials.edge) > 1, work
                )
                spread[r] = max(spread[r], edge_spread)
                size[r] = max(size[r], edge_size)
            rows_times_duals(A, starts[t - 1] + r, step, E, A, lo + r)
        if t > 0 and len(rows.table) > 0:
            _enter_rows(potentials.edge, rows, group, t, work)
        _weigh(reward.node, group, t, work)


@kernel
def _weigh(rewards: np.ndarray, group: Group, t: int, work: Work) -> None:
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
        norms[row, 0] = norm
        # alpha sums to 1, so the sum of its derivatives is that of log c
        norms[row, 1] = total(rise)
        # deviations from the mean: they do not grow with the length of a chain
        shift = splat(-norms[row, 1])
        for k in range(0, P, LANES):
            store(A, a0 + P + k, fma(load(A, a0 + k), shift, load(A, a0 + P + k)))


@kernel
def backward(potentials: Pairs, reward: Pairs, rows: PairRows, group: Group, work: Work) -> None:
    """Fill B and V; rows of V at the end of a sequence are 0."""
    edges = group.edges
    starts = group.starts
    B = work.B
    V = work.V
    shared = is_shared(potentials, reward)
    P = work.U.shape[1]
    for t in range(group.lengths[0] - 1, -1, -1):
        lo = starts[t]
        n = starts[t + 2] - starts[t + 1]
        _leave(reward.node, group, t, work)
        step = max(n, 1) if shared else 1
        for r in range(0, n, step):
            if not shared:
                fill(potentials, reward, edges[r] + t, len(potentials.edge) > 1, work)
                transpose_duals(work.E, work.E_T)
            # by the transpose, so that rows are read along memory
            rows_times_duals(V, lo + r, step, work.E_T, B, lo + r)
        if n > 0 and len(rows.table) > 0:
            _leave_rows(rows, group, t, work)
        for row in range(lo + n, starts[t + 1]):
            for k in range(P):
                # the end of a sequence, for which nothing is left to be summed
                B[row, k] = 1.0
                B[row, P + k] = 0.0
                V[row, k] = 0.0
                V[row, P + k] = 0.0


@kernel
def _leave(rewards: np.ndarray, group: Group, t: int, work: Work) -> None:
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
def _of_row(rows: PairRows, p: int, i: int, n: int) -> Vector:
    """What a stored strength makes of the first n of table[i : i + LANES], finite as `_rewards`."""
    reward = mul(splat(rows.data[p]), load_part(rows.table, i, n, 0.0))
    return minimum(maximum(reward, splat(-LARGEST)), splat(LARGEST))


@kernel
def _size_of_row(edge: np.ndarray, rows: PairRows, p: int) -> float:
    """The largest of a stored strength's rewards that is not forbidden."""
    n_pairs = edge.shape[1]
    _, _, size = _extent(edge, 0, rows.table, np.int64(rows.indices[p]) * n_pairs, n_pairs)
    return size * abs(float(rows.data[p]))


@kernel
def _enter_rows(edge: np.ndarray, rows: PairRows, group: Group, t: int, work: Work) -> None:
    """Add to A, products of alpha_{t-1} and E, the derivative of E by the rows that edges have.

    The size of these rewards is noted.
    """
    indptr = rows.indptr
    starts = group.starts
    A = work.A
    E = work.E
    K = E.shape[0]
    P = E.shape[1] // 2
    n_pairs = rows.table.shape[1]
    for r in range(starts[t + 1] - starts[t]):
        end = group.tokens[r] + t
        before = starts[t - 1] + r
        o = (2 * (starts[t] + r) + 1) * P
        for p in range(indptr[end], indptr[end + 1]):
            work.size[r] = max(work.size[r], _size_of_row(edge, rows, p))
            m = np.int64(rows.indices[p]) * n_pairs
            for k in range(0, K, LANES):
                da = load(A, o + k)
                for j in range(K):
                    x = _of_row(rows, p, m + j * K + k, K - k)
                    da = fma(mul(splat(A[before, j]), load(E, 2 * j * P + k)), x, da)
                store(A, o + k, da)


@kernel
def _leave_rows(rows: PairRows, group: Group, t: int, work: Work) -> None:
    """Add to B, products of E and v, the derivative of E by the rows that edges have."""
    indptr = rows.indptr
    starts = group.starts
    B = work.B
    E = work.E
    K = E.shape[0]
    P = E.shape[1] // 2
    n_pairs = rows.table.shape[1]
    for r in range(starts[t + 2] - starts[t + 1]):
        end = group.tokens[r] + t + 1
        row = starts[t] + r
        for p in range(indptr[end], indptr[end + 1]):
            m = np.int64(rows.indices[p]) * n_pairs
            for j in range(K):
                rise = splat(0.0)
                for k in range(0, K, LANES):
                    v = mul(load(work.V, 2 * row * P + k), load(E, 2 * j * P + k))
                    rise = fma(v, _of_row(rows, p, m + j * K + k, K - k), rise)
                B[row, P + j] += total(rise)


@kernel
def add_row_edges(rows: PairRows, group: Group, work: Work, out: np.ndarray) -> None:
    """Add to the derivatives of edge marginals, of alpha(j) E(j, k) v(k), those of E by the rows
    that edges have.
    """
    indptr = rows.indptr
    E = work.E
    K = E.shape[0]
    P = E.shape[1] // 2
    n_pairs = out.shape[1]
    last = len(out) - 1
    for r in range(len(group.order)):
        for t in range(group.lengths[r] - 1):
            end = group.tokens[r] + t + 1
            row = group.starts[t] + r
            o = min(group.edges[r] + t, last) * n_pairs
            for p in range(indptr[end], indptr[end + 1]):
                m = np.int64(rows.indices[p]) * n_pairs
                for j in range(K):
                    a = splat(work.A[row, j])
                    for k in range(0, K, LANES):
                        x = _of_row(rows, p, m + j * K + k, K - k)
                        pair = mul(mul(a, load(work.V, 2 * row * P + k)), load(E, 2 * j * P + k))
                        i = o + j * K + k
                        store_part(out, i, fma(pair, x, load_part(out, i, K - k, 0.0)), K - k)
