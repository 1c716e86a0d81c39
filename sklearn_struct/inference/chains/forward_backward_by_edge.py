"""Forward-backward of `first_order` where each edge has a table of its own.

It goes edge by edge. Pieces that it shares with `forward_backward_shared` are here, too.
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
    lanes_of,
    largest,
    least,
    load,
    load_as,
    load_part,
    maximum,
    minimum,
    mul,
    padded,
    splat,
    splat_as,
    store,
    store_as,
    store_part,
    sub,
    three,
    total,
)
from sklearn_struct.compiled.small_products import matrix_times_row, rows_times_matrix
from sklearn_struct.inference.chains.flat_tuples import Links, PairRows, Pairs
from sklearn_struct.inference.chains.lattice import Lattice
from sklearn_struct.inference.chains.time_major import Steps

__all__ = [
    "absorb",
    "add_by_row",
    "add_marginals",
    "backward",
    "count_norm",
    "exp_table",
    "forward",
    "weigh",
]


@inlined
def exp_table(edge: np.ndarray, e: int, K: int, E: np.ndarray) -> tuple[float, float]:
    """Fill E with the exponentials of edge e; return the maximum and the range of its scores."""
    infinity = edge.dtype.type(np.inf)
    n_pairs = edge.shape[1]
    P = padded(K)
    low = splat(edge.dtype.type(0))
    best = splat(-infinity)
    for k in range(0, n_pairs, LANES):
        best = maximum(load_part(edge, e * n_pairs + k, n_pairs - k, -infinity), best)
    top = largest(best)
    # where all is forbidden: -inf less -inf would be NaN
    shift = splat(top if top > -infinity else edge.dtype.type(0))
    for j in range(K):
        m = e * n_pairs + j * K
        for k in range(0, K, LANES):
            store(E, j * P + k, exp(sub(load_part(edge, m + k, K - k, -infinity), shift)))
            # padding is never the lowest; what is forbidden makes the range infinite, and such a
            # sequence is looked at more closely
            low = minimum(sub(load_part(edge, m + k, K - k, infinity), shift), low)
    return np.float64(top), -np.float64(least(low))


@inlined
def weigh(
    A: np.ndarray, U: np.ndarray, first: int, n: int, P: int, multiply: bool, norms: np.ndarray
) -> None:
    """Multiply n rows of A by those of U (or set them), then divide each by its sum, its norm."""
    several = three(A)
    for row in range(first, first + n):
        if lanes_of(several) == P:  # the product stays in registers
            product = load_as(U, row * P, several)
            if multiply:
                product = mul(load_as(A, row * P, several), product)
            norms[row] = total(product)
            store_as(A, row * P, mul(product, splat_as(A.dtype.type(1) / norms[row], several)))
            continue
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


@inlined
def count_norm(mass: np.ndarray, r: int, norm: float, log_Z: np.ndarray, i: int) -> None:
    """Multiply the mass of sequence i by a norm. Now and then its logarithm goes into log Z, in the
    place of one a token; nan where alpha vanishes.
    """
    product = mass[r] * norm
    if 1e-100 < product < 1e100:
        mass[r] = product
        return
    if product < 1e-290:
        # the product may have lost digits, which its factors have
        log_Z[i] += np.log(mass[r]) + np.log(norm) if norm > 0.0 else np.nan
    else:
        log_Z[i] += np.log(product)
    mass[r] = 1.0


@inlined
def absorb(
    first: np.ndarray, t: int, n_next: int, P: int, U: np.ndarray, B: np.ndarray, norms: np.ndarray
) -> None:
    """Start the rows of B that end at step t with 1, and turn the rows of U at that step into v."""
    for m in range((first[t] + n_next) * P, first[t + 1] * P):
        B[m] = 1
    if t > 0:
        several = three(U)
        for row in range(first[t], first[t + 1]):
            if lanes_of(several) == P:
                inverse = splat_as(U.dtype.type(1) / norms[row], several)
                product = mul(load_as(U, row * P, several), inverse)
                store_as(U, row * P, mul(product, load_as(B, row * P, several)))
                continue
            scale = splat(U.dtype.type(1) / norms[row])
            for m in range(row * P, row * P + P, LANES):
                store(U, m, mul(mul(load(U, m), scale), load(B, m)))


@kernel
def forward(
    edge: np.ndarray,
    edge_offsets: np.ndarray,
    places: Steps,
    work: Lattice,
    K: int,
    log_Z: np.ndarray,
) -> None:
    """Fill A and norms, raise spreads; complete log Z, which is nan where alpha vanishes."""
    first = places.first
    order = places.order
    A = work.A
    E = work.E
    norms = work.norms
    mass = work.mass
    P = padded(K)
    spreads = np.zeros(len(order))
    for t in range(len(first) - 1):
        n = first[t + 1] - first[t]
        for r in range(n if t > 0 else t):
            top, spread = exp_table(edge, edge_offsets[order[r]] + t - 1, K, E)
            rows_times_matrix(A, (first[t - 1] + r) * P, min(n, 1), E, K, P, A, (first[t] + r) * P)
            log_Z[order[r]] += top
            spreads[r] = max(spreads[r], spread)
        weigh(A, work.U, first[t], n, P, t > 0, norms)
        for r in range(n):
            if t == 0:
                mass[r] = 1.0
            count_norm(mass, r, norms[first[t] + r], log_Z, order[r])
    for r in range(len(order)):
        log_Z[order[r]] += np.log(mass[r])
        work.spread[r] += spreads[r]


@kernel
def backward(
    edge: np.ndarray, edge_offsets: np.ndarray, places: Steps, work: Lattice, K: int
) -> None:
    """Fill B, and turn U into v."""
    first = places.first
    order = places.order
    B = work.B
    P = padded(K)
    n_next = first[0]
    for t in range(len(first) - 2, -1, -1):
        for r in range(n_next):
            exp_table(edge, edge_offsets[order[r]] + t, K, work.E)
            store(B, (first[t] + r + 1) * P - LANES, splat(B.dtype.type(0)))  # the padding
            matrix_times_row(work.E, K, P, work.U, (first[t + 1] + r) * P, B, (first[t] + r) * P)
        absorb(first, t, n_next, P, work.U, B, work.norms)
        n_next = first[t + 1] - first[t]


@kernel
def add_marginals(
    potentials: Pairs,
    structure: Links,
    places: Steps,
    weight: np.ndarray,
    work: Lattice,
    out_edge: np.ndarray,
) -> None:
    """Add weighted edge marginals alpha_t(j) E(j, k) v_{t+1}(k), while A is not weighted; also
    where edges share E.
    """
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    edge = potentials.edge
    K = potentials.node.shape[1]
    P = padded(K)
    zero = splat(work.E.dtype.type(0))
    out_step = 0 if out_edge.shape[0] == 1 else 1
    row = np.empty(P, work.E.dtype)
    for r in range(len(places.order)):
        i = places.order[r]
        for t in range(offsets[i + 1] - offsets[i] - 1):
            e = edge_offsets[i] + t
            if edge.shape[0] > 1:
                exp_table(edge, e, K, work.E)
            for j in range(K):
                a = splat(work.A[(places.first[t] + r) * P + j])
                for k in range(0, P, LANES):
                    v = load(work.U, (places.first[t + 1] + r) * P + k)
                    pair = mul(mul(a, v), load(work.E, j * P + k))
                    # a forbidden pair is inf * 0, and nan > 0 is false
                    store(row, k, maximum(pair, zero))
                for k in range(K):
                    out_edge[out_step * e, j * K + k] += weight[i] * row[k]


@kernel
def add_by_row(
    potentials: Pairs,
    structure: Links,
    places: Steps,
    weight: np.ndarray,
    work: Lattice,
    rows: PairRows,
) -> None:
    """Add weighted edge marginals to the rows of the table that edges have, while A is not
    weighted; also where edges share E.
    """
    offsets = structure.offsets
    edge = potentials.edge
    table = rows.table
    K = potentials.node.shape[1]
    n_pairs = table.shape[1]
    P = padded(K)
    zero = splat(work.E.dtype.type(0))
    for r in range(len(places.order)):
        i = places.order[r]
        for t in range(offsets[i + 1] - offsets[i] - 1):
            after = offsets[i] + t + 1
            first = rows.indptr[after]
            last = rows.indptr[after + 1]
            if edge.shape[0] > 1 and first < last:
                exp_table(edge, structure.edge_offsets[i] + t, K, work.E)
            for p in range(first, last):
                share = splat(table.dtype.type(weight[i] * rows.data[p]))
                for j in range(K):
                    a = splat(work.A[(places.first[t] + r) * P + j])
                    m = np.int64(rows.indices[p]) * n_pairs + j * K
                    for k in range(0, K, LANES):
                        v = load(work.U, (places.first[t + 1] + r) * P + k)
                        # a forbidden pair is inf * 0; the maximum of nan and 0 is 0
                        pair = maximum(mul(mul(a, v), load(work.E, j * P + k)), zero)
                        row = load_part(table, m + k, K - k, table.dtype.type(0))
                        store_part(table, m + k, fma(share, cast(pair, table), row), K - k)
