"""What forward-backward of `first_order` stores, and the memory for it.

Kernels are handed the memory in one piece or a few, and cut it themselves: for a short chain, to
make all its arrays and to hand them over would take longer than the sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.simd import padded, workspace
from sklearn_struct.inference.chains.time_major import Steps, n_counts, steps_in

__all__ = ["Lattice", "Room", "cut", "lattice_in", "room_for"]

_LARGE = 1 << 20  # bytes


class Lattice(NamedTuple):
    """Rows stand as `steps` says, are padded to P numbers and stored flat."""

    # u_t = exp(node - its row's maximum); the backward pass makes it v_t = u_t * beta_t / c_t
    U: np.ndarray
    A: np.ndarray  # alpha_t = (alpha_{t-1} E) * u_t / c_t, which sums to 1
    B: np.ndarray  # beta_t = E v_{t+1}; alpha_t * beta_t are the marginals
    norms: np.ndarray  # c_t
    E: np.ndarray  # (P * P,) exp(edge - its maximum), of one edge at a time unless all share it
    E_T: np.ndarray  # its transpose, where all share it
    pairs: np.ndarray  # zeros, for sums over edges that share E
    mass: np.ndarray  # room for a product of norms of each sequence
    # of each sequence: the largest range of a token's scores + that of an edge's
    spread: np.ndarray


class Room(NamedTuple):
    """Memory, not cleared."""

    U: np.ndarray
    A: np.ndarray
    B: np.ndarray
    others: np.ndarray  # tables of pairs, which come first, as their rows are whole vectors; norms
    counts: np.ndarray  # of steps
    sums: np.ndarray  # float64: two for each sequence


def room_for(node: np.ndarray, offsets: np.ndarray) -> Room:
    """The memory for some sequences with scores (n_tokens, K)."""
    dtype = node.dtype
    n_sequences = len(offsets) - 1
    n_rows = int(offsets[-1] - offsets[0])
    P = padded(node.shape[1])
    n = n_rows * P
    n_others = 3 * P * P + n_rows
    if n * dtype.itemsize < _LARGE:
        memory = workspace((3 * n + n_others,), dtype)
        U = memory[:n]
        A = memory[n : 2 * n]
        B = memory[2 * n : 3 * n]
        others = memory[3 * n :]
    else:
        # of pieces that are not too large, the memory is used again after they are freed
        U, A, B = (workspace((n,), dtype) for _ in range(3))
        others = workspace((n_others,), dtype)
    counts = np.empty(n_counts(n_rows, n_sequences), np.int64)
    return Room(U, A, B, others, counts, np.empty(2 * n_sequences))


def lattice_in(
    U: np.ndarray, A: np.ndarray, B: np.ndarray, others: np.ndarray, sums: np.ndarray, K: int
) -> Lattice:
    """The memory, cut."""
    P = padded(K)
    n = P * P
    E = others[:n]
    E_T = others[n : 2 * n]
    pairs = others[2 * n : 3 * n]
    norms = others[3 * n :]
    half = len(sums) // 2
    return Lattice(U, A, B, norms, E, E_T, pairs, sums[:half], sums[half:])


def cut(room: Room, K: int) -> tuple[Steps, Lattice]:
    """Steps and lattice, in the memory."""
    U, A, B, others, counts, sums = room
    places = steps_in(counts, len(sums) // 2)
    return places, lattice_in(U, A, B, others, sums, K)
