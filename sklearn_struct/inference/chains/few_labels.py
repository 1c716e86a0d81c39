"""Forward-backward for few labels and many tokens, in pieces of tokens, eight side by side.

The tokens of all sequences, one after the other, are cut into pieces of the same length, wherever
the cuts fall, and a lane of a vector goes through a piece. So lanes are busy whether there is one
long sequence or there are many short ones, and pieces are so short that they stay in the cache.
First it is found with which alpha each piece begins and with which beta it ends
(`joints_of_pieces`); then pieces are independent of each other.

A sequence begins with a reset: a step after which alpha is that of the first token, whatever was
before. Then all tokens are one chain, whose Z is the product of those of the sequences.

Numbers are scaled now and then. That loses nothing where no pair of labels is forbidden and scores
of pairs are not far apart: betas of a token then have ratios of at most exp(spread), so that an
alpha that underflows would have had no say later. Anything else is left to `first_order`.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel, uncounted
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    div,
    fma,
    keep,
    load,
    mul,
    splat,
    store,
    total,
)
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs
from sklearn_struct.inference.chains.joints_of_pieces import Joints, join, joints_of
from sklearn_struct.inference.chains.pieces import (
    ALL,
    Pieces,
    even,
    fill,
    find_begins,
    move,
    pieces_of,
)
from sklearn_struct.inference.chains.scaled_numbers import are_possible

__all__ = ["expectations"]

MOST_LABELS = 12  # with more, lanes gain too little
FEWEST_TOKENS = 1024  # with fewer, what pieces begin with costs more than it saves
STEPS = 800  # of a piece, of which eight stay in the cache
SPREAD = 150.0  # of scores of pairs; four of them may meet in one number, and exp(-600) is one
MOST_STEPS = 16  # between two scalings
STRETCH = 32  # steps whose pairs are added up at once, while they are near
# Products of matrices cost K times what alphas cost. With more labels than these they are too dear
# where they must have many steps.
PATIENT_LABELS = 6
DEAR_STEPS = 72


def expectations(
    potentials: Pairs, structure: Links, weight: np.ndarray, sums: np.ndarray, log_Z: np.ndarray
) -> bool:
    """As `first_order.expectations`; or return False, and leave scores and sums as they were, where
    that is quicker or this might lose something.
    """
    node, edge = potentials
    n, K = node.shape
    if MOST_LABELS < K or n < FEWEST_TOKENS or node.dtype != np.float64:
        return False
    if len(edge) > 1 or len(sums) > 1 or np.any(weight == 0):
        return False
    # so that no sum of alphas grows
    top = float(edge.max()) + np.log(K)
    # a step divides the sum of alphas by exp(spread) at most
    spread = top - float(edge.min())
    if not spread < SPREAD:
        return False
    every = max(1, int(min(MOST_STEPS, SPREAD // (spread + 1e-9))))
    offsets = structure.offsets
    n_rounds = -(-n // (LANES * STEPS))
    S = -(-n // (LANES * n_rounds))
    pieces = pieces_of(S, np.exp(edge[0] - top), K)
    first = S * np.arange(LANES * n_rounds)
    last = np.minimum(first + S, n) - 1
    joints = joints_of(_examples(offsets, first), _examples(offsets, last), K, edge.shape[1])
    most_steps = DEAR_STEPS if PATIENT_LABELS < K else S
    if not _expectations(node, offsets, weight, every, most_steps, pieces, joints, sums, log_Z):
        return False
    log_Z += top * np.maximum(np.diff(offsets) - 1, 0)
    return True


def _examples(offsets: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The sequences that some tokens are of."""
    examples: np.ndarray = np.searchsorted(offsets, tokens, side="right") - 1
    return examples


