"""Linear chains, derivatives of marginals in the direction of a reward (P3: covariances with an
additive reward).

A reward R(y) = sum_t node[t, y_t] + sum_t edge[t, y_t, y_{t+1}] moves the potentials; the marginals
then change by the covariances of their indicators with R. One forward-backward in dual numbers,
each number with its derivative, gives all of them: Hessian-vector products, entropies and
expectation criteria alike.

As in `first_order` numbers are scaled, and a sequence whose scaled result cannot be trusted is
redone, alone, in log space (`first_order_log`). Everything is normalised before it is
differentiated: derivatives are deviations from a mean, and do not grow with the length of a chain.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    fma,
    load,
    load_part,
    mul,
    splat,
    store,
    store_part,
)
from sklearn_struct.inference.chains.dual_numbers import add_outer_duals, transpose_duals
from sklearn_struct.inference.chains.dual_passes import (
    GROUP,
    LARGEST,
    LEAST,
    Group,
    Work,
    add_row_edges,
    backward,
    exponentials,
    fill,
    forward,
    is_shared,
    workspace,
)
from sklearn_struct.inference.chains.first_order_log import log_tangent
from sklearn_struct.inference.chains.flat_tuples import (
    NO_ROWS,
    Links,
    PairRows,
    Pairs,
    rows_of_pairs,
)

__all__ = ["tangent"]

LIMIT = 600.0  # range of scores up to which nothing can underflow, if nothing is forbidden
# otherwise: smallest trusted alpha, before its row is scaled, and largest beta
TINY = 1e-200
HUGE = 1e220


def tangent(
    potentials: Pairs,
    reward: Pairs,
    structure: Links,
    weight: np.ndarray,
    out: Pairs,
    mean: np.ndarray,
    rows: PairRows = NO_ROWS,
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
    rows : PairRows, default=NO_ROWS
        More rewards of pairs, where all pairs share a table of scores and one of rewards. They cost
        the pairs that have some, and are never written out for each pair.
    """
    potentials, reward = (
        Pairs(*(np.ascontiguousarray(a, np.float64) for a in p)) for p in (potentials, reward)
    )
    rows = rows._replace(table=np.ascontiguousarray(rows.table))
    lengths = np.diff(structure.offsets) * (weight != 0)
    # the longest first, so that those still alive at a step stand side by side
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
    # one for each step of the longest sequence, and the end twice
    starts = np.empty(lengths.max(initial=0) + 2, np.int64)
    used = Group(
        order,
        lengths[order],
        structure.offsets[order],
        structure.edge_offsets[order],
        weight[order],
        starts,
    )
    # one workspace, as large as the largest group needs
    size = np.add.reduceat(np.append(used.lengths, 0), np.arange(0, len(order) + 1, GROUP)).max()
    work = workspace(size, potentials.node.shape[1])
    # of sequences without weight or tokens
    mean[:] = 0.0
    if _scaled_tangent(potentials, reward, rows, used, out, mean, work):
        if len(rows.table):
            of_pairs = reward.edge + rows_of_pairs(rows, structure) @ rows.table
            reward = reward._replace(edge=of_pairs)
        for i in np.flatnonzero(np.isnan(mean)).tolist():
            mean[i] = log_tangent(potentials, reward, structure, i, weight[i], out)


