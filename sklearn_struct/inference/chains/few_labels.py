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
the next one began with. Where that fails, scores are made again, and sums are taken in logarithms.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import LANES, load, splat, store, total, workspace
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.inference.chains import cuts
from sklearn_struct.inference.chains.cuts import Cuts, cut, most_steps, rounds
from sklearn_struct.inference.chains.first_order_log_lists import log_expectations
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs
from sklearn_struct.inference.chains.floored_numbers import MOST, SPREAD, raise_table
from sklearn_struct.inference.chains.joints_of_pieces import Joints, is_alike, join
from sklearn_struct.inference.chains.passes_of_pieces import go_back, go_forward
from sklearn_struct.inference.chains.pieces import (
    STRETCH,
    Pieces,
    even,
    find_begins,
    n_rows,
    span_of,
)
from sklearn_struct.inference.chains.scaled_numbers import are_possible

__all__ = ["expectations"]

MOST_LABELS = 12  # with more, lanes gain too little
FEWEST_TOKENS = 200  # with fewer, what pieces begin with costs more than it saves
# Products of matrices cost K times what alphas cost. With more labels than these they are too dear
# where they must have many steps.
PATIENT_LABELS = 6
DEAR_STEPS = 72
# of what lanes do, at most, where they are idle behind whole sequences; then nothing is joined
IDLE = 0.35
IDLE_IF_DEAR = 1.0
# what came of sums: all scores are as they were, or all is done, or all but some sequences
REFUSED = 0
DONE = 1
SOME_LEFT = 2


def expectations(
    potentials: Pairs,
    structure: Links,
    weight: np.ndarray,
    sums: np.ndarray,
    log_Z: np.ndarray,
    again: Callable[[int, np.ndarray], None] | None = None,
) -> bool:
    """As `first_order.expectations`; or return False, and leave scores and sums as they were, where
    that is quicker. For sequences of which something might be lost, `again` writes the same scores
    of labels once more, as `Chain.expectations` says; without it they are kept beside.
    """
    node, edge = potentials
    n, K = node.shape
    if MOST_LABELS < K or n < FEWEST_TOKENS or node.dtype != np.float64:
        return False
    if len(edge) != 1 or len(sums) != 1:
        return False
    offsets = structure.offsets
    if again is None:
        again = _copies(node.copy(), offsets)
    idle = IDLE if K <= PATIENT_LABELS else IDLE_IF_DEAR
    longest = most_steps(n, cuts.STEPS, idle)
    # with as many steps as there are, products are never too dear
    dear = DEAR_STEPS if PATIENT_LABELS < K else longest
    room = workspace((n_rows(longest, K, edge.shape[1], n), LANES), np.float64)
    is_left = np.zeros(len(weight), dtype=bool)
    arguments = node, edge, offsets, weight
    outcome = _expectations(*arguments, cuts.STEPS, idle, room, dear, is_left, sums, log_Z)
    if outcome != SOME_LEFT:
        return bool(outcome == DONE)
    left = np.flatnonzero(is_left)
    for i in left.tolist():
        again(i, node[offsets[i] : offsets[i + 1]])
    patiently(lambda: log_expectations(*arguments, left, sums, log_Z), 2 * node.size * K)
    return True


def _copies(node: np.ndarray, offsets: np.ndarray) -> Callable[[int, np.ndarray], None]:
    """What writes the scores of a sequence once more."""

    def again(i: int, rows: np.ndarray) -> None:
        rows[:] = node[offsets[i] : offsets[i + 1]]

    return again


@inlined
def _survey(edge: np.ndarray, weight: np.ndarray) -> tuple[float, float, bool]:
    """The largest score of pairs, NaN if one is NaN or +inf, and the smallest; whether no weight
    is 0.
    """
    largest = -np.inf
    smallest = np.inf
    are_scores = True
    for m in range(edge.shape[1]):
        largest = max(largest, edge[0, m])
        smallest = min(smallest, edge[0, m])
        are_scores &= edge[0, m] < np.inf
    all_count = True
    for i in range(len(weight)):
        all_count &= weight[i] != 0.0
    return largest if are_scores else np.nan, smallest, all_count


@kernel
def _expectations(
    node: np.ndarray,
    edge: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    steps: int,
    idle: float,
    room: np.ndarray,
    dear: int,
    is_left: np.ndarray,
    sums: np.ndarray,
    log_Z: np.ndarray,
) -> int:
    """Mark the sequences that are left to others, and whose scores are lost."""
    n, K = node.shape
    top, smallest, all_count = _survey(edge, weight)
    if not (all_count and np.isfinite(top) and are_possible(node, 0, n)):
        return REFUSED
    places = np.empty((3, LANES * rounds(n, steps) + 1), np.int64)
    m, n_steps, at_begins = cut(offsets, steps, idle, places[0], places[1], places[2])
    pieces_at = Cuts(places[0, : m + 1], places[1, :m], places[2, :m], n_steps, at_begins)
    E = np.empty(edge.shape[1])
    raise_table(edge, top, E)
    pieces = _pieces_of(room, pieces_at.n_steps, E, K, n)
    joints = _joints_of(len(pieces_at.first), K, edge.shape[1])
    if not join(node, offsets, pieces_at, pieces, dear, joints):
        return REFUSED
    for m in range(0, even(K) * even(K) * LANES, LANES):
        store(pieces.pairs, m, splat(0.0))
    can_fail = not top - smallest < SPREAD
    _add_pieces(node, offsets, weight, pieces_at, pieces, joints, can_fail, is_left, log_Z)
    for j in range(K):
        for k in range(K):
            of_pair = total(load(pieces.pairs, (j * even(K) + k) * LANES))
            sums[0, j * K + k] += of_pair * np.exp(edge[0, j * K + k] - top)
    for i in range(len(log_Z)):
        log_Z[i] += top * max(offsets[i + 1] - offsets[i] - 1, 0)
    return SOME_LEFT if np.any(is_left) else DONE


