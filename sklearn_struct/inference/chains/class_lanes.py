"""Forward-backward for chains of few states, of each class of eight sequences at once.

A lane of a vector is a sequence, and a class has vectors of its own, so no lane is idle whatever
the numbers of classes and states are. Sequences are sorted by length; behind the end of its own
sequence a lane goes on with scores of 0, and its beta is 0 there.

Numbers are scaled token by token, class by class. Where a score is -inf, and only there, U and E
are 0: exponentials of other scores are at least exp(-700). So all alphas can be looked at: those
that may be positive are far from the smallest numbers, else a result is not trusted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    div,
    exp,
    fma,
    keep,
    least,
    load,
    maximum,
    minimum,
    mul,
    splat,
    store,
    sub,
    total,
    workspace,
)
from sklearn_struct.inference.chains.time_major import steps

__all__ = ["MOST", "Lanes", "backward", "forward", "side_by_side"]

MOST = 500_000  # steps times labels, which take 64 MB
LEAST = -1e300  # stands for the maximum where there is none
LOWEST = -700.0  # log of the smallest exponential, but for 0
LARGE = 1e306  # times that smallest one is above 1
# far above the smallest float, so that what was added to an alpha cannot have been lost either
TINY = 1e-200


class Lanes(NamedTuple):
    """Groups of eight sequences, longest first, and room for them.

    A group has as many steps as its first sequence has tokens. Of the last dimension of tables each
    lane has one number.
    """

    offsets: np.ndarray  # (n + 2,) bounds of the tokens of sequences, and of an empty one
    example: np.ndarray  # (n_groups, 8) which sequences; n, the empty one, for none
    first: np.ndarray  # (n_groups + 1,) the first step of each group
    top: np.ndarray  # (n_classes,) what was taken out of scores of moves
    E: np.ndarray  # (n_classes, n_states, n_states) exp(score - top)
    U: np.ndarray  # (n_steps, n_labels, 8) exp(node - its maximum in the class)
    # (n_steps, n_labels, 8) alpha_t(k) = u_t(k) sum_j alpha_{t-1}(j) E(j, k) / c_t, which sums to 1
    # over the states of a class
    A: np.ndarray
    scale: np.ndarray  # (n_steps, n_classes, 8) 1 / c_t


def side_by_side(
    n_classes: int, n_states: int, offsets: np.ndarray, weight: np.ndarray
) -> Lanes | None:
    """Put the sequences whose weight is not 0 into lanes; None if that takes too much memory."""
    order = steps(offsets, weight).order
    example = np.full((-(-len(order) // LANES), LANES), len(weight))
    example.ravel()[: len(order)] = order
    first = np.zeros(len(example) + 1, np.int64)
    longest = example[:, 0]
    np.cumsum(offsets[longest + 1] - offsets[longest], out=first[1:])
    n_labels = n_classes * n_states
    n_steps = int(first[-1])
    if n_steps * n_labels > MOST:
        return None
    # one piece of memory: of few chains, allocations cost as much as sums
    room = workspace((n_steps, 2 * n_labels + n_classes, LANES), np.float64).reshape(-1)
    n = n_steps * n_labels * LANES
    U, A = room[: 2 * n].reshape(2, n_steps, n_labels, LANES)
    scale = room[2 * n :].reshape(n_steps, n_classes, LANES)
    bounds = np.append(offsets, offsets[-1])
    top = np.empty(n_classes)
    E = np.empty((n_classes, n_states, n_states))
    return Lanes(bounds, example, first, top, E, U, A, scale)


@kernel
def forward(node: np.ndarray, edge: np.ndarray, lanes: Lanes, log_Z: np.ndarray) -> None:
    """Fill E, U, A and the scales; write log Z (n, n_classes), nan where it cannot be trusted."""
    offsets = lanes.offsets
    first = lanes.first
    n_classes = log_Z.shape[1]
    forbids = _fill_moves(edge, lanes)
    # the product of norms since the last logarithm, the least alpha, and 1 where the sum is 0
    logs = np.empty(n_classes * LANES)
    mass = np.empty(n_classes * LANES)
    low = np.empty(n_classes * LANES)
    dead = np.empty(n_classes * LANES)
    for g in range(len(first) - 1):
        mass[:] = 1.0
        low[:] = 1.0
        dead[:] = 0.0
        _gather(node, lanes, g)
        if _exponentials(lanes, g, logs) or forbids:
            _reach(lanes, g)
        alive = LANES
        for t in range(first[g + 1] - first[g]):
            _step(lanes, first[g] + t, t > 0, logs, mass, low, dead)
            for r in range(alive - 1, -1, -1):
                i = lanes.example[g, r]
                if offsets[i + 1] - offsets[i] > t + 1:
                    break
                alive = r
                for c in range(n_classes if i < len(log_Z) else 0):
                    m = c * LANES + r
                    moves = lanes.top[c] * t if t > 0 else 0.0
                    log_Z[i, c] = logs[m] + np.log(mass[m]) + moves if low[m] >= TINY else np.nan


@inlined
def _fill_moves(edge: np.ndarray, lanes: Lanes) -> bool:
    """Fill E and what is taken out of it; return whether any move is forbidden."""
    E = lanes.E
    n_states = E.shape[1]
    n_labels = lanes.U.shape[1]
    forbids = False
    for c in range(E.shape[0]):
        top = -np.inf
        for j in range(n_states):
            for k in range(n_states):
                label = c * n_states + j
                E[c, j, k] = edge[0, label * n_labels + c * n_states + k]
                if E[c, j, k] > top:
                    top = E[c, j, k]
        if top == -np.inf:
            top = 0.0
        for j in range(n_states):
            for k in range(n_states):
                x = E[c, j, k]
                forbids = forbids or x == -np.inf
                low = LOWEST if x - top < LOWEST else x - top
                # divided by the number of states, so that no sum of alphas is above 1
                E[c, j, k] = 0.0 if x == -np.inf else np.exp(low) / n_states
        lanes.top[c] = top + np.log(n_states)
    return forbids


@inlined
def _gather(node: np.ndarray, lanes: Lanes, g: int) -> None:
    """Scores of a group into U."""
    offsets = lanes.offsets
    U = lanes.U
    n_labels = node.shape[1]
    for t in range(lanes.first[g + 1] - lanes.first[g]):
        step = lanes.first[g] + t
        for r in range(LANES):
            i = lanes.example[g, r]
            token = offsets[i] + t
            if token < offsets[i + 1]:
                for m in range(n_labels):
                    U[step, m, r] = node[token, m]
            else:
                for m in range(n_labels):
                    U[step, m, r] = 0.0


@inlined
def _exponentials(lanes: Lanes, g: int, logs: np.ndarray) -> bool:
    """Scores in U to their exponentials; write the sums of what was taken out, and return whether
    any score is -inf.
    """
    U = lanes.U
    n_classes = lanes.E.shape[0]
    n_states = lanes.E.shape[1]
    forbids = False
    for c in range(n_classes):
        tops = splat(0.0)
        # nan if any is nan, -inf if any is that
        seen = splat(0.0)
        for t in range(lanes.first[g], lanes.first[g + 1]):
            o = (t * n_classes + c) * n_states * LANES
            top = splat(LEAST)
            for m in range(o, o + n_states * LANES, LANES):
                top = maximum(load(U, m), top)
            tops = add(tops, top)
            for m in range(o, o + n_states * LANES, LANES):
                x = sub(load(U, m), top)
                seen = add(seen, x)
                # no less than LOWEST, but for -inf, which stays
                store(U, m, exp(maximum(x, fma(x, splat(1e-300), splat(LOWEST)))))
        # 0 but for nan
        store(logs, c * LANES, seen)
        for m in range(c * LANES, (c + 1) * LANES):
            forbids = forbids or logs[m] == -np.inf
            logs[m] = np.nan if np.isnan(logs[m]) else 0.0
        store(logs, c * LANES, add(load(logs, c * LANES), tops))
    return forbids


@inlined
def _reach(lanes: Lanes, g: int) -> None:
    """Make U 0 where no path leads to a state: what is reached, in 0/1, from token to token."""
    E = lanes.E
    U = lanes.U
    n_classes = E.shape[0]
    n_states = E.shape[1]
    for t in range(lanes.first[g] + 1, lanes.first[g + 1]):
        for c in range(n_classes):
            o = (t * n_classes + c) * n_states * LANES
            before = o - n_classes * n_states * LANES
            for k in range(n_states):
                ways = splat(0.0)
                for j in range(n_states):
                    if E[c, j, k] > 0.0:
                        u = load(U, before + j * LANES)
                        ways = add(minimum(mul(u, splat(LARGE)), splat(1.0)), ways)
                m = o + k * LANES
                store(U, m, mul(load(U, m), minimum(ways, splat(1.0))))


@inlined
def _step(
    lanes: Lanes,
    t: int,
    moves: bool,
    logs: np.ndarray,
    mass: np.ndarray,
    low: np.ndarray,
    dead: np.ndarray,
) -> None:
    """One step of all classes."""
    E = lanes.E
    U = lanes.U
    A = lanes.A
    n_classes = E.shape[0]
    n_states = E.shape[1]
    for c in range(n_classes):
        o = (t * n_classes + c) * n_states * LANES
        before = o - n_classes * n_states * LANES
        norm = splat(0.0)
        lowest = load(low, c * LANES)
        for k in range(n_states):
            u = load(U, o + k * LANES)
            a = u
            if moves:
                a = splat(0.0)
                for j in range(n_states):
                    a = fma(load(A, before + j * LANES), splat(E[c, j, k]), a)
                a = mul(a, u)
            store(A, o + k * LANES, a)
            norm = add(norm, a)
            # alphas of what is not reached may be 0
            lowest = minimum(maximum(a, fma(u, splat(-LARGE), splat(1.0))), lowest)
        store(low, c * LANES, lowest)
        scale = div(splat(1.0), maximum(splat(1e-300), norm))
        store(lanes.scale, (t * n_classes + c) * LANES, scale)
        for m in range(o, o + n_states * LANES, LANES):
            store(A, m, mul(load(A, m), scale))
        # nan stays nan here, and counts as 0 in the comparison
        product = mul(load(mass, c * LANES), maximum(load(dead, c * LANES), norm))
        store(mass, c * LANES, product)
        # a logarithm now and then instead of one a token
        if least(maximum(product, splat(0.0))) < 1e-100:
            for m in range(c * LANES, (c + 1) * LANES):
                if not mass[m] >= 1e-100:
                    logs[m] += np.log(mass[m])
                    dead[m] = 0.0 if mass[m] > 0.0 else 1.0
                    mass[m] = 1.0


@kernel
def backward(lanes: Lanes, weight: np.ndarray, out_node: np.ndarray, out_edge: np.ndarray) -> None:
    """Add marginals, with a weight (n, n_classes) of each class, to those of labels and to a table
    of pairs. Sequences whose weights are all 0 are left out.
    """
    example = lanes.example
    offsets = lanes.offsets
    n_classes = lanes.E.shape[0]
    n_states = lanes.E.shape[1]
    n_labels = n_classes * n_states
    first = lanes.first
    factor = np.empty(n_classes * LANES)
    B = np.empty(n_labels * LANES)
    row = np.empty((n_labels, LANES))
    pairs = np.empty((n_states, n_labels, LANES))
    for g in range(len(first) - 1):
        used = 0
        for r in range(LANES):
            i = example[g, r]
            for c in range(n_classes):
                factor[c * LANES + r] = weight[i, c] if i < len(weight) else 0.0
                if factor[c * LANES + r] != 0.0:
                    used |= 1 << r
        B[:] = 0.0
        pairs[:] = 0.0
        last = first[g + 1] - 1
        for t in range(last, first[g] - 1, -1):
            if t < last:
                _back(lanes, t, B, row, pairs)
            for r in range(LANES):
                i = example[g, r]
                if offsets[i] + t - first[g] + 1 == offsets[i + 1]:
                    for m in range(n_labels):
                        B[m * LANES + r] = 1.0
            _add_nodes(lanes, g, t, used, factor, B, row, out_node)
        _add_pairs(lanes, used, factor, pairs, out_edge)


@inlined
def _back(lanes: Lanes, t: int, B: np.ndarray, row: np.ndarray, pairs: np.ndarray) -> None:
    """beta of step t from that of t + 1, in its place; sums of alpha_t(j) v_{t+1}(k)."""
    E = lanes.E
    n_classes = E.shape[0]
    n_states = E.shape[1]
    n_labels = lanes.U.shape[1]
    for c in range(n_classes):
        here = (t * n_classes + c) * n_states * LANES
        after = here + n_classes * n_states * LANES
        scale = load(lanes.scale, ((t + 1) * n_classes + c) * LANES)
        o = c * n_states * LANES
        for m in range(0, n_states * LANES, LANES):
            store(row, m, mul(mul(load(lanes.U, after + m), load(B, o + m)), scale))
        for j in range(n_states):
            a = load(lanes.A, here + j * LANES)
            b = splat(0.0)
            for k in range(n_states):
                v = load(row, k * LANES)
                b = fma(v, splat(E[c, j, k]), b)
                m = (k * n_labels + c * n_states + j) * LANES
                store(pairs, m, fma(a, v, load(pairs, m)))
            store(B, o + j * LANES, b)


@inlined
def _add_nodes(
    lanes: Lanes,
    g: int,
    t: int,
    used: int,
    factor: np.ndarray,
    B: np.ndarray,
    row: np.ndarray,
    out_node: np.ndarray,
) -> None:
    """Weighted marginals of a step."""
    n_labels = out_node.shape[1]
    n_states = lanes.E.shape[1]
    for c in range(lanes.E.shape[0]):
        w = load(factor, c * LANES)
        for m in range(c * n_states * LANES, (c + 1) * n_states * LANES, LANES):
            store(row, m, mul(mul(load(lanes.A, t * n_labels * LANES + m), load(B, m)), w))
    step = t - lanes.first[g]
    for r in range(LANES):
        i = lanes.example[g, r]
        token = lanes.offsets[i] + step
        if token < lanes.offsets[i + 1] and used >> r & 1:
            for m in range(n_labels):
                out_node[token, m] += row[m, r]


@inlined
def _add_pairs(
    lanes: Lanes, used: int, factor: np.ndarray, pairs: np.ndarray, out_edge: np.ndarray
) -> None:
    """Weighted sums over all lanes; E is the same for all."""
    E = lanes.E
    n_states = E.shape[1]
    n_labels = lanes.U.shape[1]
    for c in range(E.shape[0]):
        w = load(factor, c * LANES)
        for j in range(n_states):
            for k in range(n_states):
                m = (k * n_labels + c * n_states + j) * LANES
                # a lane that is not used may be nan
                label = c * n_states + j
                column = label * n_labels + c * n_states + k
                out_edge[0, column] += total(mul(keep(load(pairs, m), used), w)) * E[c, j, k]
