"""Linear chains, sum-product: log Z, node and edge marginals.

p(y | x) = exp(sum_t node[t, y_t] + sum_t edge[t, y_t, y_{t+1}]) / Z(x), with one table ``edge``
shared by all edges or one per edge; a potential of -inf forbids.

Forward-backward works on scaled numbers, not logarithms (11 times faster), and takes a step of many
sequences at once, as a matrix product (`time_major`). A state may underflow that would have won
later, so a result is trusted only where that cannot have happened; any other sequence is redone,
alone, in log space (`first_order_log`). Derivatives of marginals are in `first_order_tangent`.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, uncounted
from sklearn_struct.compiled.simd import (
    padded,
    workspace,
)
from sklearn_struct.compiled.small_products import (
    add_outer,
    row_times_matrix,
    rows_times_matrix,
)
from sklearn_struct.inference.chains import both_ways
from sklearn_struct.inference.chains import forward_backward_by_edge as edge_tables
from sklearn_struct.inference.chains.first_order_log import log_marginals
from sklearn_struct.inference.chains.first_order_log_lists import log_expectations, log_sums
from sklearn_struct.inference.chains.first_order_tangent import tangent
from sklearn_struct.inference.chains.flat_tuples import Links, PairRows, Pairs, rows_of_pairs
from sklearn_struct.inference.chains.forward_backward_by_edge import (
    Lattice,
    absorb,
    count_norm,
    exp_table,
    weigh,
)
from sklearn_struct.inference.chains.node_rows import add_nodes, exp_nodes
from sklearn_struct.inference.chains.scaled_numbers import distrust, is_safe
from sklearn_struct.inference.chains.time_major import Steps, steps

__all__ = ["expectations", "marginals", "marginals_by_row", "tangent"]

# ranges of scores, by bytes of a number, within which nothing can underflow that matters
_NEAR = {8: 600.0, 4: 60.0}
_LARGE = 1 << 20  # bytes
STRETCH = 64  # rows of steps that are added up at once, while they are in the first cache


def marginals(
    potentials: Pairs,
    structure: Links,
    weight: np.ndarray,
    out: Pairs,
    log_Z: np.ndarray,
) -> None:
    """Add weighted marginals to `out` and write log Z of each sequence.

    Parameters
    ----------
    potentials : Pairs
        ``node`` (n, K) and ``edge`` (n_edges or 1, K * K), float64 or float32, -inf allowed.
    structure : Links
        As made by `flat.links`.
    weight : ndarray of shape (n_sequences,), float64
        ``out += weight[i] * marginals_i``. Sequences of weight 0 are skipped, their log Z is
        written as 0.
    out : Pairs
        float64, ``node`` (n, K) and ``edge`` (n_edges, K * K), or (1, K * K) for the sum over all
        edges.
    log_Z : ndarray of shape (n_sequences,), float64
        Written; -inf where no labelling is allowed, and then nothing is added to `out`.
    """
    places = steps(structure.offsets, weight)
    log_Z[:] = 0.0
    if len(places.order) == 0:
        return
    work = _lattice(places, potentials)
    again = _passes(potentials, structure, places, work, log_Z)
    _add(potentials, structure, places, weight, work, out)
    for i in again.tolist():
        log_Z[i] = _in_logarithms(potentials, structure, i, weight[i], out)


def expectations(
    potentials: Pairs,
    structure: Links,
    weight: np.ndarray,
    sums: np.ndarray,
    log_Z: np.ndarray,
) -> None:
    """As `marginals`, but those of labels take the place of their scores; those of pairs are added
    to `sums`. Tokens whose sequence has weight 0 or no allowed labelling get zeros.
    """
    node, edge = potentials
    if both_ways.is_quicker(potentials, weight, sums):
        again = both_ways.expectations(potentials, structure, weight, sums, log_Z)
        # a kernel that most fits never need
        if len(again):
            log_expectations(node, edge, structure.offsets, weight, again, sums, log_Z)
        return
    places = steps(structure.offsets, weight)
    log_Z[:] = 0.0
    if len(places.order) == 0:
        node[:] = 0.0
        return
    work = _lattice(places, potentials)
    again = _passes(potentials, structure, places, work, log_Z)
    # those that are done again need their scores until then
    scores = Pairs(node.copy() if len(again) else node, edge)
    out = Pairs(node, sums)
    node[:] = 0.0
    _add(scores, structure, places, weight, work, out)
    for i in again.tolist():
        log_Z[i] = _in_logarithms(scores, structure, i, weight[i], out)


def _in_logarithms(potentials: Pairs, structure: Links, i: int, weight: float, out: Pairs) -> float:
    """As `log_marginals`, and quicker where tables are shared."""
    if len(potentials.edge) > 1 or len(out.edge) > 1:
        return log_marginals(potentials, structure, i, weight, out)
    first, end = structure.offsets[i : i + 2]
    return log_sums(*potentials, first, end, weight, False, *out)


def marginals_by_row(
    potentials: Pairs,
    structure: Links,
    weight: np.ndarray,
    node: np.ndarray,
    rows: PairRows,
    log_Z: np.ndarray,
) -> None:
    """As `marginals`, but those of labels are added to `node`, and those of pairs, times how
    strongly, to the rows of the table that they have.
    """
    places = steps(structure.offsets, weight)
    log_Z[:] = 0.0
    if len(places.order) == 0:
        return
    work = _lattice(places, potentials)
    again = _passes(potentials, structure, places, work, log_Z)
    edge_tables.add_by_row(potentials, structure, places, weight, work, rows)
    add_nodes(structure.offsets, *places, weight, work.A, work.B, node)
    if len(again):
        room = Pairs(node, np.zeros((len(structure.edges), rows.table.shape[1])))
        for i in again.tolist():
            log_Z[i] = log_marginals(potentials, structure, i, weight[i], room)
        rows.table[:] += rows_of_pairs(rows, structure).T @ room.edge


def _add(
    potentials: Pairs,
    structure: Links,
    places: Steps,
    weight: np.ndarray,
    work: Lattice,
    out: Pairs,
) -> None:
    """Add weighted marginals, after `_passes`."""
    if potentials.edge.shape[0] == 1 and out.edge.shape[0] == 1:
        _add_marginals(structure.offsets, places, weight, work, out)
    else:
        edge_tables.add_marginals(potentials, structure, places, weight, work, out.edge)
        add_nodes(structure.offsets, *places, weight, work.A, work.B, out.node)


def _passes(
    potentials: Pairs, structure: Links, places: Steps, work: Lattice, log_Z: np.ndarray
) -> np.ndarray:
    """Forward and backward, and log Z; return which sequences are to be done again in log space,
    and have rows of zeros now.
    """
    near = _NEAR[potentials.node.itemsize]
    if potentials.edge.shape[0] == 1:
        safe = _sweep(potentials, structure, places, work, log_Z, near)
    else:
        exp_nodes(potentials.node, structure.offsets, *places, True, work.U, work.spread, log_Z)
        K = potentials.node.shape[1]
        edge_tables.forward(potentials.edge, structure.edge_offsets, places, work, K, log_Z)
        edge_tables.backward(potentials.edge, structure.edge_offsets, places, work, K)
        safe = is_safe(places.order, work.spread, near, log_Z)
    again = np.empty(0, np.int64)
    if not safe:
        redo = np.isnan(log_Z[places.order]) | ~(work.spread < near)
        distrust(potentials, structure, places, work, log_Z, redo)
        again = places.order[redo]
    return again


def _lattice(places: Steps, potentials: Pairs) -> Lattice:
    n_rows = places.first[-1]
    dtype = potentials.node.dtype
    P = padded(potentials.node.shape[1])
    n = n_rows * P
    if n * dtype.itemsize < _LARGE:
        # one piece of memory for all tables: of short chains, allocations cost as much as sums
        room = workspace((3 * n + 3 * P * P,), dtype)
        U, A, B = room[: 3 * n].reshape(3, -1)
        tables = room[3 * n :].reshape(3, -1)
    else:
        # of pieces that are not too large, the memory is used again after they are freed
        U, A, B = (workspace((n,), dtype) for _ in range(3))
        tables = workspace((3, P * P), dtype)
    # the room is not cleared, and sums over whole vectors read the padding, too
    tables[:] = 0
    E, E_T, pairs = tables
    mass, spread = np.zeros((2, len(places.order)))
    return Lattice(U, A, B, np.empty(n_rows, dtype), E, E_T, pairs, mass, spread)


@uncounted
def _sweep(
    potentials: Pairs,
    structure: Links,
    places: Steps,
    work: Lattice,
    log_Z: np.ndarray,
    near: float,
) -> bool:
    """Forward and backward where all edges share a table; log Z is nan where alpha vanished. Return
    whether all can be trusted, as `is_safe` does.
    """
    K = potentials.node.shape[1]
    first = places.first
    order = places.order
    E = work.E
    E_T = work.E_T
    P = padded(K)
    spread = work.spread
    top, edge_spread = exp_table(potentials.edge, 0, K, E)
    # the sum of an alpha is at least exp(-edge_spread) before it is scaled, and betas of a token
    # have ratios of at most exp(edge_spread). If a number can hold both at once, what underflows in
    # an alpha would have had no say later, whatever the ranges of nodes are.
    ranges = not 2 * edge_spread < near
    exp_nodes(potentials.node, structure.offsets, first, order, ranges, work.U, spread, log_Z)
    for r in range(len(order)):
        spread[r] += edge_spread
    for j in range(P):
        for k in range(P):
            # the way back multiplies by the transpose, whose rows must lie together, too
            E_T[k * P + j] = E[j * P + k]
    _forward(structure.edge_offsets, places, work, K, top, log_Z)
    _backward(first, work.U, work.B, E_T, K, work.norms)
    return is_safe(order, spread, near, log_Z)


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
def _backward(
    first: np.ndarray, U: np.ndarray, B: np.ndarray, E_T: np.ndarray, K: int, norms: np.ndarray
) -> None:
    """Fill B, and turn U into v, where all edges share E."""
    P = padded(K)
    n_next = first[0]
    for t in range(len(first) - 2, -1, -1):
        if n_next == 1:
            row_times_matrix(U, first[t + 1] * P, E_T, K, P, B, first[t] * P)
        else:
            rows_times_matrix(U, first[t + 1] * P, n_next, E_T, K, P, B, first[t] * P)
        absorb(first, t, n_next, P, U, B, norms)
        n_next = first[t + 1] - first[t]


@uncounted
def _add_marginals(
    offsets: np.ndarray, places: Steps, weight: np.ndarray, work: Lattice, out: Pairs
) -> None:
    """Add weighted marginals where all edges share a table."""
    add_nodes(offsets, places.first, places.order, weight, work.A, work.B, out.node)
    _add_edge_sum(places.first, work, out.node.shape[1], out.edge)


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