@inlined
def _pieces_of(room: np.ndarray, S: int, E: np.ndarray, K: int, n_tokens: int) -> Pieces:
    """Room for S steps of K labels, of the rows (`n_rows`, 8) of one piece of memory: allocations
    cost as much as sums.
    """
    span = span_of(S, n_tokens)
    # sums over pairs read one row behind the last one, if there is an odd number of labels
    table = span * K + K % 2
    marks = (S + span - 1) // span * K
    U = marks + table
    tops = U + span
    A = tops + K + table
    scale = A + span
    nodes = scale + STRETCH * K
    M = nodes + len(E)
    pairs = M + even(K) ** 2
    return Pieces(
        np.empty(S, np.uint8),
        E,
        room[:marks],
        room[marks:U],
        room[U:tops],
        room[tops:A],
        room[A:scale],
        np.empty(span, np.bool_),
        room[scale:nodes],
        room[nodes:M],
        room[M:pairs],
        room[pairs : pairs + K],
        room[pairs + K : pairs + 2 * K],
    )


@inlined
def _joints_of(n_pieces: int, K: int, n_pairs: int) -> Joints:
    """Room for those of pieces."""
    ends = np.empty((2, n_pieces, K))
    products = np.empty((2, n_pieces, n_pairs))
    is_whole = np.empty(n_pieces, np.bool_)
    return Joints(ends[0], ends[1], products[0], products[1], is_whole, np.empty(K, np.bool_))


@inlined
def _add_pieces(
    node: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    cuts: Cuts,
    pieces: Pieces,
    joints: Joints,
    can_fail: bool,
    is_left: np.ndarray,
    log_Z: np.ndarray,
) -> None:
    """Write marginals of labels, and log Z but for `top`; add those of pairs up, but for their
    scores. What cannot be trusted is left: all, unless pieces are made of whole sequences.
    """
    starts = cuts.starts
    S = len(pieces.begins)
    K = len(pieces.row)
    for i in range(len(log_Z)):
        log_Z[i] = 0.0
    example = np.empty(LANES, np.int64)
    share = np.empty(LANES)
    room = np.empty(LANES)
    pairs = np.empty(pieces.pairs.shape) if can_fail else pieces.pairs
    for p in range(0, len(joints.is_whole), LANES):
        find_begins(offsets, starts, p, cuts.first[p], pieces)
        for r in range(LANES):
            example[r] = cuts.first[p + r]
            share[r] = 0.0
            for k in range(K):
                pieces.marks[k, r] = joints.alpha[p + r, k]
                pieces.beta[k, r] = joints.beta[p + r, k]
        go_forward(node, offsets, starts, p, pieces, example, share, room, log_Z)
        alike = cuts.at_begins or _leads_on(pieces, starts, p, joints.alpha)
        for r in range(LANES):
            example[r] = cuts.last[p + r]
            is_whole = starts[p + r + 1] - starts[p + r] == S
            share[r] = weight[example[r]] if is_whole else 0.0
        for m in range(0, pieces.pairs.size if can_fail else 0, LANES):
            store(pairs, m, load(pieces.pairs, m))
        go_back(node, offsets, starts, p, weight, pieces, example, share, room)
        alike &= cuts.at_begins or _add_joints(pieces, p, joints, share)
        if not can_fail:
            continue
        if cuts.at_begins:
            _leave_pieces(cuts, p, room, pairs, pieces.pairs, is_left)
        elif not (alike and _all_below(room, MOST)):
            for m in range(0, pieces.pairs.size, LANES):
                store(pieces.pairs, m, splat(0.0))
            for i in range(len(is_left)):
                is_left[i] = True
            return


@inlined
def _all_below(numbers: np.ndarray, most: float) -> bool:
    """Whether all are, and none is NaN."""
    below = True
    for r in range(LANES):
        below &= numbers[r] < most
    return below


@inlined
def _leave_pieces(
    cuts: Cuts,
    p: int,
    betas: np.ndarray,
    before: np.ndarray,
    pairs: np.ndarray,
    is_left: np.ndarray,
) -> None:
    """Leave the sequences of pieces from p on whose betas are too large, and with them what they
    have added to the sums of pairs, which were `before`.
    """
    for r in range(LANES):
        # in pieces without tokens, steps are those that nobody reads
        has_tokens = cuts.starts[p + r] < cuts.starts[p + r + 1]
        if has_tokens and not betas[r] < MOST:
            for i in range(cuts.first[p + r], cuts.last[p + r] + 1):
                is_left[i] = True
        if not betas[r] < MOST:
            for m in range(len(pairs)):
                pairs[m, r] = before[m, r]


@inlined
def _leads_on(pieces: Pieces, starts: np.ndarray, p: int, alpha: np.ndarray) -> bool:
    """Whether the last alphas of pieces are those that the next ones begin with."""
    K = len(pieces.row)
    last = (len(pieces.begins) - 1) % len(pieces.is_scaled) + 1
    for r in range(LANES):
        # behind the last piece there are none, and behind the last token nobody reads any
        goes_on = p + r + 1 < len(alpha) and starts[p + r + 1] < starts[p + r + 2]
        for k in range(K if goes_on else 0):
            if not is_alike(pieces.A[last * K + k, r], alpha[p + r + 1, k]):
                return False
    return True


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
