"""Whether sums over chains in scaled numbers can be trusted.

A state may underflow that would have won later. Where that cannot have happened is told by cheap
bounds on scores first, and number by number where these do not suffice.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import padded
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs
from sklearn_struct.inference.chains.forward_backward_by_edge import Lattice
from sklearn_struct.inference.chains.time_major import Steps

__all__ = ["distrust", "is_safe"]


@kernel
def is_safe(order: np.ndarray, spread: np.ndarray, near: float, log_Z: np.ndarray) -> bool:
    """Whether no sequence can have lost anything: cheap and sufficient. Only what fails it is
    looked at number by number.
    """
    safe = True
    for r in range(len(order)):
        safe = safe and spread[r] < near and not np.isnan(log_Z[order[r]])
    return safe


@kernel
def distrust(
    potentials: Pairs,
    structure: Links,
    places: Steps,
    work: Lattice,
    log_Z: np.ndarray,
    redo: np.ndarray,
) -> None:
    """Of the sequences marked in `redo` leave those whose scaled result cannot be trusted, and
    clear their rows.
    """
    first = places.first
    order = places.order
    P = padded(potentials.node.shape[1])
    for r in range(len(order)):
        if redo[r] and not np.isnan(log_Z[order[r]]):
            redo[r] = not _in_range(potentials, structure, places, r, work)
        for t in range(
            structure.offsets[order[r] + 1] - structure.offsets[order[r]] if redo[r] else 0
        ):
            for m in range((first[t] + r) * P, (first[t] + r + 1) * P):
                # zeros, so that nothing of them gets into sums that all sequences share
                work.A[m] = work.B[m] = work.U[m] = 0


@inlined
def _in_range(potentials: Pairs, structure: Links, places: Steps, r: int, work: Lattice) -> bool:
    """Whether every alpha that structure allows to be positive stayed far from the smallest
    numbers, and beta finite.

    A number that is not tiny is reached; reachability in 0/1, from token to token, tells the other
    zeros that mean "forbidden" from zeros that mean "underflowed". alpha counts as it was before
    its row was scaled. What `exp` cuts off is then nothing: v of what is reached is at most 1 /
    `tiny`, and what is not reached has an alpha of 0.
    """
    node = potentials.node
    edge = potentials.edge
    first = places.first
    i = places.order[r]
    t0 = structure.offsets[i]
    e0 = structure.edge_offsets[i]
    T = structure.offsets[i + 1] - structure.offsets[i]
    K = node.shape[1]
    P = padded(K)
    step = 0 if edge.shape[0] == 1 else 1
    # far above the smallest float, so that what was added to an alpha cannot have been lost either
    tiny = 1e-200 if node.itemsize == 8 else 1e-25
    reached = np.ones(K, np.bool_)
    before = np.ones(K, np.bool_)
    for t in range(T):
        row = first[t] + r
        for k in range(K):
            before[k] = reached[k]
        for k in range(K):
            reached[k] = work.A[row * P + k] * work.norms[row] >= tiny
            # betas are not scaled by themselves: they may overflow
            if not work.B[row * P + k] < np.inf:
                return False
            if not reached[k] and node[t0 + t, k] > -np.inf:
                if t == 0:
                    return False
                for j in range(K):
                    if before[j] and edge[step * (e0 + t - 1), j * K + k] > -np.inf:
                        return False
    return True