@kernel
def _expectations(
    node: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    every: int,
    most_steps: int,
    pieces: Pieces,
    joints: Joints,
    sums: np.ndarray,
    log_Z: np.ndarray,
) -> bool:
    """But for what was taken out of all scores of pairs, which is missing in log Z."""
    S = len(pieces.begins)
    K = len(pieces.row)
    if not are_possible(node) or not join(node, offsets, pieces, every, most_steps, joints):
        return False
    for i in range(len(log_Z)):
        log_Z[i] = 0.0
    example = np.empty(LANES, np.int64)
    share = np.empty(LANES)
    norms = np.empty(LANES)
    for m in range(0, even(K) * even(K) * LANES, LANES):
        store(pieces.pairs, m, splat(0.0))
    for p in range(0, len(joints.is_whole), LANES):
        find_begins(offsets, p * S, joints.first[p], pieces)
        fill(node, p * S, 0, S, pieces)
        for r in range(LANES):
            example[r] = joints.first[p + r]
            share[r] = 0.0
            for k in range(K):
                pieces.A[(S - 1) * K + k, r] = joints.alpha[p + r, k]
                pieces.beta[k, r] = joints.beta[p + r, k]
        _forward(offsets, p * S, pieces, every, example, share, norms, log_Z)
        for r in range(LANES):
            example[r] = joints.last[p + r]
            share[r] = weight[example[r]]
        # its scores were read by `fill`, and no other piece reads them any more
        _backward(offsets, p * S, weight, pieces, example, share, node)
        _add_joints(pieces, joints.alpha, p, share)
    for j in range(K):
        for k in range(K):
            o = (j * even(K) + k) * LANES
            sums[0, j * K + k] += total(load(pieces.pairs, o)) * pieces.E[j * K + k]
    return True


@uncounted
def _forward(
    offsets: np.ndarray,
    first_token: int,
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
        move(A, before, pieces.E, K, pieces.begins[s], row)
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
            t = first_token + r * S + s
            if ends >> r & 1 and t < offsets[-1]:
                log_Z[example[r]] += logs[r]
                logs[r] = 0.0
                # empty sequences have the same bounds as the one after them
                while example[r] < len(log_Z) and offsets[example[r] + 1] <= t + 1:
                    example[r] += 1


@uncounted
def _backward(
    offsets: np.ndarray,
    first_token: int,
    weight: np.ndarray,
    pieces: Pieces,
    example: np.ndarray,
    share: np.ndarray,
    node: np.ndarray,
) -> None:
    """Write marginals of labels, add those of pairs up; `example` and `share` are the sequences of
    the last tokens of pieces, and their weights.
    """
    S = len(pieces.begins)
    _scale_last(pieces)
    for s in range(S - 1, -1, -1):
        _write_nodes(pieces, first_token, s, share, node)
        if s > 0:
            _back(pieces, s, share)
            if s % STRETCH == 1:
                _add_pairs(pieces, s, min(s + STRETCH, S))
            begins = pieces.begins[s]
            for r in range(LANES if begins else 0):
                t = first_token + r * S + s
                if begins >> r & 1 and t < offsets[-1]:
                    # empty sequences have the same bounds as the one after them
                    while offsets[example[r]] >= t:
                        example[r] -= 1
                    share[r] = weight[example[r]]


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
def _write_nodes(
    pieces: Pieces, first_token: int, s: int, share: np.ndarray, out: np.ndarray
) -> None:
    """Weighted marginals of a step."""
    n, K = out.shape
    S = len(pieces.begins)
    row = pieces.row
    w = load(share, 0)
    for m in range(0, K * LANES, LANES):
        a = load(pieces.A, s * K * LANES + m)
        store(row, m, mul(mul(a, load(pieces.beta, m)), w))
    for r in range(LANES):
        t = first_token + r * S + s
        for k in range(K if t < n else 0):
            out[t, k] = row[k, r]


@inlined
def _back(pieces: Pieces, s: int, share: np.ndarray) -> None:
    """Betas of the step before s from those of s, in their place; U becomes the weighted v."""
    K = len(pieces.row)
    E = pieces.E
    beta = pieces.beta
    row = pieces.row
    begins = pieces.begins[s]
    here = s * K * LANES
    scale = load(pieces.scale, s * LANES)
    w = keep(load(share, 0), ALL - begins)
    mass = splat(0.0)
    for m in range(0, K * LANES, LANES):
        v = mul(mul(load(pieces.U, here + m), load(beta, m)), scale)
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
    """Sums over pairs of which the second is in one of some steps."""
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
                m = (s - 1) * step + j * LANES
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


@inlined
def _add_joints(pieces: Pieces, alpha: np.ndarray, p: int, share: np.ndarray) -> None:
    """The pairs of the last token of a piece and the first one of the next."""
    K = len(pieces.row)
    for r in range(LANES):
        if pieces.begins[0] >> r & 1:
            continue
        for k in range(K):
            v = pieces.U[k, r] * pieces.beta[k, r] * pieces.scale[0, r] * share[r]
            for j in range(K):
                pieces.pairs[j * even(K) + k, 0] += alpha[p + r, j] * v
