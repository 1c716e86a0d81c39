"""Linear chains, sum-product: log Z, node and edge marginals, entropy (decoding: `chain_decoding`).

p(y | x) = exp(sum_t node[t, y_t] + sum_t edge[t, y_t, y_{t+1}]) / Z(x), with one table ``edge`` shared by
all edges or one per edge; a potential of -inf forbids.

Forward-backward works on scaled numbers, not logarithms (11 times faster), and takes a step of all sequences at once
(`time_major`), as a matrix product. A state may underflow that would have won later, so a result is trusted only where that
cannot have happened; any other sequence is redone, alone, in log space (`chain_log`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import Potentials, Structure
from sklearn_struct.inference.chain_log import log_marginals
from sklearn_struct.inference.time_major import steps
from sklearn_struct.kernel import kernel
from sklearn_struct.products import add_outer, matrix_times_row, rows_times_matrix
from sklearn_struct.simd import (
    LANES,
    add,
    cast,
    exp,
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

__all__ = ["entropy", "marginals"]


class _Lattice(NamedTuple):
    """Workspace of a block; rows stand as `steps` says, are padded to P = padded(K) numbers and stored flat."""

    U: np.ndarray  # u_t = exp(node - its row's maximum); the backward pass makes it v_t = u_t * beta_t / c_t
    A: np.ndarray  # alpha_t = (alpha_{t-1} E) * u_t / c_t, which sums to 1
    B: np.ndarray  # beta_t = E v_{t+1}; alpha_t * beta_t are the marginals
    norms: np.ndarray  # c_t
    E: np.ndarray  # exp(edge - its maximum), K rows
    E_T: np.ndarray  # the same, transposed, where all edges share it
    node_spread: np.ndarray  # of each sequence: the largest range of a token's scores
    edge_spread: np.ndarray  # and of an edge's


def marginals(
    potentials: Potentials, structure: Structure, weight: np.ndarray, out: Potentials, log_Z: np.ndarray
) -> None:
    """Add weighted marginals to `out` and write log Z of each sequence.

    Parameters
    ----------
    potentials : Potentials
        ``node`` (n, K) and ``edge`` (n_edges or 1, K * K), float64 or float32, -inf allowed.
    structure : Structure
        As made by `batch.chain`.
    weight : ndarray of shape (n_sequences,), float64
        ``out += weight[i] * marginals_i``. Sequences of weight 0 are skipped, their log Z is written as 0.
    out : Potentials
        float64, ``node`` (n, K) and ``edge`` (n_edges, K * K), or (1, K * K) for the sum over all edges.
    log_Z : ndarray of shape (n_sequences,), float64
        Written; -inf where no labelling is allowed, and then nothing is added to `out`.
    """
    if _scaled_marginals(potentials, structure, weight, out, log_Z):
        for i in np.flatnonzero(np.isnan(log_Z)):
            log_Z[i] = log_marginals(potentials, structure, i, weight[i], out)


@kernel
def _scaled_marginals(potentials, structure, weight, out, log_Z):
    """The same, but sequences whose scaled result cannot be trusted get log Z = nan; return their number."""
    edge = potentials.edge
    K = potentials.node.shape[1]
    places = steps(structure.offsets, weight)
    work = _workspace(potentials.node, places)
    _exp_nodes(potentials.node, structure.offsets, places, work, log_Z)
    if edge.shape[0] == 1:
        _exp_edges(edge, structure.edge_offsets, K, places, work, log_Z)
    _forward(edge, structure.edge_offsets, K, places, work, log_Z)
    _backward(edge, structure.edge_offsets, K, places, work)
    n_untrusted = _distrust(potentials, structure, places, work, log_Z)
    summed = edge.shape[0] == 1 and out.edge.shape[0] == 1
    if not summed:
        _add_edges(edge, structure, weight, places, work, out.edge)
    _add_nodes(structure.offsets, places, weight, work, out.node)
    if summed:
        _add_edge_sum(K, places, work, out.edge)
    return n_untrusted


@kernel
def _workspace(node, places):
    P = padded(node.shape[1])
    n_rows = places.first[-1]
    size = n_rows * P
    U, A, B = np.empty(size, node.dtype), np.empty(size, node.dtype), np.empty(size, node.dtype)
    E, E_T, n = np.zeros(P * P, node.dtype), np.zeros(P * P, node.dtype), len(places.rank)
    return _Lattice(U, A, B, np.empty(n_rows, node.dtype), E, E_T, np.zeros(n), np.zeros(n))


@kernel
def _top(scores, i, n):
    """Maximum of scores[i : i + n] in flat order."""
    low = scores.dtype.type(-np.inf)
    top = splat(low)
    for k in range(0, n, LANES):
        top = maximum(load_part(scores, i + k, n - k, low), top)
    return largest(top)


@kernel
def _exp_row(scores, i, K, top, low, out, o):
    """out[o : o + P] = exp(scores[i : i + K] - top), 0 in the padding; return `low` lowered to the smallest difference."""
    infinity = scores.dtype.type(np.inf)
    shift = splat(top if top > -infinity else scores.dtype.type(0))
    for k in range(0, K, LANES):
        store(out, o + k, exp(sub(load_part(scores, i + k, K - k, -infinity), shift)))
        low = minimum(sub(load_part(scores, i + k, K - k, infinity), shift), low)
    return low


@kernel
def _exp_table(edge, e, K, work):
    """Fill E with edge e; return the maximum and the range of its scores."""
    low, top = splat(edge.dtype.type(0)), _top(edge, e * K * K, K * K)
    for j in range(K):
        low = _exp_row(edge, (e * K + j) * K, K, top, low, work.E, j * padded(K))
    return np.float64(top), -np.float64(least(low))


@kernel
def _exp_nodes(node, offsets, places, work, log_Z):
    """Fill U; write the node spreads, and to log Z the maxima that were taken out."""
    K = node.shape[1]
    for i in range(len(places.rank)):
        log_Z[i] = 0.0
        if places.rank[i] >= 0:
            low = splat(node.dtype.type(0))
            for t in range(offsets[i + 1] - offsets[i]):
                top = _top(node, (offsets[i] + t) * K, K)
                row = places.first[t] + places.rank[i]
                low = _exp_row(node, (offsets[i] + t) * K, K, top, low, work.U, row * padded(K))
                log_Z[i] += top
            work.node_spread[i] = -least(low)


@kernel
def _exp_edges(edge, edge_offsets, K, places, work, log_Z):
    """The same for the one table of all edges."""
    P = padded(K)
    top, spread = _exp_table(edge, edge.shape[0] - 1, K, work)
    for j in range(K):
        for k in range(K):
            work.E_T[k * P + j] = work.E[j * P + k]
    for i in range(len(places.rank)):
        if places.rank[i] >= 0:
            log_Z[i] += top * (edge_offsets[i + 1] - edge_offsets[i])
            work.edge_spread[i] = spread


@kernel
def _forward(edge, edge_offsets, K, places, work, log_Z):
    """Fill A and norms, complete log Z: nan where alpha vanishes."""
    first, order, A = places.first, places.order, work.A
    P = padded(K)
    mass = np.ones(len(order))
    for t in range(len(first) - 1):
        n = first[t + 1] - first[t]
        if t > 0 and edge.shape[0] == 1:
            rows_times_matrix(A, first[t - 1] * P, n, work.E, K, P, A, first[t] * P)
        for r in range(n):
            i, row = order[r], first[t] + r
            if t > 0 and edge.shape[0] > 1:
                top, spread = _exp_table(edge, edge_offsets[i] + t - 1, K, work)
                rows_times_matrix(A, (first[t - 1] + r) * P, 1, work.E, K, P, A, row * P)
                log_Z[i] += top
                work.edge_spread[i] = max(work.edge_spread[i], spread)
            norm = _weigh(A, work.U, row * P, P, t > 0)
            work.norms[row] = norm if norm > 0.0 else 1.0
            mass[r] *= norm if norm > 0.0 else np.nan
            if not 1e-100 < mass[r] < 1e100:  # a logarithm now and then instead of one a token
                log_Z[i] += np.log(mass[r])
                mass[r] = 1.0
    for r in range(len(order)):
        log_Z[order[r]] += np.log(mass[r])


@kernel
def _weigh(A, U, o, P, multiply):
    """Multiply the row of A at o by that of U (or set it), then divide it by its sum; return the sum."""
    mass = splat(A.dtype.type(0))
    for k in range(o, o + P, LANES):
        a = load(U, k)
        if multiply:
            a = mul(load(A, k), a)
        store(A, k, a)
        mass = add(mass, a)
    norm = total(mass)
    scale = splat(A.dtype.type(1) / norm)
    for k in range(o, o + P, LANES):
        store(A, k, mul(load(A, k), scale))
    return norm


@kernel
def _backward(edge, edge_offsets, K, places, work):
    """Fill B, and turn U into v."""
    first, order, U, B = places.first, places.order, work.U, work.B
    P = padded(K)
    n_next = first[0]
    for t in range(len(first) - 2, -1, -1):
        n = first[t + 1] - first[t]
        if n_next > 0 and edge.shape[0] == 1:
            rows_times_matrix(U, first[t + 1] * P, n_next, work.E_T, K, P, B, first[t] * P)
        elif n_next > 0:
            for r in range(n_next):
                _exp_table(edge, edge_offsets[order[r]] + t, K, work)
                matrix_times_row(work.E, K, P, U, (first[t + 1] + r) * P, B, (first[t] + r) * P)
        for m in range((first[t] + n_next) * P, first[t + 1] * P):
            B[m] = 1
        if t > 0:
            for row in range(first[t], first[t + 1]):
                scale = splat(U.dtype.type(1) / work.norms[row])
                for m in range(row * P, row * P + P, LANES):
                    store(U, m, mul(mul(load(U, m), scale), load(B, m)))
        n_next = n


@kernel
def _distrust(potentials, structure, places, work, log_Z):
    """Make log Z nan and clear the rows of sequences that cannot be trusted; return their number."""
    P, limit = padded(potentials.node.shape[1]), 600.0 if potentials.node.itemsize == 8 else 60.0
    n_untrusted = 0
    for r in range(len(places.order)):
        i = places.order[r]
        near = work.node_spread[i] + work.edge_spread[i] < limit
        if np.isnan(log_Z[i]) or not (near or _in_range(potentials, structure, i, places, work)):
            log_Z[i] = np.nan
            n_untrusted += 1
            for t in range(structure.offsets[i + 1] - structure.offsets[i]):
                for m in range((places.first[t] + r) * P, (places.first[t] + r + 1) * P):
                    work.A[m] = work.B[m] = work.U[m] = 0.0
    return n_untrusted


@kernel
def _in_range(potentials, structure, i, places, work):
    """Whether every alpha and beta that structure allows to be positive stayed far from the limits of its float type.

    One pass of 0/1 reachability in each direction tells zeros that mean "forbidden" from zeros that
    mean "underflowed". alpha counts as it was before its row was scaled. The limits leave room for what `exp`
    cuts off: a lost transition times `huge` is nothing beside `tiny`.
    """
    node, edge, first, rank = potentials.node, potentials.edge, places.first, places.rank[i]
    t0, e0, T = structure.offsets[i], structure.edge_offsets[i], structure.offsets[i + 1] - structure.offsets[i]
    K = node.shape[1]
    P = padded(K)
    step = 0 if edge.shape[0] == 1 else 1
    tiny, huge = (1e-200, 1e80) if node.itemsize == 8 else (1e-25, 1e5)
    reached, before = np.ones(K, np.bool_), np.ones(K, np.bool_)
    for t in range(T):
        row = first[t] + rank
        for k in range(K):
            before[k] = reached[k]
        for k in range(K):
            found = t == 0
            for j in range(K):
                found |= t > 0 and before[j] and edge[step * (e0 + t - 1), j * K + k] > -np.inf
            reached[k] = found and node[t0 + t, k] > -np.inf
            if reached[k] and not work.A[row * P + k] * work.norms[row] >= tiny:
                return False
    for k in range(K):
        reached[k] = True
    for t in range(T - 2, -1, -1):
        o, o_next = (first[t] + rank) * P, (first[t + 1] + rank) * P
        for k in range(K):
            before[k] = reached[k] and node[t0 + t + 1, k] > -np.inf
            if before[k] and not work.U[o_next + k] <= huge:
                return False
        for j in range(K):
            reached[j] = False
            for k in range(K):
                reached[j] |= before[k] and edge[step * (e0 + t), j * K + k] > -np.inf
            if reached[j] and not (tiny <= work.B[o + j] <= huge):
                return False
    return True


@kernel
def _add_nodes(offsets, places, weight, work, out_node):
    """Add weighted node marginals; A is weighted from here on."""
    K = out_node.shape[1]
    P, A = padded(K), work.A
    for i in range(len(places.rank)):
        for t in range(offsets[i + 1] - offsets[i] if places.rank[i] >= 0 else 0):
            o, m = (offsets[i] + t) * K, (places.first[t] + places.rank[i]) * P
            for k in range(0, K, LANES):
                a = mul(load(A, m + k), splat(A.dtype.type(weight[i])))
                store(A, m + k, a)
                row = load_part(out_node, o + k, K - k, 0.0)
                store_part(out_node, o + k, add(cast(mul(a, load(work.B, m + k)), out_node), row), K - k)


@kernel
def _add_edge_sum(K, places, work, out_edge):
    """Add the weighted marginals alpha_t(j) E(j, k) v_{t+1}(k) of all edges, which share one table."""
    first, P = places.first, padded(K)
    pair_sums = np.zeros(P * P, work.A.dtype)
    for t in range(len(first) - 2):
        n = first[t + 2] - first[t + 1]
        add_outer(work.A, first[t] * P, work.U, first[t + 1] * P, n, min(P, (K + 3) // 4 * 4), P, pair_sums)
    for j in range(K):
        for k in range(K):
            if work.E[j * P + k] > 0.0:  # the sum of a forbidden pair may be inf
                out_edge[0, j * K + k] += pair_sums[j * P + k] * work.E[j * P + k]


@kernel
def _add_edges(edge, structure, weight, places, work, out_edge):
    """The same, edge by edge, while A is not weighted yet."""
    offsets, edge_offsets, K = structure.offsets, structure.edge_offsets, int(np.sqrt(edge.shape[1]))
    P, zero, out_step = padded(K), splat(work.E.dtype.type(0)), 0 if out_edge.shape[0] == 1 else 1
    row = np.empty(P, work.E.dtype)
    for i in range(len(places.rank)):
        for t in range(offsets[i + 1] - offsets[i] - 1 if places.rank[i] >= 0 else 0):
            e = edge_offsets[i] + t
            if edge.shape[0] > 1:
                _exp_table(edge, e, K, work)
            for j in range(K):
                a = splat(work.A[(places.first[t] + places.rank[i]) * P + j])
                for k in range(0, P, LANES):
                    v = load(work.U, (places.first[t + 1] + places.rank[i]) * P + k)
                    pair = mul(mul(a, v), load(work.E, j * P + k))
                    store(row, k, maximum(pair, zero))  # a forbidden pair is inf * 0, and nan > 0 is false
                for k in range(K):
                    out_edge[out_step * e, j * K + k] += weight[i] * row[k]


def entropy(potentials: Potentials, structure: Structure) -> np.ndarray:
    """Entropy of p(y | x) of each sequence, in nats.

    Summed from local terms, H = sum_e H(edge marginals) - sum_{inner t} H(node marginals), which loses no
    digits where log Z - E[score] would cancel.

    Returns
    -------
    ndarray of shape (n_sequences,)
        0 for an empty sequence, nan where no labelling is allowed.
    """
    n, K = potentials.node.shape
    n_sequences = len(structure.offsets) - 1
    out = Potentials(np.zeros((n, K)), np.zeros((len(structure.edges), K * K)))
    log_Z = np.empty(n_sequences)
    marginals(potentials, structure, np.ones(n_sequences), out, log_Z)
    degree = np.bincount(structure.edges.ravel(), minlength=n)
    surprise = np.zeros(n_sequences)
    for table, offsets, count in (
        (out.edge, structure.edge_offsets, np.ones(len(out.edge))),
        (out.node, structure.offsets, 1 - degree),
    ):
        local = -np.sum(table * np.log(table, where=table > 0, out=np.zeros_like(table)), axis=1) * count
        surprise += np.add.reduceat(np.append(local, 0.0), offsets[:-1]) * (np.diff(offsets) > 0)
    surprise = np.maximum(surprise, 0.0)
    surprise[log_Z == -np.inf] = np.nan
    return surprise
