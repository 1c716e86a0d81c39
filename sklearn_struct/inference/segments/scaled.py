"""Sums over segmentations on scaled numbers, not logarithms: several times as quick.

A segment's score is a product over its tokens, made from its last token backwards, so all lengths
cost one product each. Each position divides by the largest product of the segments that are open
there.

A result is trusted only where nothing that matters can have been lost. No window of tokens divides
by less than `FLOOR`, so what underflows before a segment is a share below `FLOOR` of the largest
product. If a sum of what comes before a segment is below that, for example as a label cannot stand
there, a second pass is made in which `FLOOR` stands in its place. That is more than what can have
been lost, so if it does not change log Z, nothing was. Any other sequence is redone in
`logarithms`.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    exp,
    fma,
    largest,
    least,
    load,
    load_part,
    maximum,
    minimum,
    mul,
    padded,
    splat,
    store,
    store_part,
    sub,
)
from sklearn_struct.compiled.small_products import add_outer, rows_times_matrix
from sklearn_struct.inference.segments.scaled_tables import (
    Factors,
    Room,
    are_moderate,
    factors_of,
    room_of,
)
from sklearn_struct.inference.segments.segment_scores import Places, Scores, first_candidate

__all__ = ["marginals"]

FLOOR = 1e-140
SAME = 1e-15  # of two log Z, as a share of these


def marginals(
    scores: Scores, places: Places, weight: np.ndarray, out: Scores, log_Z: np.ndarray
) -> np.ndarray:
    """Add weighted marginals and write log Z; return which sequences are to be done again, of which
    nothing was added.
    """
    again: np.ndarray = weight != 0
    if not are_moderate(scores):
        return again
    factors = factors_of(scores)
    room = room_of(scores, places)
    _add_marginals(scores, factors, places, weight, room, out, log_Z, again)
    _, L, K = scores.length.shape
    P = padded(K)
    if len(scores.edge) == len(out.edge) == 1:
        out.edge[0] += room.pairs.reshape(-1, P)[:K, :K] * factors.edge[0, :, :K]
    out.length[:] += room.lengths.reshape(-1, L, P)[:, :, :K]
    return again


@kernel
def _add_marginals(
    scores: Scores,
    factors: Factors,
    places: Places,
    weight: np.ndarray,
    room: Room,
    out: Scores,
    log_Z: np.ndarray,
    again: np.ndarray,
) -> None:
    """Add marginals of the sequences that can be trusted, and take away their marks in `again`."""
    K = scores.node.shape[1]
    P = padded(K)
    for i in range(len(weight)):
        log_Z[i] = 0.0
        if not again[i]:
            continue
        T = places.offsets[i + 1] - places.offsets[i]
        t0 = places.offsets[i]
        total = _forward(scores.node, factors, places, i, room, FLOOR)
        if room.least[0] < FLOOR:
            most = total
            total = _forward(scores.node, factors, places, i, room, 0.0)
            if not most - total <= SAME * max(abs(total), 1.0):
                continue
        if np.isnan(total):
            continue
        log_Z[i] = total
        again[i] = False
        _backward(factors, places, i, weight[i], room, out)
        for t in range(T):
            for k in range(0, K, LANES):
                o = (t0 + t) * K + k
                row = load_part(out.node, o, K - k, 0.0)
                store_part(out.node, o, add(row, load(room.tokens, t * P + k)), K - k)
        if len(factors.edge) == len(out.edge) == 1:
            for m in range(P, T * P, LANES):
                store(room.after, m, mul(load(room.after, m), splat(weight[i])))
            add_outer(room.A, P, room.after, P, T - 1, (K + 3) // 4 * 4, P, room.pairs)
        else:
            _add_pairs(factors.edge, places.edge_offsets[i], T, weight[i], room, out.edge)


@inlined
def _add_pairs(
    edge: np.ndarray, e0: int, T: int, weight: float, room: Room, out_edge: np.ndarray
) -> None:
    """Add the marginals of pairs of neighbours where a table is not shared."""
    K = out_edge.shape[1]
    P = edge.shape[2]
    step = 0 if len(edge) == 1 else 1
    out_step = 0 if len(out_edge) == 1 else 1
    for s in range(1, T):
        e = e0 + s - 1
        for j in range(K):
            before = weight * room.A[s * P + j]
            for k in range(K):
                pair = before * edge[step * e, j, k] * room.after[s * P + k]
                out_edge[out_step * e, j, k] += pair


@kernel
def _forward(
    node: np.ndarray, factors: Factors, places: Places, i: int, room: Room, floor: float
) -> float:
    """Fill the rows of sequence i up to `begun`, none of which is below a floor; return its log Z,
    nan where it is not trusted.
    """
    U = room.U
    A = room.A
    norms = room.norms
    K = node.shape[1]
    _, L, P = factors.length.shape
    T = places.offsets[i + 1] - places.offsets[i]
    e0 = places.edge_offsets[i]
    step = 0 if len(factors.edge) == 1 else 1
    log_Z: float = _exponentials(node, places.offsets[i], T, U)
    mass = 1.0
    room.least[0] = np.inf
    for k in range(P):
        room.begun[k] = 1.0 if k < K else 0.0
    for e in range(1, T + 1):
        if e > 1:
            table = factors.edge[step * (e0 + e - 2)]
            rows_times_matrix(A, (e - 1) * P, 1, table, K, P, room.begun, (e - 1) * P)
        _multiply(room.begun, e - 1, factors.first, places.offsets[i] + e - 1, P)
        low = splat(np.inf)
        for k in range(0, P, LANES):
            m = (e - 1) * P + k
            low = minimum(load_part(room.begun, m, K - k, np.inf), low)
            store(room.begun, m, maximum(load(room.begun, m), splat(floor)))
        room.least[0] = min(room.least[0], least(low))
        c = places.whole_offsets[i] + first_candidate(e - 1, L)
        norm = _close(factors, room, e, c, len(factors.length) - 1 if e == T else 0)
        _multiply(A, e, factors.last, places.offsets[i] + e - 1, P)
        if not 0.0 < norm < np.inf:
            return np.nan
        norms[e - 1] = norm
        inverse = splat(1.0 / norm)
        for k in range(0, P, LANES):
            m = e * P + k
            store(A, m, mul(load(A, m), inverse))
            store(U, m - P, mul(load(U, m - P), inverse))
        window = 1.0
        for n in range(min(L, e)):
            window *= min(norms[e - 1 - n], 1.0)
        if not window >= FLOOR:
            return np.nan
        mass *= norm
        if not 1e-100 < mass < 1e100:  # a logarithm now and then instead of one a token
            log_Z += np.log(mass)
            mass = 1.0
    total = 1.0
    if T > 0:
        total = 0.0
        for k in range(K):
            total += A[T * P + k]
    if not total >= FLOOR:
        return np.nan
    log_Z += np.log(mass) + np.log(total)
    return log_Z


@inlined
def _multiply(rows: np.ndarray, r: int, table: np.ndarray, t: int, P: int) -> None:
    """Multiply row r by that of a token, if tokens have one."""
    if len(table) > 0:
        for k in range(0, P, LANES):
            store(rows, r * P + k, mul(load(rows, r * P + k), load(table, t * P + k)))


@inlined
def _exponentials(node: np.ndarray, t0: int, T: int, U: np.ndarray) -> float:
    """Fill U; return the sum of the maxima that were taken out."""
    K = node.shape[1]
    P = padded(K)
    taken = 0.0
    for t in range(T):
        best = splat(-np.inf)
        for k in range(0, K, LANES):
            best = maximum(load_part(node, (t0 + t) * K + k, K - k, -np.inf), best)
        top = largest(best)
        taken += top
        # a token without an allowed label: exp(-inf + inf) would be nan
        shift = splat(top if top > -np.inf else 0.0)
        for k in range(0, K, LANES):
            row = load_part(node, (t0 + t) * K + k, K - k, -np.inf)
            store(U, t * P + k, exp(sub(row, shift)))
    return taken


@inlined
def _close(factors: Factors, room: Room, e: int, c: int, r: int) -> float:
    """Write the sums of what ends before token e, with lengths of table r; return the largest
    product that is open there.

    Token e - 1 is not divided yet.
    """
    U = room.U
    begun = room.begun
    _, L, P = factors.length.shape
    length = factors.length
    longer = factors.open
    whole = factors.whole
    has_whole = len(whole) > 0
    top = splat(0.0)
    for k in range(0, P, LANES):
        tokens = load(U, (e - 1) * P + k)
        total = splat(0.0)
        for n in range(min(L, e)):
            s = e - 1 - n
            if n > 0:
                tokens = mul(tokens, load(U, s * P + k))
            term = mul(tokens, load(begun, s * P + k))
            top = maximum(mul(term, load(longer, n * P + k)), top)
            if has_whole:
                term = mul(term, load(whole, (c + n) * P + k))
            total = fma(term, load(length, (r * L + n) * P + k), total)
        store(room.A, e * P + k, total)
    return largest(top)


@kernel
def _backward(
    factors: Factors, places: Places, i: int, weight: float, room: Room, out: Scores
) -> None:
    """Fill the other rows of sequence i, and add the marginals of all but pairs and tokens."""
    _, K, P = factors.edge.shape
    T = places.offsets[i + 1] - places.offsets[i]
    step = 0 if len(factors.edge) == 1 else 1
    total = 0.0
    for k in range(K if T > 0 else 0):
        total += room.A[T * P + k]
    for k in range(P):
        room.B[T * P + k] = 1.0 / total if k < K and T > 0 else 0.0
    for m in range(T * P):
        room.tokens[m] = 0.0
    t0 = places.offsets[i]
    for s in range(T - 1, -1, -1):
        if len(factors.last) > 0:
            _add_product(room.A, room.B, s + 1, weight, out.last, t0 + s)
        _multiply(room.B, s + 1, factors.last, t0 + s, P)
        _open(factors, room, s, T, places.whole_offsets[i], weight, out.whole)
        if len(factors.first) > 0:
            _add_product(room.begun, room.after, s, weight, out.first, t0 + s)
        _multiply(room.after, s, factors.first, t0 + s, P)
        if s > 0:
            table = factors.turned[step * (places.edge_offsets[i] + s - 1)]
            rows_times_matrix(room.after, s * P, 1, table, K, P, room.B, s * P)


@kernel
def _add_product(
    a: np.ndarray, b: np.ndarray, r: int, weight: float, out: np.ndarray, t: int
) -> None:
    """Add the weighted product of two rows to that of a token."""
    K = out.shape[1]
    P = padded(K)
    for k in range(K):
        out[t, k] += weight * a[r * P + k] * b[r * P + k]


@inlined
def _open(
    factors: Factors,
    room: Room,
    s: int,
    T: int,
    c0: int,
    weight: float,
    out_whole: np.ndarray,
) -> None:
    """Write the sum of what begins with token s, and add the marginals of its segments."""
    U = room.U
    B = room.B
    terms = room.terms
    K = factors.edge.shape[1]
    _, L, P = factors.length.shape
    whole = factors.whole
    has_whole = len(whole) > 0
    n_lengths = min(L, T - s)
    # lengths of segments that end with the sequence are in the last table
    n_last = T - s - 1
    ending = (len(factors.length) - 1) * L
    for k in range(0, P, LANES):
        tokens = splat(1.0)
        total = splat(0.0)
        for n in range(n_lengths):
            tokens = mul(tokens, load(U, (s + n) * P + k))
            row = n + ending if n == n_last else n
            term = mul(mul(tokens, load(factors.length, row * P + k)), load(B, (s + n + 1) * P + k))
            if has_whole:
                c = c0 + first_candidate(s + n, L) + n
                term = mul(term, load(whole, c * P + k))
            store(terms, n * P + k, term)
            total = add(term, total)
        store(room.after, s * P + k, total)
        before = mul(load(room.begun, s * P + k), splat(weight))
        longer = splat(0.0)
        for n in range(n_lengths - 1, -1, -1):
            p = mul(before, load(terms, n * P + k))
            # a token is in all segments that end behind it
            longer = add(longer, p)
            m = (s + n) * P + k
            store(room.tokens, m, add(load(room.tokens, m), longer))
            o = (n + ending if n == n_last else n) * P + k
            store(room.lengths, o, add(load(room.lengths, o), p))
            if has_whole:
                o = (c0 + first_candidate(s + n, L) + n) * K + k
                row = load_part(out_whole, o, K - k, 0.0)
                store_part(out_whole, o, add(row, p), K - k)
