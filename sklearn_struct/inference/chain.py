"""Linear chains, sum-product: log Z, node and edge marginals, entropy (decoding: `chain_decoding`).

p(y | x) = exp(sum_t node[t, y_t] + sum_t edge[t, y_t, y_{t+1}]) / Z(x), with one table ``edge`` shared by
all edges or one per edge; a potential of -inf forbids.

Forward-backward works on scaled numbers, not logarithms (11 times faster), and takes a step of many sequences at
once, as a matrix product (`time_major`). A state may underflow that would have won later, so a result is trusted only
where that cannot have happened; any other sequence is redone, alone, in log space (`chain_log`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import Potentials, Structure
from sklearn_struct.inference.chain_log import log_marginals
from sklearn_struct.inference.time_major import batch_end, steps
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
    workspace,
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
    n_untrusted, hi = 0, 0
    log_Z[:] = 0.0
    while hi < len(log_Z):
        lo, hi = hi, batch_end(structure.offsets, hi)
        n_untrusted += _batch_marginals(
            potentials, structure, weight, steps(structure.offsets, weight, lo, hi), out, log_Z
        )
    return n_untrusted


@kernel
def _batch_marginals(potentials, structure, weight, places, out, log_Z):
    node, edge, offsets = potentials.node, potentials.edge, structure.offsets
    K, summed = node.shape[1], edge.shape[0] == 1 and out.edge.shape[0] == 1
    work = _workspace(node, places)
    _exp_nodes(node, offsets, places, work, log_Z)
    if edge.shape[0] == 1:
        _exp_edges(edge, structure.edge_offsets, K, places, work, log_Z)
    _forward(edge, structure.edge_offsets, K, places, work, log_Z)
    _backward(edge, structure.edge_offsets, K, places, work)
    n_untrusted = _distrust(potentials, structure, places, work, log_Z)
    if not summed:
        _add_edges(edge, structure, weight, places, work, out.edge)
    _add_nodes(offsets, places, weight, work, out.node)
    if summed:
        _add_edge_sum(K, places, work, out.edge)
    return n_untrusted


@kernel
def _workspace(node, places):
    P, n_rows, n = padded(node.shape[1]), places.first[-1], len(places.order)
    size = n_rows * P
    memory = workspace(3 * size + 2 * P * P, node)
    U, A, B = memory[:size], memory[size : 2 * size], memory[2 * size : 3 * size]
    E, E_T = memory[3 * size : 3 * size + P * P], memory[3 * size + P * P :]
    E[:] = 0
    E_T[:] = 0
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
def _exp_table(edge, e, K, work):
    """Fill E with edge e; return the maximum and the range of its scores."""
    infinity = edge.dtype.type(np.inf)
    top, low, P = _top(edge, e * K * K, K * K), splat(edge.dtype.type(0)), padded(K)
    shift = splat(top if top > -infinity else edge.dtype.type(0))
    for j in range(K):
        m = (e * K + j) * K
        for k in range(0, K, LANES):
            store(work.E, j * P + k, exp(sub(load_part(edge, m + k, K - k, -infinity), shift)))
            low = minimum(sub(load_part(edge, m + k, K - k, infinity), shift), low)
    return np.float64(top), -np.float64(least(low))


@kernel
def _exp_nodes(node, offsets, places, work, log_Z):
    """Fill U; write the node spreads, and to log Z the maxima that were taken out."""
    K, U, first = node.shape[1], work.U, places.first
    P, infinity = padded(K), node.dtype.type(np.inf)
    for r in range(len(places.order)):
        i, low = places.order[r], splat(node.dtype.type(0))
        for t in range(offsets[i + 1] - offsets[i]):
            m, o = (offsets[i] + t) * K, (first[t] + r) * P
            row = splat(-infinity)
            for k in range(0, K, LANES):
                row = maximum(load_part(node, m + k, K - k, -infinity), row)
            top = largest(row)
            log_Z[i] += top
            shift = splat(top if top > -infinity else node.dtype.type(0))
            for k in range(0, K, LANES):
                store(U, o + k, exp(sub(load_part(node, m + k, K - k, -infinity), shift)))
                low = minimum(sub(load_part(node, m + k, K - k, infinity), shift), low)
        work.node_spread[r] = -least(low)


@kernel
def _exp_edges(edge, edge_offsets, K, places, work, log_Z):
    """The same for the one table of all edges."""
    P = padded(K)
    top, spread = _exp_table(edge, edge.shape[0] - 1, K, work)
    for j in range(K):
        for k in range(K):
            work.E_T[k * P + j] = work.E[j * P + k]
    for r in range(len(places.order)):
        i = places.order[r]
        log_Z[i] += top * (edge_offsets[i + 1] - edge_offsets[i])
        work.edge_spread[r] = spread


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
        elif t > 0:
            for r in range(n):
                e = edge_offsets[order[r]] + t - 1
                top, spread = _exp_table(edge, e, K, work)
                rows_times_matrix(A, (first[t - 1] + r) * P, 1, work.E, K, P, A, (first[t] + r) * P)
                log_Z[order[r]] += top
                work.edge_spread[r] = max(work.edge_spread[r], spread)
        _weigh(A, work.U, first[t], n, P, t > 0, work.norms)
        for r in range(n):
            mass[r] *= work.norms[first[t] + r]
            if not 1e-100 < mass[r] < 1e100:  # a logarithm now and then instead of one a token
                log_Z[order[r]] += np.log(mass[r]) if mass[r] > 0.0 else np.nan
                mass[r] = 1.0
    for r in range(len(order)):
        log_Z[order[r]] += np.log(mass[r])


@kernel
def _weigh(A, U, first, n, P, multiply, norms):
    """Multiply n rows of A by those of U (or set them), then divide each by its sum, its norm."""
    for row in range(first, first + n):
        mass = splat(A.dtype.type(0))
        for k in range(row * P, row * P + P, LANES):
            a = load(U, k)
            if multiply:
                a = mul(load(A, k), a)
            store(A, k, a)
            mass = add(mass, a)
        norms[row] = total(mass)
        scale = splat(A.dtype.type(1) / norms[row])
        for k in range(row * P, row * P + P, LANES):
            store(A, k, mul(load(A, k), scale))


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
                store(B, (first[t] + r + 1) * P - LANES, splat(B.dtype.type(0)))  # the padding
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
        near = work.node_spread[r] + work.edge_spread[r] < limit
        if np.isnan(log_Z[i]) or not (near or _in_range(potentials, structure, r, places, work)):
            log_Z[i] = np.nan
            n_untrusted += 1
            for t in range(structure.offsets[i + 1] - structure.offsets[i]):
                for m in range((places.first[t] + r) * P, (places.first[t] + r + 1) * P):
                    work.A[m] = work.B[m] = work.U[m] = 0.0
    return n_untrusted


@kernel
def _in_range(potentials, structure, r, places, work):
    """Whether every alpha and beta that structure allows to be positive stayed far from the limits of its float type.

    One pass of 0/1 reachability in each direction tells zeros that mean "forbidden" from zeros that
    mean "underflowed". alpha counts as it was before its row was scaled. The limits leave room for what `exp`
    cuts off: a lost transition times `huge` is nothing beside `tiny`.
    """
    node, edge, first, i = potentials.node, potentials.edge, places.first, places.order[r]
    t0, e0, T = structure.offsets[i], structure.edge_offsets[i], structure.offsets[i + 1] - structure.offsets[i]
    K = node.shape[1]
    P = padded(K)
    step = 0 if edge.shape[0] == 1 else 1
    tiny, huge = (1e-200, 1e80) if node.itemsize == 8 else (1e-25, 1e5)
    reached, before = np.ones(K, np.bool_), np.ones(K, np.bool_)
    for t in range(T):
        row = first[t] + r
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
        o, o_next = (first[t] + r) * P, (first[t + 1] + r) * P
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
    for r in range(len(places.order)):
        i = places.order[r]
        for t in range(offsets[i + 1] - offsets[i]):
            o, m = (offsets[i] + t) * K, (places.first[t] + r) * P
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
    for r in range(len(places.order)):
        i = places.order[r]
        for t in range(offsets[i + 1] - offsets[i] - 1):
            e = edge_offsets[i] + t
            if edge.shape[0] > 1:
                _exp_table(edge, e, K, work)
            for j in range(K):
                a = splat(work.A[(places.first[t] + r) * P + j])
                for k in range(0, P, LANES):
                    v = load(work.U, (places.first[t + 1] + r) * P + k)
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
