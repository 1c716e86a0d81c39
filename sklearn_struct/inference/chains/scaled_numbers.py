"""Whether sums over chains in scaled numbers can be trusted.

A state may underflow that would have won later. Where that cannot have happened is told by cheap
bounds on scores first, and by a bound of what was lost where these do not suffice.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import LANES, add, load, load_part, padded, splat, total
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs
from sklearn_struct.inference.chains.forward_backward_by_edge import Lattice
from sklearn_struct.inference.chains.time_major import Steps

__all__ = ["are_possible", "distrust", "is_safe"]

# of float32 and float64: far above what a product, a sum or an exponential loses, and what share of
# Z may be lost
_LEAST = (1e-33, 1e-300)
_LOST = (1e-8, 1e-13)


@inlined
def are_possible(node: np.ndarray) -> bool:
    """Whether each token has a label with a finite score, and none has +inf or NaN."""
    mass = splat(0.0)
    n, K = node.shape
    whole = n * K - n * K % LANES
    for m in range(0, whole, LANES):
        mass = add(mass, load(node, m))
    mass = add(mass, load_part(node, whole, n * K - whole, 0.0))
    if np.isfinite(total(mass)):
        return True
    for t in range(n):
        best = -np.inf
        is_number = True
        for k in range(K):
            x = node[t, k]
            best = max(best, x)
            is_number &= x < np.inf
        if not is_number or best == -np.inf:
            return False
    return True


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
            redo[r] = not _loses_little(potentials, structure, places, r, work)
        for t in range(
            structure.offsets[order[r] + 1] - structure.offsets[order[r]] if redo[r] else 0
        ):
            for m in range((first[t] + r) * P, (first[t] + r + 1) * P):
                # zeros, so that nothing of them gets into sums that all sequences share
                work.A[m] = work.B[m] = work.U[m] = 0


@inlined
def _loses_little(
    potentials: Pairs, structure: Links, places: Steps, r: int, work: Lattice
) -> bool:
    """Whether all betas are finite, and what underflowed in alphas is next to nothing.

    An alpha that is lost is below `least`. So alphas to which `least` is added in each step are
    bounds of the true ones, and what they have more at the end bounds what Z lacks, and with it
    each marginal. That difference follows the same recursion, in which nothing cancels. What betas
    lose has a probability below the smallest number and needs no bound.
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
    is_shared = edge.shape[0] == 1
    least = _LEAST[1] if node.itemsize == 8 else _LEAST[0]
    more = np.zeros(K)
    row = np.zeros(K)
    for t in range(T):
        at = first[t] + r
        top = -np.inf
        for k in range(K):
            top = max(top, np.float64(node[t0 + t, k]))
            row[k] = 0.0
            if not work.B[at * P + k] < np.inf:
                return False
        if t > 0:
            e = 0 if is_shared else e0 + t - 1
            best = -np.inf
            for m in range(0 if is_shared else edge.shape[1]):
                best = max(best, np.float64(edge[e, m]))
            for j in range(K):
                if is_shared:
                    for k in range(K):
                        row[k] += more[j] * work.E[j * P + k]
                else:
                    for k in range(K):
                        row[k] += more[j] * np.exp(edge[e, j * K + k] - best)
        for k in range(K):
            # of a larger bound more than `least` might underflow here
            if not row[k] <= 1.0:
                return False
            more[k] = 0.0
            if node[t0 + t, k] > -np.inf:
                more[k] = (row[k] * np.exp(node[t0 + t, k] - top) + least) / work.norms[at]
    lost = 0.0
    for k in range(K):
        lost += more[k]
    # nan, too, is not less
    return lost < (_LOST[1] if node.itemsize == 8 else _LOST[0])
