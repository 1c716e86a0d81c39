"""Linear chains, sum-product: log Z, node and edge marginals, entropy (decoding: `chain_decoding`).

p(y | x) = exp(sum_t node[t, y_t] + sum_t edge[t, y_t, y_{t+1}]) / Z(x), with one table ``edge`` shared by
all edges or one per edge; a potential of -inf forbids.

Forward-backward works on scaled numbers, not logarithms (11 times faster), so a state may underflow that
would have won later. A result is trusted only where that cannot have happened; any other sequence is
redone, alone, in log space (`chain_log`). Derivatives of marginals are in `chain_tangent`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import Potentials, Structure
from sklearn_struct.inference.chain_log import log_marginals
from sklearn_struct.inference.chain_tangent import tangent
from sklearn_struct.kernel import kernel
from sklearn_struct.simd import (
    LANES,
    add,
    add_outer,
    exp,
    largest,
    least,
    load,
    load_part,
    matrix_times_row,
    maximum,
    minimum,
    mul,
    padded,
    row_times_matrix,
    splat,
    store,
    sub,
    total,
)

__all__ = ["entropy", "marginals", "tangent"]


class _Scaled(NamedTuple):
    """Workspace of one sequence; rows are padded to P = padded(K) numbers and stored flat."""

    U: np.ndarray  # exp(node - its row's maximum)
    A: np.ndarray  # alpha_t = (alpha_{t-1} E) * u_t / c_t, which sums to 1
    B: np.ndarray  # beta_t = E (u_{t+1} * beta_{t+1}) / c_{t+1}; alpha_t * beta_t are the marginals
    V: np.ndarray  # u_t * beta_t / c_t, of token t + 1 in row t
    E: np.ndarray  # exp(edge - its maximum), K rows
    E_T: np.ndarray  # the same, transposed, where all edges share it
    norms: np.ndarray  # c_t


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
    node, edge, out_node, out_edge = potentials.node, potentials.edge, out.node, out.edge
    offsets, edge_offsets = structure.offsets, structure.edge_offsets
    K = node.shape[1]
    P = padded(K)
    work = _workspace(node, offsets)
    pair_sums = np.zeros((P + LANES) * P, node.dtype)
    limit = 600.0 if node.itemsize == 8 else 60.0
    summed = edge.shape[0] == 1 and out_edge.shape[0] == 1
    n_untrusted = 0
    if edge.shape[0] == 1:
        _exp_table(edge, edge.shape[0] - 1, work)
        _transpose_table(K, work)
    for i in range(len(offsets) - 1):
        t0, T, e0 = offsets[i], offsets[i + 1] - offsets[i], edge_offsets[i]
        log_Z[i] = 0.0
        if weight[i] == 0.0 or T == 0:
            continue
        log_Z[i], spread = _forward(potentials, t0, e0, T, work)
        if spread < np.inf:
            _backward(edge, e0, K, T, work)
        if not spread < limit and (spread == np.inf or _left_range(potentials, t0, e0, T, work)):
            log_Z[i] = np.nan
            n_untrusted += 1
            continue
        for t in range(T):
            for k in range(K):
                out_node[t0 + t, k] += weight[i] * work.A[t * P + k] * work.B[t * P + k]
        if summed:
            add_outer(work.A, work.V, T - 1, K, P, weight[i], pair_sums)
        else:
            _add_edges(edge, e0, T, work, weight[i], out_edge)
    if summed:
        for j in range(K):
            for k in range(K):
                if work.E[j * P + k] > 0.0:  # the sum of a forbidden pair may be inf
                    out_edge[0, j * K + k] += pair_sums[j * P + k] * work.E[j * P + k]
    return n_untrusted


@kernel
def _workspace(node, offsets):
    P, longest = padded(node.shape[1]), 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    size = max(longest, P) * P + LANES
    U, A, B, V = (
        np.zeros(size, node.dtype),
        np.zeros(size, node.dtype),
        np.zeros(size, node.dtype),
        np.zeros(size, node.dtype),
    )
    return _Scaled(U, A, B, V, np.zeros(P * P, node.dtype), np.zeros(P * P, node.dtype), np.empty(longest))


@kernel
def _range(scores, i, n):
    """Maximum, and maximum - minimum, of scores[i : i + n] in flat order."""
    low, high = scores.dtype.type(-np.inf), scores.dtype.type(np.inf)
    top, bottom = splat(low), splat(high)
    for k in range(0, n, LANES):
        top = maximum(load_part(scores, i + k, n - k, low), top)
        bottom = minimum(load_part(scores, i + k, n - k, high), bottom)
    return largest(top), largest(top) - least(bottom)


@kernel
def _exp_row(scores, i, K, top, out, o):
    """out[o : o + P] = exp(scores[i : i + K] - top), and 0 in the padding."""
    low = scores.dtype.type(-np.inf)
    shift = splat(top if top > low else scores.dtype.type(0))
    for k in range(0, K, LANES):
        store(out, o + k, exp(sub(load_part(scores, i + k, K - k, low), shift)))


@kernel
def _exp_table(edge, e, work):
    """Fill E with edge e; return maximum and range of its scores."""
    K = int(np.sqrt(edge.shape[1]))
    P = padded(K)
    top, spread = _range(edge, e * K * K, K * K)
    for j in range(K):
        _exp_row(edge, (e * K + j) * K, K, top, work.E, j * P)
    return top, spread


@kernel
def _transpose_table(K, work):
    E, E_T = work.E, work.E_T
    P = padded(K)
    for j in range(K):
        for k in range(K):
            E_T[k * P + j] = E[j * P + k]


@kernel
def _forward(potentials, t0, e0, T, work):
    """Fill U, A and norms of one sequence; return log Z and the largest range of scores (inf: alpha vanished)."""
    node, edge = potentials.node, potentials.edge
    K = node.shape[1]
    P = padded(K)
    log_Z, spread = 0.0, 0.0
    edge_top, edge_spread = _range(edge, 0, K * K if edge.shape[0] == 1 else 0)
    for t in range(T):
        top, row_spread = _range(node, (t0 + t) * K, K)
        _exp_row(node, (t0 + t) * K, K, top, work.U, t * P)
        if t > 0:
            if edge.shape[0] > 1:
                edge_top, edge_spread = _exp_table(edge, e0 + t - 1, work)
            row_times_matrix(work.A, (t - 1) * P, work.E, K, P, work.A, t * P)
            log_Z += edge_top
            row_spread += edge_spread
        norm = _weigh(work.A, work.U, t * P, P, t > 0)
        if not norm > 0.0:
            return 0.0, np.inf
        work.norms[t] = norm
        log_Z += np.log(work.norms[t]) + np.float64(top)
        if not row_spread <= spread:
            spread = row_spread
    return log_Z, spread if spread <= 1e300 else 1e300  # also where -inf made it inf or nan


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
def _backward(edge, e0, K, T, work):
    """Fill B and V of one sequence from its U and norms."""
    U, B, V = work.U, work.B, work.V
    P = padded(K)
    for k in range((T - 1) * P, T * P):
        B[k] = 1
    for t in range(T - 1, -1, -1):
        if t < T - 1:
            if edge.shape[0] > 1:
                _exp_table(edge, e0 + t, work)
                matrix_times_row(work.E, K, P, V, t * P, B, t * P)
            else:
                row_times_matrix(V, t * P, work.E_T, K, P, B, t * P)
        if t > 0:
            scale = splat(U.dtype.type(1.0 / work.norms[t]))
            for k in range(t * P, t * P + P, LANES):
                store(V, k - P, mul(mul(load(U, k), scale), load(B, k)))


@kernel
def _left_range(potentials, t0, e0, T, work):
    """Whether an alpha or beta that structure allows to be positive came near the limits of its float type.

    One pass of 0/1 reachability in each direction tells zeros that mean "forbidden" from zeros that
    mean "underflowed". alpha counts as it was before its row was scaled. The limits leave room for what `exp`
    cuts off: a lost transition times `huge` is nothing beside `tiny`.
    """
    node, edge = potentials.node, potentials.edge
    K = node.shape[1]
    P = padded(K)
    step = 0 if edge.shape[0] == 1 else 1
    tiny, huge = (1e-200, 1e80) if node.itemsize == 8 else (1e-25, 1e5)
    reached, before = np.ones(K, np.bool_), np.ones(K, np.bool_)
    for t in range(T):
        for k in range(K):
            before[k] = reached[k]
        for k in range(K):
            found = t == 0
            for j in range(K):
                found |= t > 0 and before[j] and edge[step * (e0 + t - 1), j * K + k] > -np.inf
            reached[k] = found and node[t0 + t, k] > -np.inf
            if reached[k] and not work.A[t * P + k] * work.norms[t] >= tiny:
                return True
    for k in range(K):
        reached[k] = True
    for t in range(T - 2, -1, -1):
        for k in range(K):
            before[k] = reached[k] and node[t0 + t + 1, k] > -np.inf
            if before[k] and not work.V[t * P + k] <= huge:
                return True
        for j in range(K):
            reached[j] = False
            for k in range(K):
                reached[j] |= before[k] and edge[step * (e0 + t), j * K + k] > -np.inf
            if reached[j] and not (tiny <= work.B[t * P + j] <= huge):
                return True
    return False


@kernel
def _add_edges(edge, e0, T, work, weight, out_edge):
    """Add weighted edge marginals alpha_t(j) E(j, k) v_{t+1}(k), edge by edge."""
    K = int(np.sqrt(edge.shape[1]))
    P = padded(K)
    E, out_step = work.E, 0 if out_edge.shape[0] == 1 else 1
    zero = splat(E.dtype.type(0))
    row = np.empty(P, E.dtype)
    for t in range(T - 1):
        if edge.shape[0] > 1:
            _exp_table(edge, e0 + t, work)
        for j in range(K):
            a = splat(work.A[t * P + j])
            for k in range(0, P, LANES):
                pair = mul(mul(a, load(work.V, t * P + k)), load(E, j * P + k))
                store(row, k, maximum(pair, zero))  # a forbidden pair is inf * 0, and nan > 0 is false
            for k in range(K):
                out_edge[out_step * (e0 + t), j * K + k] += weight * row[k]


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
