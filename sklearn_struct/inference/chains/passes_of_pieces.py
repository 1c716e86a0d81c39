"""The ways forward and back through eight pieces of tokens, a lane of a vector through each.

Alphas are kept of one span of steps, which is all of them if there are many more tokens. Of the
other spans the way back computes them again, from what came before: so the room is small beside the
scores of tokens.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, uncounted
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    add,
    div,
    fma,
    keep,
    load,
    mul,
    splat,
    store,
)
from sklearn_struct.inference.chains.floored_numbers import floored
from sklearn_struct.inference.chains.pieces import (
    ALL,
    STRETCH,
    Pieces,
    even,
    fill,
    is_due,
    move,
)

__all__ = ["go_back", "go_forward"]


@uncounted
def go_forward(
    node: np.ndarray,
    offsets: np.ndarray,
    starts: np.ndarray,
    p: int,
    pieces: Pieces,
    example: np.ndarray,
    logs: np.ndarray,
    scales: np.ndarray,
    log_Z: np.ndarray,
) -> None:
    """Mark what comes to each span, from the first one on, and leave the alphas of the last one;
    add what was taken out to log Z of its sequence.
    """
    S = len(pieces.begins)
    size = len(pieces.row) * LANES
    span = len(pieces.is_scaled)
    for first in range(0, S, span):
        n = min(span, S - first)
        _find_alphas(node, starts, p, first, n, pieces)
        _count_scales(offsets, starts, p, first, n, pieces, example, logs, scales, log_Z)
        after = (first // span + 1) * size
        for m in range(0, size if first + n < S else 0, LANES):
            store(pieces.marks, after + m, load(pieces.A, n * size + m))


@uncounted
def _find_alphas(
    node: np.ndarray, starts: np.ndarray, p: int, first: int, n: int, pieces: Pieces
) -> None:
    """Alphas and scales of a span of n steps, from what comes to it."""
    S = len(pieces.begins)
    K = len(pieces.row)
    A = pieces.A
    row = pieces.row
    size = K * LANES
    fill(node, starts, p, first, first + n, pieces)
    for m in range(0, size, LANES):
        store(A, m, load(pieces.marks, first // len(pieces.is_scaled) * size + m))
    for i in range(n):
        s = first + i
        o = (i + 1) * size
        move(A, i * size, pieces.E, K, pieces.begins[s], row)
        norm = splat(0.0)
        for m in range(0, size, LANES):
            x = load(row, m)
            u = load(pieces.U, i * size + m)
            a = floored(x, u, mul(x, u))
            store(A, o + m, a)
            norm = add(norm, a)
        scale = splat(1.0)
        ends = ALL if s == S - 1 else pieces.begins[s + 1]
        # the alphas before a reset sum to 1, so that a sequence has only its own scales
        is_scaled = ends > 0 or is_due(norm, s)
        if is_scaled:
            scale = div(scale, norm)
            for m in range(o, o + size, LANES):
                store(A, m, mul(load(A, m), scale))
        store(pieces.scale, i * LANES, scale)
        pieces.is_scaled[i] = is_scaled


@inlined
def _count_scales(
    offsets: np.ndarray,
    starts: np.ndarray,
    p: int,
    first: int,
    n: int,
    pieces: Pieces,
    example: np.ndarray,
    logs: np.ndarray,
    scales: np.ndarray,
    log_Z: np.ndarray,
) -> None:
    """Add what was taken out in a span to `logs`, and at the end of a sequence to its log Z."""
    S = len(pieces.begins)
    for i in range(n):
        s = first + i
        store(logs, 0, add(load(logs, 0), load(pieces.tops, i * LANES)))
        if pieces.is_scaled[i]:
            store(scales, 0, load(pieces.scale, i * LANES))
            for r in range(LANES):
                logs[r] -= np.log(scales[r])
        ends = ALL if s == S - 1 else pieces.begins[s + 1]
        for r in range(LANES if ends else 0):
            t = starts[p + r] + s
            if ends >> r & 1 and t < starts[p + r + 1]:
                log_Z[example[r]] += logs[r]
                logs[r] = 0.0
                # empty sequences have the same bounds as the one after them
                while example[r] < len(log_Z) and offsets[example[r] + 1] <= t + 1:
                    example[r] += 1


@uncounted
def go_back(
    node: np.ndarray,
    offsets: np.ndarray,
    starts: np.ndarray,
    p: int,
    weight: np.ndarray,
    pieces: Pieces,
    example: np.ndarray,
    share: np.ndarray,
    bounds: np.ndarray,
) -> None:
    """Write marginals of labels, add those of pairs up; `example` and `share` are the sequences of
    the last tokens of pieces, and their weights. Write `bounds` of all betas of each piece.
    """
    S = len(pieces.begins)
    _scale_last(pieces)
    betas = splat(0.0)
    span = len(pieces.is_scaled)
    last = (S - 1) // span * span
    for first in range(last, -1, -span):
        n = min(span, S - first)
        if first < last:
            _find_alphas(node, starts, p, first, n, pieces)
        for s in range(first + n - 1, first - 1, -1):
            _weigh_nodes(pieces, s - first, s % STRETCH, share)
            betas = add(betas, _scaled_betas(pieces, s - first))
            if s > 0:
                _back(pieces, s, s - first, share)
            if s % STRETCH == 0:
                end = min(s + STRETCH, first + n)
                _write_nodes(pieces, starts, p, s, end, node)
                # the first token of a piece is in the pair that joins it
                _add_pairs(pieces, max(s, 1) - first, end - first)
            begins = pieces.begins[s]
            for r in range(LANES if begins and s > 0 else 0):
                t = starts[p + r] + s
                # steps behind the last token do not count
                if begins >> r & 1 and t <= starts[p + r + 1]:
                    # empty sequences have the same bounds as the one after them
                    while offsets[example[r]] >= t:
                        example[r] -= 1
                    share[r] = weight[example[r]]
    store(bounds, 0, betas)


@inlined
def _scale_last(pieces: Pieces) -> None:
    """Scale the betas of the last steps, so that alpha times beta sums to 1."""
    K = len(pieces.row)
    beta = pieces.beta
    last = ((len(pieces.begins) - 1) % len(pieces.is_scaled) + 1) * K * LANES
    mass = splat(0.0)
    for m in range(0, K * LANES, LANES):
        mass = fma(load(pieces.A, last + m), load(beta, m), mass)
    for m in range(0, K * LANES, LANES):
        store(beta, m, div(load(beta, m), mass))


@inlined
def _scaled_betas(pieces: Pieces, i: int) -> Vector:
    """The sum of the betas of step i of the span, times its scale."""
    K = len(pieces.row)
    mass = splat(0.0)
    for m in range(0, K * LANES, LANES):
        mass = add(mass, load(pieces.beta, m))
    return mul(mass, load(pieces.scale, i * LANES))


@inlined
def _weigh_nodes(pieces: Pieces, i: int, o: int, share: np.ndarray) -> None:
    """Weighted marginals of step i of the span, as number o of those that are written at once."""
    size = len(pieces.row) * LANES
    w = load(share, 0)
    for m in range(0, size, LANES):
        a = load(pieces.A, (i + 1) * size + m)
        store(pieces.nodes, o * size + m, mul(mul(a, load(pieces.beta, m)), w))


@inlined
def _write_nodes(
    pieces: Pieces, starts: np.ndarray, p: int, first: int, end: int, out: np.ndarray
) -> None:
    """The marginals of some steps. No other piece reads their scores any more."""
    K = out.shape[1]
    for r in range(LANES):
        start = starts[p + r] + first
        for i in range(max(min(end - first, starts[p + r + 1] - start), 0)):
            for k in range(K):
                out[start + i, k] = pieces.nodes[i * K + k, r]


@inlined
def _back(pieces: Pieces, s: int, i: int, share: np.ndarray) -> None:
    """Betas of the step before s, which is step i of the span, from those of s, in their place; U
    becomes the weighted v.
    """
    K = len(pieces.row)
    E = pieces.E
    beta = pieces.beta
    row = pieces.row
    begins = pieces.begins[s]
    here = i * K * LANES
    scale = load(pieces.scale, i * LANES)
    w = keep(load(share, 0), ALL - begins)
    mass = splat(0.0)
    for m in range(0, K * LANES, LANES):
        u = load(pieces.U, here + m)
        b = load(beta, m)
        v = floored(b, u, mul(mul(u, b), scale))
        store(row, m, v)
        store(pieces.U, here + m, mul(v, w))
        mass = add(mass, v)
    mass = keep(mass, begins)
    for j in range(K):
        b = splat(0.0)
        for k in range(K):
            b = fma(load(row, k * LANES), splat(E[j * K + k]), b)
        if begins:
            b = add(keep(b, ALL - begins), mass)
        store(beta, j * LANES, b)


@inlined
def _add_pairs(pieces: Pieces, first: int, last: int) -> None:
    """Sums over pairs of which the second is in one of some steps of the span."""
    K = len(pieces.row)
    A = pieces.A
    V = pieces.U
    pairs = pieces.pairs
    step = K * LANES
    below = even(K) * LANES
    # of an odd number of labels, the row behind the last one goes into sums that nobody reads
    for j in range(0, K, 2):
        for k in range(0, K, 2):
            o = j * below + k * LANES
            w = load(pairs, o)
            x = load(pairs, o + LANES)
            y = load(pairs, o + below)
            z = load(pairs, o + below + LANES)
            for s in range(first, last):
                m = s * step + j * LANES
                v = s * step + k * LANES
                a = load(A, m)
                b = load(A, m + LANES)
                c = load(V, v)
                d = load(V, v + LANES)
                w = fma(a, c, w)
                x = fma(a, d, x)
                y = fma(b, c, y)
                z = fma(b, d, z)
            store(pairs, o, w)
            store(pairs, o + LANES, x)
            store(pairs, o + below, y)
            store(pairs, o + below + LANES, z)
