"""Forward-backward of `first_order` where all edges share a table.

It takes a step of all sequences at once, as a matrix product. Kernels are handed few arrays: of
short chains, calls cost as much as sums.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, uncounted
from sklearn_struct.compiled.simd import padded
from sklearn_struct.compiled.small_products import (
    add_outer,
    row_times_matrix,
    rows_times_matrix,
)
from sklearn_struct.inference.chains.forward_backward_by_edge import (
    absorb,
    count_norm,
    exp_table,
    weigh,
)
from sklearn_struct.inference.chains.lattice import Lattice, lattice_in
from sklearn_struct.inference.chains.node_rows import add_nodes, exp_nodes
from sklearn_struct.inference.chains.scaled_numbers import is_safe
from sklearn_struct.inference.chains.time_major import Steps, count_steps, steps_in

__all__ = ["add", "sweep"]

STRETCH = 64  # rows of steps that are added up at once, while they are in the first cache

_lattice_in = inlined(lattice_in)
_steps_in = inlined(steps_in)


@uncounted
def sweep(
    node: np.ndarray,
    edge: np.ndarray,
    offsets: np.ndarray,
    edge_offsets: np.ndarray,
    weight: np.ndarray,
    U: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    others: np.ndarray,
    counts: np.ndarray,
    sums: np.ndarray,
    near: float,
    back: bool,
    log_Z: np.ndarray,
) -> bool:
    """Steps, forward and, if asked for, backward, in the memory of a `Room`; log Z is nan where
    alpha vanished. Return whether all can be trusted, as `is_safe` does.
    """
    K = node.shape[1]
    P = padded(K)
    count_steps(offsets, weight, counts)
    places = _steps_in(counts, len(weight))
    work = _lattice_in(U, A, B, others, sums, K)
    first = places.first
    order = places.order
    spread = work.spread
    log_Z[:] = 0.0
    # the memory is not cleared, and sums over whole vectors read the padding, too
    for m in range(3 * P * P):
        others[m] = 0
    top, edge_spread = exp_table(edge, 0, K, work.E)
    # the sum of an alpha is at least exp(-edge_spread) before it is scaled, and betas of a token
    # have ratios of at most exp(edge_spread). If a number can hold both at once, what underflows in
    # an alpha would have had no say later, whatever the ranges of nodes are.
    ranges = not 2 * edge_spread < near
    exp_nodes(node, offsets, first, order, ranges, U, spread, log_Z)
    for r in range(len(order)):
        spread[r] += edge_spread
    _forward(edge_offsets, places, work, K, top, log_Z)
    if back:
        _backward(places, work, K)
    return is_safe(order, spread, near, log_Z)


@uncounted
def add(
    offsets: np.ndarray,
    weight: np.ndarray,
    U: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    others: np.ndarray,
    counts: np.ndarray,
    sums: np.ndarray,
    out_node: np.ndarray,
    out_edge: np.ndarray,
) -> None:
    """Add weighted marginals, of what `sweep` has left in the memory."""
    places = _steps_in(counts, len(weight))
    work = _lattice_in(U, A, B, others, sums, out_node.shape[1])
    add_nodes(offsets, places.first, places.order, weight, A, B, out_node)
    _add_edge_sum(places.first, work, out_node.shape[1], out_edge)


@inlined
def _forward(
    edge_offsets: np.ndarray, places: Steps, work: Lattice, K: int, top: float, log_Z: np.ndarray
) -> None:
    """Fill A and norms where all edges share E; complete log Z, nan where alpha vanishes."""
    first = places.first
    order = places.order
    A = work.A
    U = work.U
    E = work.E
    norms = work.norms
    mass = work.mass
    P = padded(K)
    for t in range(len(first) - 1):
        n = first[t + 1] - first[t]
        if t > 0 and n == 1:
            row_times_matrix(A, first[t - 1] * P, E, K, P, A, first[t] * P)
        elif t > 0:
            rows_times_matrix(A, first[t - 1] * P, n, E, K, P, A, first[t] * P)
        weigh(A, U, first[t], n, P, t > 0, norms)
        for r in range(n):
            if t == 0:
                mass[r] = 1.0
            count_norm(mass, r, norms[first[t] + r], log_Z, order[r])
    for r in range(len(order)):
        n_edges = edge_offsets[order[r] + 1] - edge_offsets[order[r]]
        log_Z[order[r]] += np.log(mass[r]) + (top * n_edges if n_edges > 0 else 0.0)


@inlined
def _backward(places: Steps, work: Lattice, K: int) -> None:
    """Fill B, and turn U into v, where all edges share E."""
    first = places.first
    U = work.U
    B = work.B
    E = work.E
    E_T = work.E_T
    P = padded(K)
    for j in range(P):
        for k in range(P):
            # the way back multiplies by the transpose, whose rows must lie together, too
            E_T[k * P + j] = E[j * P + k]
    n_next = first[0]
    for t in range(len(first) - 2, -1, -1):
        if n_next == 1:
            row_times_matrix(U, first[t + 1] * P, E_T, K, P, B, first[t] * P)
        else:
            rows_times_matrix(U, first[t + 1] * P, n_next, E_T, K, P, B, first[t] * P)
        absorb(first, t, n_next, P, U, B, work.norms)
        n_next = first[t + 1] - first[t]


@inlined
def _add_edge_sum(first: np.ndarray, work: Lattice, K: int, out_edge: np.ndarray) -> None:
    """Add weighted marginals alpha_t(j) E(j, k) v_{t+1}(k) of all edges, which share one table."""
    P = padded(K)
    E = work.E
    pairs = work.pairs
    tiles = (K + 3) // 4 * 4
    t = 0
    while t < len(first) - 2:
        n = first[t + 1] - first[t]
        # steps of as many sequences lie one behind the other: together they read and write the
        # sums once
        stop = t + 1
        n_pairs = first[stop + 1] - first[t + 1]
        while stop < len(first) - 2 and first[stop + 1] - first[stop] == n and n_pairs < STRETCH:
            stop += 1
            n_pairs = first[stop + 1] - first[t + 1]
        # alpha times v summed over all edges first, and E once at the end: it is the same for all;
        # whole tiles of four labels; those behind the last one are padding, which is 0
        add_outer(work.A, first[t] * P, work.U, first[t + 1] * P, n_pairs, tiles, P, pairs)
        t = stop
    for j in range(K):
        for k in range(K):
            if E[j * P + k] > 0.0:  # the sum of a forbidden pair may be inf
                out_edge[0, j * K + k] += pairs[j * P + k] * E[j * P + k]
