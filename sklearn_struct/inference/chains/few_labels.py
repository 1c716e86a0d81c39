"""Forward-backward for few labels and many tokens, in pieces of tokens, eight side by side.

The tokens of all sequences, one after the other, are cut into pieces of about the same length, and
a lane of a vector goes through a piece (`cuts`). So lanes are busy whether there is one long
sequence or there are many short ones, and pieces are so short that they stay in the cache. Where
cuts fall within sequences, first it is found with which alpha each piece begins and with which beta
it ends (`joints_of_pieces`); then pieces are independent of each other.

A sequence begins with a reset: a step after which alpha is that of the first token, whatever was
before. Then all tokens are one chain, whose Z is the product of those of the sequences.

Numbers are scaled now and then, and none that is possible vanishes: see `floored_numbers`. Where no
pair of labels is forbidden and scores of pairs are not far apart, that cannot fail: betas of a
token then have ratios of at most exp(spread). Elsewhere what came out of each piece must be what
the next one began with. That is known only at the end, so scores are kept beside; where it fails,
all is left to `first_order`.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel, uncounted
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    add,
    at,
    div,
    fma,
    keep,
    load,
    mul,
    splat,
    store,
    total,
)
from sklearn_struct.inference.chains.cuts import Cuts, cut
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs
from sklearn_struct.inference.chains.floored_numbers import MOST, floored, raised_table
from sklearn_struct.inference.chains.joints_of_pieces import Joints, is_alike, join, joints_of
from sklearn_struct.inference.chains.pieces import (
    ALL,
    Pieces,
    even,
    fill,
    find_begins,
    is_due,
    move,
    pieces_of,
)
from sklearn_struct.inference.chains.scaled_numbers import are_possible

__all__ = ["expectations"]

MOST_LABELS = 12  # with more, lanes gain too little
FEWEST_TOKENS = 1024  # with fewer, what pieces begin with costs more than it saves
SPREAD = 60.0  # of scores of pairs, below which nothing can fail
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
    if not np.isfinite(top):
        return False
    is_near = top - float(edge.min()) < SPREAD
    offsets = structure.offsets
    cuts = cut(offsets)
    pieces = pieces_of(cuts.n_steps, raised_table(edge[0] - top), K)
    joints = joints_of(len(cuts.first), K, edge.shape[1])
    most_steps = DEAR_STEPS if PATIENT_LABELS < K else cuts.n_steps
    if not _is_joined(node, offsets, cuts, pieces, most_steps, joints):
        return False
    scores = node if is_near else node.copy()
    pairs = np.zeros_like(edge[0])
    if not _expectations(node, offsets, cuts, weight, pieces, joints, pairs, log_Z) and not is_near:
        node[:] = scores
        return False
    sums[0] += pairs * np.exp(edge[0] - top)
    log_Z += top * np.maximum(np.diff(offsets) - 1, 0)
    return True


@kernel
def _is_joined(
    node: np.ndarray,
    offsets: np.ndarray,
    cuts: Cuts,
    pieces: Pieces,
    most_steps: int,
    joints: Joints,
) -> bool:
    """Whether all tokens can have a label, and it is known with what pieces begin and end."""
    if not are_possible(node, 0, len(node)):
        return False
    return join(node, offsets, cuts, pieces, most_steps, joints)


@kernel
def _expectations(
    node: np.ndarray,
    offsets: np.ndarray,
    cuts: Cuts,
    weight: np.ndarray,
    pieces: Pieces,
    joints: Joints,
    pairs: np.ndarray,
    log_Z: np.ndarray,
) -> bool:
    """But for what was taken out of all scores of pairs, which is missing in log Z, and for E,
    which is missing in `pairs`. Return whether all can be trusted.
    """
    starts = cuts.starts
    S = len(pieces.begins)
    K = len(pieces.row)
    fine = True
    for i in range(len(log_Z)):
        log_Z[i] = 0.0
    example = np.empty(LANES, np.int64)
    share = np.empty(LANES)
    norms = np.empty(LANES)
    for m in range(0, even(K) * even(K) * LANES, LANES):
        store(pieces.pairs, m, splat(0.0))
    for p in range(0, len(joints.is_whole), LANES):
        find_begins(offsets, starts, p, cuts.first[p], pieces)
        fill(node, starts, p, 0, S, pieces)
        for r in range(LANES):
            example[r] = cuts.first[p + r]
            share[r] = 0.0
            for k in range(K):
                pieces.A[(S - 1) * K + k, r] = joints.alpha[p + r, k]
                pieces.beta[k, r] = joints.beta[p + r, k]
        _forward(offsets, starts, p, pieces, example, share, norms, log_Z)
        fine &= cuts.at_begins or _leads_on(pieces, starts, p, joints.alpha)
        for r in range(LANES):
            example[r] = cuts.last[p + r]
            is_whole = starts[p + r + 1] - starts[p + r] == S
            share[r] = weight[example[r]] if is_whole else 0.0
        # its scores were read by `fill`, and no other piece reads them any more
        largest = _backward(offsets, starts, p, weight, pieces, example, share, node)
        fine &= largest < MOST
        fine &= cuts.at_begins or _add_joints(pieces, p, joints, share)
    for j in range(K):
        for k in range(K):
            pairs[j * K + k] += total(load(pieces.pairs, (j * even(K) + k) * LANES))
    return fine


@uncounted
def _forward(
    offsets: np.ndarray,
    starts: np.ndarray,
    p: int,
    pieces: Pieces,
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
            x = load(row, m)
            u = load(pieces.U, o + m)
            a = floored(x, u, mul(x, u))
            store(A, o + m, a)
            norm = add(norm, a)
        store(logs, 0, add(load(logs, 0), load(pieces.scale, s * LANES)))
        scale = splat(1.0)
        ends = ALL if s == S - 1 else pieces.begins[s + 1]
        # the alphas before a reset sum to 1, so that a sequence has only its own scales
        if ends or is_due(norm, s):
            scale = div(scale, norm)
            for m in range(o, o + K * LANES, LANES):
                store(A, m, mul(load(A, m), scale))
            store(norms, 0, norm)
            for r in range(LANES):
                logs[r] += np.log(norms[r])
        store(pieces.scale, s * LANES, scale)
        before = o
        for r in range(LANES if ends else 0):
            t = starts[p + r] + s
            if ends >> r & 1 and t < starts[p + r + 1]:
                log_Z[example[r]] += logs[r]
                logs[r] = 0.0
                # empty sequences have the same bounds as the one after them
                while example[r] < len(log_Z) and offsets[example[r] + 1] <= t + 1:
                    example[r] += 1


@inlined
def _leads_on(pieces: Pieces, starts: np.ndarray, p: int, alpha: np.ndarray) -> bool:
    """Whether the last alphas of pieces are those that the next ones begin with."""
    K = len(pieces.row)
    last = len(pieces.begins) - 1
    for r in range(LANES):
        # behind the last piece there are none, and behind the last token nobody reads any
        goes_on = p + r + 1 < len(alpha) and starts[p + r + 1] < starts[p + r + 2]
        for k in range(K if goes_on else 0):
            x = pieces.A[last * K + k, r]
            y = alpha[p + r + 1, k]
            # what is possible may not become impossible
            if not is_alike(x, y) or (x > 0.0 and y == 0.0):
                return False
    return True


@uncounted
def _backward(
    offsets: np.ndarray,
    starts: np.ndarray,
    p: int,
    weight: np.ndarray,
    pieces: Pieces,
    example: np.ndarray,
    share: np.ndarray,
    node: np.ndarray,
) -> float:
    """Write marginals of labels, add those of pairs up; `example` and `share` are the sequences of
    the last tokens of pieces, and their weights. Return a bound of all betas.
    """
    S = len(pieces.begins)
    _scale_last(pieces)
    betas = splat(0.0)
    for s in range(S - 1, -1, -1):
        _write_nodes(pieces, starts, p, s, share, node)
        betas = add(betas, _scaled_betas(pieces, s))
        if s > 0:
            _back(pieces, s, share)
            if s % STRETCH == 1:
                _add_pairs(pieces, s, min(s + STRETCH, S))
            begins = pieces.begins[s]
            for r in range(LANES if begins else 0):
                t = starts[p + r] + s
                # steps behind the last token do not count
                if begins >> r & 1 and t <= starts[p + r + 1]:
                    # empty sequences have the same bounds as the one after them
                    while offsets[example[r]] >= t:
                        example[r] -= 1
                    share[r] = weight[example[r]]
    return total(betas)


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
def _scaled_betas(pieces: Pieces, s: int) -> Vector:
    """The sum of the betas of step s, times its scale."""
    K = len(pieces.row)
    mass = splat(0.0)
    for m in range(0, K * LANES, LANES):
        mass = add(mass, load(pieces.beta, m))
    return mul(mass, load(pieces.scale, s * LANES))


@inlined
def _write_nodes(
    pieces: Pieces, starts: np.ndarray, p: int, s: int, share: np.ndarray, out: np.ndarray
) -> None:
    """Weighted marginals of a step."""
    K = len(pieces.row)
    row = pieces.row
    w = load(share, 0)
    for m in range(0, K * LANES, LANES):
        a = load(pieces.A, s * K * LANES + m)
        store(row, m, mul(mul(a, load(pieces.beta, m)), w))
    for r in range(LANES):
        t = at(starts, p + r) + s
        for k in range(K if t < at(starts, p + r + 1) else 0):
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
def _add_joints(pieces: Pieces, p: int, joints: Joints, share: np.ndarray) -> bool:
    """The pairs of the last token of a piece and the first one of the next. Return whether the
    betas before these are those that pieces ended with.
    """
    K = len(pieces.row)
    alike = True
    for r in range(LANES):
        if pieces.begins[0] >> r & 1:
            continue
        mass = 0.0
        for j in range(K):
            pieces.row[j, r] = 0.0
        for k in range(K):
            v = pieces.U[k, r] * pieces.beta[k, r] * pieces.scale[0, r]
            for j in range(K):
                pieces.pairs[j * even(K) + k, 0] += joints.alpha[p + r, j] * v * share[r]
                pieces.row[j, r] += pieces.E[j * K + k] * v
                mass += pieces.E[j * K + k] * v
        for j in range(K):
            alike &= is_alike(pieces.row[j, r] / mass, joints.beta[p + r - 1, j])
    return alike
