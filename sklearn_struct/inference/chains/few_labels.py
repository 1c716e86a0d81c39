"""Forward-backward for few labels and many tokens, in eight pieces side by side.

The tokens of all sequences, one after the other, are cut into eight pieces of the same length,
wherever the cuts fall, and a lane of a vector goes through a piece. So lanes are busy whether there
is one long sequence or there are many short ones. What a piece does to any alpha before it is a
matrix: the product of its steps, K times the work of alpha itself. The eight matrices tell where
each piece begins and ends; then alphas, betas and marginals are computed in all pieces at once.

A sequence begins with a reset: a step after which alpha is that of the first token, whatever was
before. Then all tokens are one chain, whose Z is the product of those of the sequences.

Numbers are scaled at each token. That loses nothing where no pair of labels is forbidden and scores
of pairs are not far apart: betas of a token then have ratios of at most exp(spread), so that an
alpha that underflows would have had no say later. Anything else is left to `first_order`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel, uncounted
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    div,
    exp,
    fma,
    keep,
    load,
    maximum,
    mul,
    splat,
    store,
    sub,
    total,
    workspace,
)
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs

__all__ = ["marginals"]

MOST_LABELS = 5  # with more, products of matrices cost more than idle lanes
FEWEST_TOKENS = 1024  # with fewer, what pieces begin with costs more than it saves
SPREAD = 300.0  # of scores of pairs, with which nothing is lost; exp(2 * 300) is a number
MOST_STEPS = 16  # between two scalings
LEAST = -1e300  # stands for a maximum where there is none
ALL = 255  # the bits of eight lanes


class Pieces(NamedTuple):
    """Room for eight pieces of S steps each; the last dimension of tables is that of lanes."""

    begins: np.ndarray  # (S,) the bits of the lanes in which a sequence begins
    E: np.ndarray  # (K * K,) exp(score of a pair - what was taken out)
    U: np.ndarray  # (S, K, 8) exp(node - its maximum)
    A: np.ndarray  # (S, K, 8) alpha_t(k) = u_t(k) sum_j alpha_{t-1}(j) E(j, k) scale_t, of sum 1
    scale: np.ndarray  # (S, 8)
    M: np.ndarray  # (K * K, 8) the products of steps
    pairs: np.ndarray  # (K * K, 8) weighted sums of alpha_t(j) v_{t+1}(k)
    row: np.ndarray  # (K, 8)
    beta: np.ndarray  # (K, 8)


def marginals(
    potentials: Pairs, structure: Links, weight: np.ndarray, out: Pairs, log_Z: np.ndarray
) -> bool:
    """As `first_order.marginals`; or return False, and leave marginals as they were, where that is
    quicker or this might lose something.
    """
    node, edge = potentials
    n, K = node.shape
    if K > MOST_LABELS or n < FEWEST_TOKENS or node.dtype != np.float64:
        return False
    if len(edge) > 1 or len(out.edge) > 1:
        return False
    S = -(-n // LANES)
    n_pairs = edge.shape[1]
    # one piece of memory: allocations cost as much as sums
    room = workspace((2 * S * K + S + 2 * n_pairs + 2 * K, LANES), np.float64)
    U, A, scale, M, pairs, row, beta = _cut(room, [S * K, S * K, S, n_pairs, n_pairs, K, K])
    begins = np.zeros(S, np.uint8)
    pieces = Pieces(begins, np.empty(n_pairs), U, A, scale, M, pairs, row, beta)
    return _marginals(node, edge, structure.offsets, weight, pieces, out.node, out.edge, log_Z)


def _cut(room: np.ndarray, sizes: list[int]) -> list[np.ndarray]:
    """Rows of `room`, as many as the sizes say; np.split takes ten times as long."""
    parts = []
    first = 0
    for size in sizes:
        parts.append(room[first : first + size])
        first += size
    return parts


@kernel
def _marginals(
    node: np.ndarray,
    edge: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    pieces: Pieces,
    out_node: np.ndarray,
    out_edge: np.ndarray,
    log_Z: np.ndarray,
) -> bool:
    S = len(pieces.begins)
    K = len(pieces.row)
    # so that no sum of alphas grows
    top = edge.max() + np.log(K)
    # a step divides the sum of alphas by exp(spread) at most
    spread = top - edge.min()
    if not spread < SPREAD or np.any(weight == 0):
        return False
    for m in range(len(pieces.E)):
        pieces.E[m] = np.exp(edge[0, m] - top)
    for i in range(len(offsets) - 1):
        log_Z[i] = top * max(offsets[i + 1] - offsets[i] - 1, 0)
        if offsets[i] < offsets[i + 1]:
            pieces.begins[offsets[i] % S] |= 1 << (offsets[i] // S)
    # behind the last token follow steps of scores 0, which nobody reads
    for t in range(len(node), LANES * S):
        pieces.begins[t % S] |= 1 << (t // S)
    example = np.empty(LANES, np.int64)
    for r in range(LANES):
        example[r] = np.searchsorted(offsets, r * S, side="right") - 1
    every = max(1, int(min(MOST_STEPS, SPREAD // (spread + 1e-9))))
    logs = np.zeros(LANES)
    norms = np.empty(LANES)
    _gather(node, pieces)
    _products(pieces, every)
    _joints(pieces)
    _forward(offsets, pieces, every, example, logs, norms, log_Z)
    # an impossible token, or NaN, is in all sums from there on
    if not np.all(np.isfinite(log_Z)):
        return False
    for r in range(LANES):
        last = min((r + 1) * S, len(node)) - 1
        example[r] = np.searchsorted(offsets, last, side="right") - 1
        logs[r] = weight[example[r]]
    _backward(offsets, weight, pieces, example, logs, out_node)
    for m in range(len(pieces.E)):
        out_edge[0, m] += total(load(pieces.pairs, m * LANES)) * pieces.E[m]
    return True


@uncounted
def _gather(node: np.ndarray, pieces: Pieces) -> None:
    """Scores into U."""
    n, K = node.shape
    S = len(pieces.begins)
    U = pieces.U
    for s in range(S):
        for r in range(LANES):
            t = r * S + s
            for k in range(K):
                U[s * K + k, r] = node[t, k] if t < n else 0.0


@uncounted
def _products(pieces: Pieces, every: int) -> None:
    """Fill M; scores in U become exponentials, and their maxima stand in the place of scales."""
    S = len(pieces.begins)
    K = len(pieces.row)
    U = pieces.U
    E = pieces.E
    M = pieces.M
    row = pieces.row
    M[:] = 0.0
    for k in range(K):
        M[k * K + k] = 1.0
    for s in range(S):
        o = s * K * LANES
        top = splat(LEAST)
        for m in range(o, o + K * LANES, LANES):
            top = maximum(load(U, m), top)
        store(pieces.scale, s * LANES, top)
        for m in range(o, o + K * LANES, LANES):
            store(U, m, exp(sub(load(U, m), top)))
        mass = splat(0.0)
        for i in range(K):
            p = i * K * LANES
            _move(M, p, E, K, pieces.begins[s], row)
            for m in range(0, K * LANES, LANES):
                x = mul(load(row, m), load(U, o + m))
                store(M, p + m, x)
                mass = add(mass, x)
        if s % every == 0:
            scale = div(splat(1.0), mass)
            for m in range(0, len(pieces.E) * LANES, LANES):
                store(M, m, mul(load(M, m), scale))


@inlined
def _move(A: np.ndarray, a: int, E: np.ndarray, K: int, begins: int, row: np.ndarray) -> None:
    """A step from the vectors at `a`, to the sum of these where a sequence begins."""
    for k in range(K):
        x = splat(0.0)
        for j in range(K):
            x = fma(load(A, a + j * LANES), splat(E[j * K + k]), x)
        store(row, k * LANES, x)
    if begins:
        mass = splat(0.0)
        for j in range(K):
            mass = add(mass, load(A, a + j * LANES))
        mass = keep(mass, begins)
        for m in range(0, K * LANES, LANES):
            store(row, m, add(keep(load(row, m), ALL - begins), mass))


@uncounted
def _joints(pieces: Pieces) -> None:
    """The alphas before the first steps, in the place of the last alphas; the betas of the last
    steps.
    """
    S = len(pieces.begins)
    K = len(pieces.row)
    M = pieces.M
    beta = pieces.beta
    before = pieces.A[(S - 1) * K :]
    for k in range(K):
        before[k, 0] = 1.0 / K
        beta[k, LANES - 1] = 1.0
    for r in range(LANES - 1):
        mass = 0.0
        for k in range(K):
            x = 0.0
            for j in range(K):
                x += before[j, r] * M[j * K + k, r]
            before[k, r + 1] = x
            mass += x
        for k in range(K):
            before[k, r + 1] /= mass
    for r in range(LANES - 2, -1, -1):
        mass = 0.0
        for j in range(K):
            x = 0.0
            for k in range(K):
                x += M[j * K + k, r + 1] * beta[k, r + 1]
            beta[j, r] = x
            mass += x
        for k in range(K):
            beta[k, r] /= mass


@uncounted
def _forward(
    offsets: np.ndarray,
    pieces: Pieces,
    every: int,
    example: np.ndarray,
    logs: np.ndarray,
    norms: np.ndarray,
    log_Z: np.ndarray,
) -> None:
    """Fill A and the scales; add what was taken out to log Z of its sequence."""
    S = len(pieces.begins)
    K = len(pieces.row)
    A = pieces.A
    row = pieces.row
    before = (S - 1) * K * LANES
    for s in range(S):
        o = s * K * LANES
        _move(A, before, pieces.E, K, pieces.begins[s], row)
        norm = splat(0.0)
        for m in range(0, K * LANES, LANES):
            x = mul(load(row, m), load(pieces.U, o + m))
            store(A, o + m, x)
            norm = add(norm, x)
        store(logs, 0, add(load(logs, 0), load(pieces.scale, s * LANES)))
        scale = splat(1.0)
        ends = ALL if s == S - 1 else pieces.begins[s + 1]
        # the alphas before a reset sum to 1, so that a sequence has only its own scales
        if ends or s % every == 0:
            scale = div(scale, norm)
            for m in range(o, o + K * LANES, LANES):
                store(A, m, mul(load(A, m), scale))
            store(norms, 0, norm)
            for r in range(LANES):
                logs[r] += np.log(norms[r])
        store(pieces.scale, s * LANES, scale)
        before = o
        for r in range(LANES if ends else 0):
            if ends >> r & 1 and r * S + s < offsets[-1]:
                log_Z[example[r]] += logs[r]
                logs[r] = 0.0
                # empty sequences have the same bounds as the one after them
                while example[r] < len(log_Z) and offsets[example[r] + 1] <= r * S + s + 1:
                    example[r] += 1


@uncounted
def _backward(
    offsets: np.ndarray,
    weight: np.ndarray,
    pieces: Pieces,
    example: np.ndarray,
    share: np.ndarray,
    out_node: np.ndarray,
) -> None:
    """Add marginals of labels, fill the sums of pairs; `example` and `share` are the sequences of
    the last tokens of pieces, and their weights.
    """
    S = len(pieces.begins)
    _scale_last(pieces)
    pieces.pairs[:] = 0.0
    for s in range(S - 1, -1, -1):
        _add_nodes(pieces, s, share, out_node)
        if s > 0:
            _back(pieces, s, share)
            begins = pieces.begins[s]
            for r in range(LANES if begins else 0):
                t = r * S + s
                if begins >> r & 1 and t < offsets[-1]:
                    # empty sequences have the same bounds as the one after them
                    while offsets[example[r]] >= t:
                        example[r] -= 1
                    share[r] = weight[example[r]]
    _add_joints(pieces, share)


@inlined
def _scale_last(pieces: Pieces) -> None:
    """Scale the betas of the last steps, so that alpha times beta sums to 1."""
    K = len(pieces.row)
    beta = pieces.beta
    last = (len(pieces.begins) - 1) * K * LANES
    mass = splat(0.0)
    for m in range(0, K * LANES, LANES):
        mass = fma(load(pieces.A, last + m), load(beta, m), mass)
    for m in range(0, K * LANES, LANES):
        store(beta, m, div(load(beta, m), mass))


@inlined
def _add_nodes(pieces: Pieces, s: int, share: np.ndarray, out: np.ndarray) -> None:
    """Weighted marginals of a step."""
    n, K = out.shape
    S = len(pieces.begins)
    row = pieces.row
    w = load(share, 0)
    for m in range(0, K * LANES, LANES):
        a = load(pieces.A, s * K * LANES + m)
        store(row, m, mul(mul(a, load(pieces.beta, m)), w))
    for r in range(LANES):
        t = r * S + s
        for k in range(K if t < n else 0):
            out[t, k] += row[k, r]


@inlined
def _back(pieces: Pieces, s: int, share: np.ndarray) -> None:
    """Betas of the step before s from those of s, in their place; sums over pairs."""
    K = len(pieces.row)
    E = pieces.E
    beta = pieces.beta
    row = pieces.row
    pairs = pieces.pairs
    begins = pieces.begins[s]
    here = s * K * LANES
    before = here - K * LANES
    scale = load(pieces.scale, s * LANES)
    w = keep(load(share, 0), ALL - begins)
    mass = splat(0.0)
    for m in range(0, K * LANES, LANES):
        v = mul(mul(load(pieces.U, here + m), load(beta, m)), scale)
        store(row, m, v)
        mass = add(mass, v)
    mass = keep(mass, begins)
    for j in range(K):
        a = mul(load(pieces.A, before + j * LANES), w)
        b = splat(0.0)
        for k in range(K):
            v = load(row, k * LANES)
            b = fma(v, splat(E[j * K + k]), b)
            m = (j * K + k) * LANES
            store(pairs, m, fma(a, v, load(pairs, m)))
        if begins:
            b = add(keep(b, ALL - begins), mass)
        store(beta, j * LANES, b)


@inlined
def _add_joints(pieces: Pieces, share: np.ndarray) -> None:
    """The pairs of the last token of a piece and the first one of the next."""
    S = len(pieces.begins)
    K = len(pieces.row)
    last = pieces.A[(S - 1) * K :]
    for r in range(1, LANES):
        if pieces.begins[0] >> r & 1:
            continue
        for k in range(K):
            v = pieces.U[k, r] * pieces.beta[k, r] * pieces.scale[0, r] * share[r]
            for j in range(K):
                pieces.pairs[j * K + k, 0] += last[j, r - 1] * v
