"""Linear chains, sum-product: log Z, node and edge marginals, entropy (decoding: `chain_decoding`).

p(y | x) = exp(sum_t node[t, y_t] + sum_t edge[t, y_t, y_{t+1}]) / Z(x), with one table ``edge`` shared by
all edges or one per edge; a potential of -inf forbids.

Forward-backward works on scaled numbers, not logarithms (11 times faster), so a state may underflow that
would have won later. A result is trusted only where that cannot have happened; any other sequence is
redone, alone, in log space (`chain_log`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import Potentials, Structure
from sklearn_struct.inference.chain_log import log_marginals
from sklearn_struct.kernel import kernel
from sklearn_struct.simd import LANES, add, add_outer, exp, load, mul, padded, row_times_matrix, splat, store, total

__all__ = ["entropy", "marginals"]


class _Scaled(NamedTuple):
    """Workspace of one sequence; rows are padded to P = padded(K) numbers and stored flat."""

    U: np.ndarray  # exp(node - its row's maximum)
    A: np.ndarray  # alpha_t = (alpha_{t-1} E) * u_t / c_t, which sums to 1
    B: np.ndarray  # beta_t = E (u_{t+1} * beta_{t+1}) / c_{t+1}; alpha_t * beta_t are the marginals
    V: np.ndarray  # u_t * beta_t / c_t
    E: np.ndarray  # exp(edge - its maximum), K rows
    E_T: np.ndarray  # the same, transposed
    norms: np.ndarray  # c_t


@kernel
def marginals(potentials, structure, weight, out, log_Z):
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
    node, edge, out_node, out_edge = potentials.node, potentials.edge, out.node, out.edge
    offsets, edge_offsets = structure.offsets, structure.edge_offsets
    K = node.shape[1]
    P = padded(K)
    work = _workspace(node, np.max(offsets[1:] - offsets[:-1]))
    pair_sums = np.zeros((P + LANES) * P, node.dtype)
    limit = 600.0 if node.itemsize == 8 else 60.0
    shared = edge.shape[0] == 1
    if shared:
        _exp_table(edge[0], K, work.E, False)
        _exp_table(edge[0], K, work.E_T, True)
    for i in range(len(offsets) - 1):
        t0, T, e0 = offsets[i], offsets[i + 1] - offsets[i], edge_offsets[i]
        log_Z[i] = 0.0
        if weight[i] == 0.0 or T == 0:
            continue
        log_Z[i], spread = _forward(potentials, t0, e0, T, work)
        if spread < np.inf:
            _backward(edge, e0, T, work)
        if not spread < limit and (spread == np.inf or _left_range(potentials, t0, e0, T, work)):
            log_Z[i] = log_marginals(node, edge, t0, e0, T, weight[i], out_node, out_edge)
            continue
        for t in range(T):
            for k in range(K):
                out_node[t0 + t, k] += weight[i] * work.A[t * P + k] * work.B[t * P + k]
        if shared and out_edge.shape[0] == 1:
            add_outer(work.A, work.V, 1, T - 1, K, P, weight[i], pair_sums)
        else:
            _add_edges(edge, e0, T, work, weight[i], out_edge)
    if shared and out_edge.shape[0] == 1:
        for j in range(K):
            for k in range(K):
                if work.E[j * P + k] > 0.0:  # a forbidden pair may hold inf in the sums
                    out_edge[0, j * K + k] += work.E[j * P + k] * pair_sums[j * P + k]


@kernel
def _workspace(node, longest):
    P = padded(node.shape[1])
    size = longest * P + LANES
    U, A, B, V = np.empty(size, node.dtype), np.zeros(size, node.dtype), np.empty(size, node.dtype), np.empty(size, node.dtype)
    return _Scaled(U, A, B, V, np.empty(P * P, node.dtype), np.empty(P * P, node.dtype), np.empty(longest))


@kernel
def _exp_row(row, K, out, o):
    """out[o : o + P] = exp(row - max), 0 in the padding; return the maximum and maximum - minimum."""
    top, bottom = row[0], row[0]
    for k in range(K):
        top, bottom = max(top, row[k]), min(bottom, row[k])
        out[o + k] = row[k]
    shift = top if top > -np.inf else row.dtype.type(0)
    for k in range(K):
        out[o + k] -= shift
    for k in range(K, padded(K)):
        out[o + k] = -np.inf
    for k in range(0, K, LANES):
        store(out, o + k, exp(load(out, o + k)))
    return top, top - bottom


@kernel
def _exp_table(table, K, out, transposed):
    """The K * K log-potentials of an edge as K padded rows of exp(edge - max); return maximum and range."""
    P = padded(K)
    top, bottom = np.max(table), np.min(table)
    shift = top if top > -np.inf else table.dtype.type(0)
    for j in range(K):
        for k in range(K):
            out[j * P + k] = (table[k * K + j] if transposed else table[j * K + k]) - shift
        for k in range(K, P):
            out[j * P + k] = -np.inf
        for k in range(0, P, LANES):
            store(out, j * P + k, exp(load(out, j * P + k)))
    return top, top - bottom


@kernel
def _forward(potentials, t0, e0, T, work):
    """Fill U, A and norms of one sequence; return log Z and the largest range of scores (inf: alpha vanished)."""
    node, edge = potentials.node, potentials.edge
    U, A, E, norms = work.U, work.A, work.E, work.norms
    K = node.shape[1]
    P = padded(K)
    log_Z, spread, edge_top, edge_spread = 0.0, 0.0, 0.0, 0.0
    if edge.shape[0] == 1:
        edge_top = np.max(edge[0])
        edge_spread = edge_top - np.min(edge[0])
    for t in range(T):
        top, row_spread = _exp_row(node[t0 + t], K, U, t * P)
        if t == 0:
            for k in range(0, P, LANES):
                store(A, k, load(U, k))
        else:
            if edge.shape[0] > 1:
                edge_top, edge_spread = _exp_table(edge[e0 + t - 1], K, E, False)
            row_times_matrix(A, (t - 1) * P, E, K, P, A, t * P)
            log_Z += edge_top
        norms[t] = _weigh(A, U, t * P, P, t > 0)
        if not norms[t] > 0.0:
            return 0.0, np.inf
        log_Z += np.log(norms[t]) + top
        total_spread = row_spread + edge_spread
        spread = total_spread if not total_spread <= spread else spread
    return log_Z, spread if spread <= 1e300 else 1e300  # also where -inf made it inf or nan


@kernel
def _weigh(A, U, o, P, multiply):
    """Multiply the row of A at o by that of U, then divide it by its sum; return the sum."""
    mass = splat(A.dtype.type(0))
    for k in range(o, o + P, LANES):
        if multiply:
            store(A, k, mul(load(A, k), load(U, k)))
        mass = add(mass, load(A, k))
    norm = total(mass)
    scale = splat(A.dtype.type(1) / norm)
    for k in range(o, o + P, LANES):
        store(A, k, mul(load(A, k), scale))
    return norm


@kernel
def _backward(edge, e0, T, work):
    """Fill B and V of one sequence from its U and norms."""
    U, B, V, E_T = work.U, work.B, work.V, work.E_T
    K = int(np.sqrt(edge.shape[1]))
    P = padded(K)
    for k in range((T - 1) * P, T * P):
        B[k] = 1
    for t in range(T - 1, -1, -1):
        if t < T - 1:
            if edge.shape[0] > 1:
                _exp_table(edge[e0 + t], K, E_T, True)
            row_times_matrix(V, (t + 1) * P, E_T, K, P, B, t * P)
        scale = splat(U.dtype.type(1.0 / work.norms[t]))
        for k in range(t * P, t * P + P, LANES):
            store(V, k, mul(mul(load(U, k), scale), load(B, k)))


@kernel
def _left_range(potentials, t0, e0, T, work):
    """Whether an alpha or beta that structure allows to be positive came near the limits of its float type.

    One pass of 0/1 reachability in each direction tells zeros that mean "forbidden" from zeros that
    mean "underflowed".
    """
    node, edge = potentials.node, potentials.edge
    K = node.shape[1]
    P = padded(K)
    step = 0 if edge.shape[0] == 1 else 1
    tiny, huge = (1e-280, 1e280) if node.itemsize == 8 else (1e-30, 1e30)
    reached, before = np.ones(K, np.bool_), np.ones(K, np.bool_)
    for t in range(T):
        before[:] = reached
        for k in range(K):
            found = t == 0
            for j in range(K):
                found |= t > 0 and before[j] and edge[step * (e0 + t - 1), j * K + k] > -np.inf
            reached[k] = found and node[t0 + t, k] > -np.inf
            if reached[k] and not work.A[t * P + k] >= tiny:
                return True
    reached[:] = True
    for t in range(T - 2, -1, -1):
        for k in range(K):
            before[k] = reached[k] and node[t0 + t + 1, k] > -np.inf
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
    step, out_step = 0 if edge.shape[0] == 1 else 1, 0 if out_edge.shape[0] == 1 else 1
    for t in range(T - 1):
        if step:
            _exp_table(edge[e0 + t], K, work.E, False)
        for j in range(K):
            for k in range(K):
                pair = work.A[t * P + j] * work.V[(t + 1) * P + k]
                if work.E[j * P + k] > 0.0:  # a forbidden pair may be inf here
                    out_edge[out_step * (e0 + t), j * K + k] += weight * pair * work.E[j * P + k]


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
    surprise[log_Z == -np.inf] = np.nan
    return surprise
