"""Whether sums over chains in scaled numbers can be trusted.

A state may underflow that would have won later. Where that cannot have happened is told by cheap
bounds on scores first, and by a bound of what was lost where these do not suffice.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    cast,
    exp,
    fma,
    if_larger,
    largest,
    load,
    load_part,
    maximum,
    mul,
    padded,
    splat,
    store,
    sub,
    total,
)
from sklearn_struct.compiled.small_products import rows_times_matrix
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs
from sklearn_struct.inference.chains.forward_backward_by_edge import exp_table
from sklearn_struct.inference.chains.lattice import Lattice
from sklearn_struct.inference.chains.time_major import Steps

__all__ = ["are_possible", "distrust", "is_safe"]

# of float32 and float64: far above what a product, a sum or an exponential loses, and what share of
# Z may be lost
_LEAST = (1e-33, 1e-300)
_LOST = (1e-8, 1e-13)
_TOKENS = 64  # whose scores are added up before they are looked at


@inlined
def are_possible(node: np.ndarray, first: int, end: int) -> bool:
    """Whether each of some tokens has a label with a finite score, and none has +inf or NaN."""
    K = node.shape[1]
    for t in range(first, end, _TOKENS):
        last = min(t + _TOKENS, end)
        mass = splat(0.0)
        whole = last * K - (last - t) * K % LANES
        for m in range(t * K, whole, LANES):
            mass = add(mass, load(node, m))
        mass = add(mass, load_part(node, whole, last * K - whole, 0.0))
        # only what has a score of no finite number is looked at number by number
        if not np.isfinite(total(mass)) and not _are_possible(node, t, last):
            return False
    return True


@inlined
def _are_possible(node: np.ndarray, first: int, end: int) -> bool:
    """The same, number by number."""
    for t in range(first, end):
        best = -np.inf
        is_number = True
        for k in range(node.shape[1]):
            x = node[t, k]
            best = max(best, x)
            is_number &= x < np.inf
        if not is_number or best == -np.inf:
            return False
    return True


@inlined
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
    looked_at = np.zeros(len(order), np.bool_)
    for r in range(len(order)):
        looked_at[r] = redo[r] and not np.isnan(log_Z[order[r]])
        redo[r] = redo[r] and not looked_at[r]
    _find_losses(potentials, structure, places, work, looked_at, redo)
    for r in range(len(order)):
        for t in range(
            structure.offsets[order[r] + 1] - structure.offsets[order[r]] if redo[r] else 0
        ):
            for m in range((first[t] + r) * P, (first[t] + r + 1) * P):
                # zeros, so that nothing of them gets into sums that all sequences share
                work.A[m] = work.B[m] = work.U[m] = 0


@inlined
def _find_losses(
    potentials: Pairs,
    structure: Links,
    places: Steps,
    work: Lattice,
    looked_at: np.ndarray,
    lost: np.ndarray,
) -> None:
    """Mark in `lost` the sequences of which betas are not finite, or what underflowed in alphas is
    more than next to nothing.

    An alpha that is lost is below `least`. So alphas to which `least` is added in each step are
    bounds of the true ones, and what they have more at the end bounds what Z lacks, and with it
    each marginal. That difference follows the same recursion, in which nothing cancels. What betas
    lose has a probability below the smallest number and needs no bound.
    """
    node = potentials.node
    edge = potentials.edge
    first = places.first
    order = places.order
    K = node.shape[1]
    P = padded(K)
    is_shared = edge.shape[0] == 1
    which = 1 if node.itemsize == 8 else 0
    least = _LEAST[which]
    # in float64 whatever scores are: products of `least` would underflow
    E = np.zeros(P * P)
    more = np.zeros(len(order) * P)
    rows = np.zeros(len(order) * P)
    if is_shared:
        _copy(work.E, E)
    for t in range(len(first) - 1):
        n = first[t + 1] - first[t]
        if is_shared and t > 0:
            rows_times_matrix(more, 0, n, E, K, P, rows, 0)
        for r in range(n):
            if looked_at[r] and not is_shared and t > 0:
                exp_table(edge, structure.edge_offsets[order[r]] + t - 1, K, work.E)
                _copy(work.E, E)
                rows_times_matrix(more, r * P, 1, E, K, P, rows, r * P)
            if looked_at[r]:
                at = first[t] + r
                o = (structure.offsets[order[r]] + t) * K
                scale = 1.0 / np.float64(work.norms[at])
                lost[r] |= not _raise(node, o, rows, r * P, least, scale, more)
                lost[r] |= not np.isfinite(_row_sum(work.B, at * P, P))
        for r in range(first[t + 2] - first[t + 1] if t + 2 < len(first) else 0, n):
            # nan, too, is not less
            lost[r] |= looked_at[r] and not _row_sum(more, r * P, P) < _LOST[which]


@inlined
def _copy(table: np.ndarray, out: np.ndarray) -> None:
    for m in range(0, len(out), LANES):
        store(out, m, cast(load(table, m), out))


@inlined
def _raise(
    node: np.ndarray, o: int, rows: np.ndarray, at: int, least: float, scale: float, out: np.ndarray
) -> bool:
    """Write what alphas of a token may have more, of what came to it; return whether that is at
    most 1, so that less than `least` of it underflows in the next step.
    """
    K = node.shape[1]
    nothing = node.dtype.type(-np.inf)
    best = splat(-np.inf)
    for k in range(0, K, LANES):
        best = maximum(cast(load_part(node, o + k, K - k, nothing), out), best)
    worst = splat(0.0)
    top = splat(largest(best))
    for k in range(0, K, LANES):
        x = cast(load_part(node, o + k, K - k, nothing), out)
        added = if_larger(x, splat(-np.inf), splat(least))
        more = mul(fma(load(rows, at + k), exp(sub(x, top)), added), splat(scale))
        store(out, at + k, more)
        worst = maximum(more, worst)
    return largest(worst) <= 1.0


@inlined
def _row_sum(rows: np.ndarray, at: int, P: int) -> float:
    mass = splat(rows.dtype.type(0))
    for k in range(0, P, LANES):
        mass = add(mass, load(rows, at + k))
    return np.float64(total(mass))
