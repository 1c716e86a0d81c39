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

from sklearn_struct.inference.chains import both_ways
from sklearn_struct.inference.chains import forward_backward_by_edge as edge_tables
from sklearn_struct.inference.chains import forward_backward_shared as shared_table
from sklearn_struct.inference.chains.first_order_log import log_marginals
from sklearn_struct.inference.chains.first_order_log_lists import log_expectations, log_sums
from sklearn_struct.inference.chains.first_order_tangent import tangent
from sklearn_struct.inference.chains.flat_tuples import Links, PairRows, Pairs, rows_of_pairs
from sklearn_struct.inference.chains.lattice import Room, cut, room_for
from sklearn_struct.inference.chains.node_rows import add_nodes, exp_nodes
from sklearn_struct.inference.chains.scaled_numbers import distrust, is_safe
from sklearn_struct.inference.chains.time_major import count_steps

__all__ = ["expectations", "log_partition", "marginals", "marginals_by_row", "tangent"]

# ranges of scores, by bytes of a number, within which nothing can underflow that matters
_NEAR = {8: 600.0, 4: 60.0}


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
    room = room_for(potentials.node, structure.offsets)
    again = _passes(potentials, structure, weight, room, log_Z)
    _add(potentials, structure, weight, room, out)
    for i in again:
        log_Z[i] = _in_logarithms(potentials, structure, i, weight[i], out)


def log_partition(
    potentials: Pairs, structure: Links, weight: np.ndarray, log_Z: np.ndarray
) -> None:
    """Write log Z of each sequence, as `marginals` does, without the way back where that would
    change nothing.
    """
    room = room_for(potentials.node, structure.offsets)
    if not _sweep(potentials, structure, weight, room, False, log_Z):
        out = Pairs(np.zeros(potentials.node.shape), np.zeros((1, potentials.edge.shape[1])))
        marginals(potentials, structure, weight, out, log_Z)


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
        untrusted = both_ways.expectations(potentials, structure, weight, sums, log_Z)
        # a kernel that most fits never need
        if len(untrusted):
            log_expectations(node, edge, structure.offsets, weight, untrusted, sums, log_Z)
        return
    room = room_for(node, structure.offsets)
    again = _passes(potentials, structure, weight, room, log_Z)
    # those that are done again need their scores until then
    scores = Pairs(node.copy() if again else node, edge)
    out = Pairs(node, sums)
    node[:] = 0.0
    _add(scores, structure, weight, room, out)
    for i in again:
        log_Z[i] = _in_logarithms(scores, structure, i, weight[i], out)


def _in_logarithms(potentials: Pairs, structure: Links, i: int, weight: float, out: Pairs) -> float:
    """As `log_marginals`, and quicker where tables are shared."""
    # sequences of one token have no edges, and a table of each edge no rows
    if not len(potentials.edge) == len(out.edge) == 1:
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
    room = room_for(potentials.node, structure.offsets)
    again = _passes(potentials, structure, weight, room, log_Z)
    places, work = cut(room, potentials.node.shape[1])
    edge_tables.add_by_row(potentials, structure, places, weight, work, rows)
    add_nodes(structure.offsets, *places, weight, work.A, work.B, node)
    if again:
        out = Pairs(node, np.zeros((len(structure.edges), rows.table.shape[1])))
        for i in again:
            log_Z[i] = log_marginals(potentials, structure, i, weight[i], out)
        rows.table[:] += rows_of_pairs(rows, structure).T @ out.edge


def _add(potentials: Pairs, structure: Links, weight: np.ndarray, room: Room, out: Pairs) -> None:
    """Add weighted marginals, after `_passes`."""
    if len(potentials.edge) == len(out.edge) == 1:
        shared_table.add(structure.offsets, weight, *room, *out)
        return
    places, work = cut(room, potentials.node.shape[1])
    edge_tables.add_marginals(potentials, structure, places, weight, work, out.edge)
    add_nodes(structure.offsets, *places, weight, work.A, work.B, out.node)


def _passes(
    potentials: Pairs, structure: Links, weight: np.ndarray, room: Room, log_Z: np.ndarray
) -> list[int]:
    """Forward and backward, and log Z; return which sequences are to be done again in log space,
    and have rows of zeros now.
    """
    if _sweep(potentials, structure, weight, room, True, log_Z):
        return []
    places, work = cut(room, potentials.node.shape[1])
    spread = work.spread[: len(places.order)]
    redo = np.isnan(log_Z[places.order]) | ~(spread < _NEAR[potentials.node.itemsize])
    distrust(potentials, structure, places, work, log_Z, redo)
    again: list[int] = places.order[redo].tolist()
    return again


def _sweep(
    potentials: Pairs,
    structure: Links,
    weight: np.ndarray,
    room: Room,
    back: bool,
    log_Z: np.ndarray,
) -> bool:
    """Forward and, if asked for, backward; log Z is nan where alpha vanished. Return whether all
    can be trusted, as `is_safe` does.
    """
    node, edge = potentials
    near = _NEAR[node.itemsize]
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    if len(edge) == 1:
        of_sequences = offsets, edge_offsets, weight
        return shared_table.sweep(node, edge, *of_sequences, *room, near, back, log_Z)
    log_Z[:] = 0.0
    count_steps(offsets, weight, room.counts)
    K = node.shape[1]
    places, work = cut(room, K)
    # the memory is not cleared, and sums over whole vectors read the padding, too
    work.E[:] = 0.0
    exp_nodes(node, offsets, *places, True, work.U, work.spread, log_Z)
    edge_tables.forward(edge, edge_offsets, places, work, K, log_Z)
    if back:
        edge_tables.backward(edge, edge_offsets, places, work, K)
    return is_safe(places.order, work.spread, near, log_Z)
