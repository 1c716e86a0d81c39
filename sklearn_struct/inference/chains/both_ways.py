"""Forward-backward of a chain that is alone, from both ends at once, in the place of its scores.

A step of one chain is a product of a row and a matrix, which waits for the one before it. So the
way forward and the way back, which need not wait for each other, take turns. When they meet in the
middle each token has been reached by one of them. What reached it is kept, and is met by the other
one as that goes on: no token needs more room than this.

Both ways are the same but for the matrix. A step at token t multiplies what came by the matrix,
which gives x, and x by u = exp(scores - their maximum), which goes on. The marginals of t are x of
one way times u times x of the other one, divided by their sum.

Numbers are divided by the sum of the step before, for which no step waits. None that is possible
vanishes, and where that is not enough is seen when ways meet: see `floored_numbers`. Scores are
kept until then, so that such a sequence can be left to others. Where no pair is forbidden and
scores of pairs are not far apart it is always enough, and u takes their place at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel, uncounted
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    fma,
    largest,
    load,
    load_part,
    maximum,
    mul,
    padded,
    prefetch,
    splat,
    store,
    store_part,
    sub,
    total,
    workspace,
)
from sklearn_struct.compiled.single_row_products import single_row_times_matrix
from sklearn_struct.compiled.small_products import add_outer
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs
from sklearn_struct.inference.chains.floored_numbers import (
    MOST,
    SPREAD,
    floored,
    raise_table,
    raised_exp,
)
from sklearn_struct.inference.chains.scaled_numbers import are_possible

__all__ = ["expectations", "is_quicker"]

# sequences, of narrow and of wide rows; more are quicker side by side in `first_order`
ALONE = 3
ALONE_IF_WIDE = 8
NARROW = 16  # numbers of a row
AHEAD = 4  # tokens
STRETCH = 32  # steps whose pairs are added up at once, while they are near
OF_WAY = 2 * STRETCH + 2  # rows that a way has besides its matrix


class Way(NamedTuple):
    """One of the two ways; rows are padded to P numbers and stored flat."""

    matrix: np.ndarray  # (P * P,) exp(score of a pair - the maximum), transposed for the way back
    u: np.ndarray  # (P,)
    states: np.ndarray  # (STRETCH + 1, P) what came to a stretch, and what went on from each step
    met: np.ndarray  # (STRETCH, P) u times x of the other way, weighted, divided by sums


class Room(NamedTuple):
    """What both ways share."""

    # (longest, P) x of the way that came first, divided as what went on from it, and scores once
    # ways have met
    kept: np.ndarray
    row: np.ndarray  # (P,) x
    pairs: np.ndarray  # (P * P,) weighted sums over pairs of a sequence, without their scores
    tops: np.ndarray  # (1,) sum of the maxima of scores
    fails: np.ndarray  # (1,) whether a sum was so small that something may be wrong
    keeps: bool  # whether scores are kept


def is_quicker(potentials: Pairs, weight: np.ndarray, sums: np.ndarray) -> bool:
    """Whether sequences are so few, and all edges share a table of finite or forbidden scores."""
    node, edge = potentials
    if len(weight) > (ALONE_IF_WIDE if node.shape[1] > LANES else ALONE):
        return False
    is_shared = len(edge) == 1 and len(sums) == 1
    return is_shared and node.dtype == np.float64 and bool(np.isfinite(edge.max()))


def expectations(
    potentials: Pairs, structure: Links, weight: np.ndarray, sums: np.ndarray, log_Z: np.ndarray
) -> np.ndarray:
    """As `first_order.expectations`, where this `is_quicker`; but return the sequences that are
    left to others, as something might be lost. Their scores are as they were.
    """
    node, edge = potentials
    K = node.shape[1]
    longest = int(np.diff(structure.offsets).max(initial=0))
    top = edge.max()
    scores = edge.reshape(K, K) - top
    table = np.empty(edge.shape[1])
    raise_table(edge, top, table)
    is_left = np.zeros(len(weight), dtype=bool)
    pairs = np.zeros_like(scores)
    # one piece of memory, of which kernels make rooms: allocations cost as much as short sequences
    P = padded(K)
    rows = workspace(((3 * P + 2 * OF_WAY + 1 + longest) * P,), np.float64)
    keeps = not float(scores.min()) > -SPREAD
    _expectations(node, structure.offsets, weight, table, rows, keeps, pairs, log_Z, is_left)
    sums[0] += (pairs * np.exp(scores)).ravel()
    log_Z += top * np.where(weight == 0.0, 0.0, np.maximum(np.diff(structure.offsets) - 1, 0.0))
    return np.flatnonzero(is_left)


@inlined
def _rooms(table: np.ndarray, K: int, rows: np.ndarray, keeps: bool) -> tuple[Way, Way, Room]:
    """Room for both ways through sequences, and what is multiplied at each step."""
    P = padded(K)
    size = P * P
    on = _way(rows[:size], rows[3 * size :], P)
    back = _way(rows[size : 2 * size], rows[3 * size + OF_WAY * P :], P)
    for m in range(0, 2 * size, LANES):
        store(rows, m, splat(0.0))
    for j in range(K):
        for k in range(K):
            on.matrix[j * P + k] = table[j * K + k]
            back.matrix[k * P + j] = table[j * K + k]
    row = 3 * size + 2 * OF_WAY * P
    room = Room(
        rows[row + P :],
        rows[row : row + P],
        rows[2 * size : 3 * size],
        np.zeros(1),
        np.zeros(1, np.bool_),
        keeps,
    )
    return on, back, room


@inlined
def _way(matrix: np.ndarray, rows: np.ndarray, P: int) -> Way:
    states = (STRETCH + 1) * P
    met = states + STRETCH * P
    return Way(matrix, rows[met : met + P], rows[:states], rows[states:met])


@kernel
def _expectations(
    node: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    table: np.ndarray,
    rows: np.ndarray,
    keeps: bool,
    pairs: np.ndarray,
    log_Z: np.ndarray,
    is_left: np.ndarray,
) -> None:
    K = node.shape[1]
    P = padded(K)
    on, back, room = _rooms(table, K, rows, keeps)
    for i in range(len(weight)):
        log_Z[i] = 0.0
        first = offsets[i]
        T = offsets[i + 1] - first
        for m in range(first * K, (first + T) * K if weight[i] == 0.0 else 0):
            node[m // K, m % K] = 0.0
        if T == 0 or weight[i] == 0.0:
            continue
        for m in range(0, P * P, LANES):
            store(room.pairs, m, splat(0.0))
        room.fails[0] = not are_possible(node, first, first + T)
        if not room.fails[0]:
            log_Z[i] = _both_ways(node, first, T, weight[i], on, back, room)
        is_left[i] = room.fails[0]
        for j in range(K if not is_left[i] else 0):
            for k in range(K):
                pairs[j, k] += room.pairs[j * P + k]


@uncounted
def _both_ways(
    node: np.ndarray, first: int, T: int, weight: float, on: Way, back: Way, room: Room
) -> float:
    """One sequence, whose tokens begin at `first`; return log Z without the maximum of pairs. Where
    `room.fails`, scores are as they were.
    """
    P = padded(node.shape[1])
    # Narrow rows wait for each other so long that both ways fit into the time of one. Of wide ones
    # the matrix should stay in the cache for some steps.
    chunk = 1 if P <= NARROW else STRETCH
    left = T // 2
    for m in range(0, P, LANES):
        # nothing comes to the first token, and its row must not count as that of a pair
        store(on.states, m, splat(0.0))
    room.tops[0] = 0.0
    log_z: float = 0.0
    mass = 1.0  # the product of sums
    scale_on = 1.0
    scale_back = 1.0
    for half in range(2):
        meets = half == 1
        begin = left if meets else 0
        end = left - 1 if meets else T - 1
        n_on = T - left if meets else left
        n_back = left if meets else T - left
        for s in range(0, T - left, STRETCH):
            for c in range(s, min(s + STRETCH, T - left), chunk):
                for i in range(c, min(c + chunk, n_on)):
                    t = begin + i
                    _fetch(node, first, min(t + AHEAD, T - 1), meets, room)
                    norm = _step(node, first, t, t == 0, scale_on, weight, meets, on, i - s, room)
                    scale_on = 1.0 / norm
                    mass *= norm
                    if not 1e-100 < mass < 1e100:  # a logarithm now and then
                        log_z += np.log(mass)
                        mass = 1.0
                for i in range(c, min(c + chunk, n_back)):
                    t = end - i
                    _fetch(node, first, max(t - AHEAD, 0), meets, room)
                    norm = _step(
                        node, first, t, t == T - 1, scale_back, weight, meets, back, i - s, room
                    )
                    scale_back = 1.0 / norm
            _end_stretch(on, back, room, min(STRETCH, n_on - s), min(STRETCH, n_back - s), meets, s)
    if room.fails[0]:
        _restore(node, first, T, room.kept)
    log_z += np.log(mass) + room.tops[0]
    return log_z


@inlined
def _restore(node: np.ndarray, first: int, T: int, kept: np.ndarray) -> None:
    """Put the scores of a sequence back."""
    K = node.shape[1]
    for t in range(T):
        for m in range(0, K, LANES):
            store_part(node, (first + t) * K + m, load(kept, t * padded(K) + m), K - m)


@inlined
def _fetch(node: np.ndarray, first: int, t: int, meets: bool, room: Room) -> None:
    """Rows that are wide, or that are read backwards, do not come in time by themselves."""
    K = node.shape[1]
    for m in range(0, K, LANES):
        prefetch(node, (first + t) * K + m)
        if meets:
            prefetch(room.kept, t * padded(K) + m)


@inlined
def _step(
    node: np.ndarray,
    first: int,
    t: int,
    begins: bool,
    scale: float,
    weight: float,
    meets: bool,
    way: Way,
    i: int,
    room: Room,
) -> float:
    """Step i of a stretch, at token t of the sequence that begins at `first`; return the sum of
    what goes on, which is scaled by that of the step before.
    """
    K = node.shape[1]
    P = padded(K)
    states = way.states
    met = way.met
    u = way.u
    row = room.row
    kept = room.kept
    o = (first + t) * K
    if room.keeps or not meets:
        top = _exp_scores(node, o, K, u)
        room.tops[0] += 0.0 if meets else top
    for m in range(0, 0 if room.keeps else P, LANES):
        if meets:
            store(u, m, load_part(node, o + m, K - m, 0.0))
        else:
            store_part(node, o + m, load(u, m), K - m)
    if begins:
        for m in range(0, P, LANES):
            store(row, m, splat(1.0))
    else:
        single_row_times_matrix(states, i * P, way.matrix, K, P, row, 0)
    mass = splat(0.0)
    both = splat(0.0)
    for m in range(0, P, LANES):
        x = load(row, m)
        y = load(u, m)
        go = floored(x, y, mul(x, mul(y, splat(scale))))
        store(states, (i + 1) * P + m, go)
        mass = add(mass, go)
        if meets:
            z = mul(y, load(kept, t * P + m))
            store(met, i * P + m, z)
            both = fma(x, z, both)
            if room.keeps:
                store(kept, t * P + m, load_part(node, o + m, K - m, 0.0))
        else:
            store(kept, t * P + m, mul(x, splat(scale)))
    if meets:
        of_both = total(both)
        # NaN, too, is not larger
        room.fails[0] |= room.keeps and not of_both * scale > 1.0 / MOST
        share = splat(weight / of_both)
        for m in range(0, P, LANES):
            z = mul(load(met, i * P + m), share)
            store(met, i * P + m, z)
            store_part(node, o + m, mul(load(row, m), z), K - m)
    return total(mass)


@inlined
def _exp_scores(node: np.ndarray, o: int, K: int, u: np.ndarray) -> float:
    """Write u of the scores of a token; return their maximum."""
    best = splat(-np.inf)
    for m in range(0, K, LANES):
        best = maximum(load_part(node, o + m, K - m, -np.inf), best)
    top = largest(best)
    for m in range(0, K, LANES):
        store(u, m, raised_exp(sub(load_part(node, o + m, K - m, -np.inf), splat(top))))
    return top


@inlined
def _end_stretch(
    on: Way, back: Way, room: Room, n_on: int, n_back: int, meets: bool, s: int
) -> None:
    """Add pairs up, if ways meet; what went on from the last steps comes to the next stretch."""
    P = len(room.row)
    n = max(n_on, 0)
    n_labels = P // 4 * 4
    if meets:
        add_outer(on.states, 0, on.met, 0, n, n_labels, P, room.pairs)
    for m in range(0, P, LANES):
        store(on.states, m, load(on.states, n * P + m))
    n = max(n_back, 0)
    if meets:
        for m in range(0, P if s == 0 else 0, LANES):
            # the pair in the middle was that of the way forward
            store(back.met, m, splat(0.0))
        add_outer(back.met, 0, back.states, 0, n, n_labels, P, room.pairs)
    for m in range(0, P, LANES):
        store(back.states, m, load(back.states, n * P + m))
