"""Scores and marginals of labels, between the order of tokens and that of steps (`time_major`)."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    cast,
    exp,
    fma,
    lanes_of,
    largest,
    least,
    load_as,
    load_part,
    load_part_as,
    maximum,
    minimum,
    mul,
    padded,
    splat,
    splat_as,
    store,
    store_as,
    store_part_as,
    sub,
    three,
)

__all__ = ["add_nodes", "exp_nodes"]


@inlined
def exp_nodes(
    node: np.ndarray,
    offsets: np.ndarray,
    first: np.ndarray,
    order: np.ndarray,
    ranges: bool,
    U: np.ndarray,
    spread: np.ndarray,
    log_Z: np.ndarray,
) -> None:
    """Fill U; write the spreads, 0 unless `ranges` are wanted, and to log Z the maxima that were
    taken out.
    """
    K = node.shape[1]
    infinity = node.dtype.type(np.inf)
    several = splat_as(-infinity, three(node))
    P = padded(K)
    for r in range(len(order)):
        i = order[r]
        low = splat(node.dtype.type(0))
        for t in range(offsets[i + 1] - offsets[i]):
            m = (offsets[i] + t) * K
            o = (first[t] + r) * P
            if lanes_of(several) == P:  # each number is read once
                row = load_part_as(node, m, K, several)
                top = largest(row)
                shift = _shift(node, top)
                store_as(U, o, exp(sub(row, splat_as(shift, several))))
            else:
                best = splat(-infinity)
                for k in range(0, K, LANES):
                    best = maximum(load_part(node, m + k, K - k, -infinity), best)
                top = largest(best)
                shift = _shift(node, top)
                for k in range(0, K, LANES):
                    part = load_part(node, m + k, K - k, -infinity)
                    store(U, o + k, exp(sub(part, splat(shift))))
            log_Z[i] += top
            for k in range(0, K if ranges else 0, LANES):
                low = minimum(sub(load_part(node, m + k, K - k, infinity), splat(shift)), low)
        spread[r] = -least(low)


@inlined
def _shift(node: np.ndarray, top: float) -> float:
    """The largest score of a token; 0 where it has no allowed label: exp(-inf - 0) is 0, and
    exp(-inf + inf) would be nan.
    """
    return top if top > -np.inf else node.dtype.type(0)


@inlined
def add_nodes(
    offsets: np.ndarray,
    first: np.ndarray,
    order: np.ndarray,
    weight: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    out_node: np.ndarray,
) -> None:
    """Add weighted node marginals; A is weighted from here on."""
    K = out_node.shape[1]
    P = padded(K)
    several = three(out_node)
    zero = splat(out_node.dtype.type(0))
    rest = P - P % lanes_of(several)
    for r in range(len(order)):
        i = order[r]
        w = out_node.dtype.type(weight[i])
        o = offsets[i] * K
        n = offsets[i + 1] - offsets[i]
        for k in range(0, rest, lanes_of(several)):
            _add_columns(several, first, r, n, w, A, B, P, k, out_node, o, K)
        for k in range(rest, P, LANES):
            _add_columns(zero, first, r, n, w, A, B, P, k, out_node, o, K)


@inlined
def _add_columns(
    zero: Vector,
    first: np.ndarray,
    r: int,
    n: int,
    weight: float,
    A: np.ndarray,
    B: np.ndarray,
    P: int,
    k: int,
    out_node: np.ndarray,
    o: int,
    K: int,
) -> None:
    """The same of the n tokens of a sequence, from number k of their rows on."""
    w = splat_as(weight, zero)
    # a row is read before the one in front of it is written: a part of a vector is written as if it
    # were whole, and who reads what lies behind it would have to wait
    following = load_part_as(out_node, o + k, K - k, zero)
    for t in range(n):
        row = following
        if t + 1 < n:
            following = load_part_as(out_node, o + (t + 1) * K + k, K - k, zero)
        m = (first[t] + r) * P + k
        # alphas are weighted here once, and the edges' sums read them so
        a = mul(load_as(A, m, zero), w)
        store_as(A, m, cast(a, A))
        row = fma(a, load_as(B, m, zero), row)
        store_part_as(out_node, o + t * K + k, row, K - k)