@kernel
def _scaled_tangent(
    potentials: Pairs,
    reward: Pairs,
    rows: PairRows,
    used: Group,
    out: Pairs,
    mean: np.ndarray,
    work: Work,
) -> int:
    """The same, but sequences whose scaled result cannot be trusted get mean nan; return their
    number.
    """
    shared = is_shared(potentials, reward)
    edge_spread = 0.0
    edge_size = 0.0
    if shared:
        edge_spread, edge_size = fill(potentials, reward, 0, True, work)
        transpose_duals(work.E, work.E_T)
    elif potentials.edge.shape[0] == 1 and len(reward.edge) > 0:
        fill(potentials, reward, 0, True, work)  # edges differ in their rewards alone
    n_untrusted = 0
    for first in range(0, len(used.order), GROUP):
        last = min(first + GROUP, len(used.order))
        group = _group(used, first, last)
        for r in range(last - first):
            work.node_spread[r] = 0.0
            work.edge_spread[r] = edge_spread
            work.size[r] = edge_size
        exponentials(potentials.node, reward.node, group, work)
        forward(potentials, reward, rows, group, work)
        backward(potentials, reward, rows, group, work)
        for r in range(last - first):
            expected = _expected(potentials, group, r, work)
            n_untrusted += np.isnan(expected)
            mean[group.order[r]] = expected
            _add_nodes(group, r, not np.isnan(expected), work, out.node)
        if shared and out.edge.shape[0] == 1:
            add_outer_duals(work.A, work.V, group.starts[group.lengths[0]], work.pairs)
        else:
            _add_edges(potentials, reward, group, work, out.edge)
        if len(rows.table) > 0:
            add_row_edges(rows, group, work, out.edge)
    if shared and out.edge.shape[0] == 1:
        _add_pairs(work, out.edge)
    return n_untrusted


@kernel
def _group(used: Group, first: int, last: int) -> Group:
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
    return Group(
        order[first:last],
        lengths[first:last],
        tokens[first:last],
        edges[first:last],
        weight[first:last],
        starts,
    )


@kernel
def _expected(potentials: Pairs, group: Group, r: int, work: Work) -> float:
    """Expected reward of a sequence; nan where its result cannot be trusted."""
    expected = 0.0
    size = work.size[r]
    for t in range(group.lengths[r]):
        expected += work.norms[group.starts[t] + r, 1]
    # rewards beyond were cut off, or could underflow in products
    if not np.isfinite(expected) or not (size == 0.0 or LEAST <= size <= LARGEST):
        return np.nan
    if not work.node_spread[r] + work.edge_spread[r] < LIMIT and _left_range(
        potentials, group, r, work
    ):
        return np.nan
    return expected


@kernel
def _left_range(potentials: Pairs, group: Group, r: int, work: Work) -> bool:
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
def _add_nodes(group: Group, r: int, trusted: bool, work: Work, out: np.ndarray) -> None:
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
        # zeros, so that sums over edges can be taken of all rows alike
        for k in range(row, row if trusted else row + 2 * P, LANES):
            store(A, k, zero)
            store(V, k, zero)


@kernel
def _add_pairs(work: Work, out: np.ndarray) -> None:
    """Add the sum of the derivatives of edge marginals, of alpha_t(j) E(j, k) v_{t+1}(k)."""
    E = work.E
    pairs = work.pairs
    K = E.shape[0]
    P = E.shape[1] // 2
    for j in range(K):
        for k in range(K):
            out[0, j * K + k] += E[j, k] * pairs[j, P + k] + E[j, P + k] * pairs[j, k]


@kernel
def _add_edges(potentials: Pairs, reward: Pairs, group: Group, work: Work, out: np.ndarray) -> None:
    """Add derivatives of edge marginals, edge by edge."""
    E = work.E
    A = work.A
    V = work.V
    K = E.shape[0]
    P = E.shape[1] // 2
    n_pairs = out.shape[1]
    last = len(out) - 1
    shared = is_shared(potentials, reward)
    for r in range(len(group.order)):
        for t in range(group.lengths[r] - 1):
            row = group.starts[t] + r
            e = group.edges[r] + t
            if not shared:
                fill(potentials, reward, e, len(potentials.edge) > 1, work)
            for j in range(K):
                a = splat(A[row, j])
                da = splat(A[row, P + j])
                pair = min(e, last) * n_pairs + j * K
                for k in range(0, K, LANES):
                    v = load(V, 2 * row * P + k)
                    dv = load(V, (2 * row + 1) * P + k)
                    n = K - k
                    slope = mul(load(E, 2 * j * P + k), fma(a, dv, mul(da, v)))
                    slope = fma(load(E, (2 * j + 1) * P + k), mul(a, v), slope)
                    store_part(out, pair + k, add(load_part(out, pair + k, n, 0.0), slope), n)
