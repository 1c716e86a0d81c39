"""Forward-backward for one chain in log space, where all pairs share a table of scores.

Right for any scores, as `first_order_log`, and several times faster: a label looks only at the
pairs that are not forbidden, which are listed once, and most steps take no logarithm. What comes to
a label is held as mass * exp(best), where `best` is the score of the best way there, and others are
counted from it. So a mass is at least 1, and nothing that matters can vanish in it. Now and then it
is moved to `best`, before it can overflow.

Alphas are kept of one span of steps, which are gone through once more on the way back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel, uncounted
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    exp,
    fma,
    largest,
    load,
    maximum,
    mul,
    padded,
    splat,
    store,
    sub,
    total,
)

__all__ = ["log_expectations", "log_sums"]

MOVED = 16  # steps between two moves of masses: with 10^6 labels, these stay below 1e100
SPAN = 16 * MOVED  # steps whose alphas are kept
LOWEST = float(np.finfo(np.float64).min)  # stands for a maximum where there is none


class Lists(NamedTuple):
    """Of each of P labels those that pairs lead from, or to: slot s of label k is s * P + k."""

    labels: np.ndarray
    scores: np.ndarray  # -inf in slots that are empty
    n_slots: int
    is_whole: bool  # whether slot s is label s for all


class Room(NamedTuple):
    """Rows of P labels, one after the other."""

    marks: np.ndarray  # (n_spans, P) the best alphas that spans begin with
    best: np.ndarray  # (SPAN, P) alphas of the steps of one span
    mass: np.ndarray
    score: np.ndarray  # (P,) of the labels of a token
    beta: np.ndarray  # (P,) what follows a token
    beta_mass: np.ndarray
    ahead: np.ndarray  # (P,) what follows the token before, its own score included
    ahead_mass: np.ndarray
    share: np.ndarray  # (P,) weighted marginals
    listed: np.ndarray  # (2, n_slots, P) the best and masses of those that are listed
    into: np.ndarray  # (n_slots, P) what pairs add to masses of alphas, and of betas
    out_of: np.ndarray
    pairs: np.ndarray  # (n_slots, P) sums of weighted marginals of pairs


@kernel
def log_expectations(
    node: np.ndarray,
    edge: np.ndarray,
    offsets: np.ndarray,
    weight: np.ndarray,
    examples: np.ndarray,
    sums: np.ndarray,
    log_Z: np.ndarray,
) -> None:
    """As `first_order.expectations`, of some sequences."""
    for i in examples:
        first = offsets[i]
        end = offsets[i + 1]
        log_Z[i] = 0.0
        if weight[i] != 0.0 and first < end:
            log_Z[i] = log_sums(node, edge, first, end, weight[i], True, node, sums)
        for t in range(first, end if weight[i] == 0.0 or log_Z[i] == -np.inf else first):
            for k in range(node.shape[1]):
                node[t, k] = 0.0


@kernel
def log_sums(
    node: np.ndarray,
    edge: np.ndarray,
    first: int,
    end: int,
    weight: float,
    replaces: bool,
    out: np.ndarray,
    sums: np.ndarray,
) -> float:
    """Add to `out` `weight` times the marginals of the chain of tokens from `first` to before
    `end`, and to `sums` those of its pairs; return its log Z, -inf if no labelling is allowed. Then
    nothing is added. All are NaN if a score is NaN or inf.

    ``node`` and ``out`` are (n, K), ``edge`` and ``sums`` (1, K * K). Marginals take the place of
    what stands in `out` if it `replaces`, which may then be `node` itself.
    """
    K = node.shape[1]
    P = padded(K)
    into = _lists(edge, K, P, True)
    out_of = _lists(edge, K, P, False)
    rows = np.zeros((6, P))
    alphas = np.zeros((2, SPAN * P))
    n_pairs = max(into.n_slots, out_of.n_slots) * P
    of_pairs = np.zeros((3, n_pairs))
    room = Room(
        np.empty((end - first + SPAN - 1) // SPAN * P),
        alphas[0],
        alphas[1],
        rows[0],
        rows[1],
        rows[2],
        rows[3],
        rows[4],
        rows[5],
        np.empty(2 * n_pairs),
        of_pairs[0],
        of_pairs[1],
        of_pairs[2],
    )
    log_Z = _go_forward(node, first, end, into, room)
    if np.isnan(log_Z):
        for m in range(sums.shape[1]):
            sums[0, m] = np.nan
        for t in range(first, end):
            for k in range(K):
                out[t, k] = np.nan
    elif log_Z > -np.inf:
        _go_back(node, first, end, weight, into, out_of, replaces, room, out)
        for s in range(out_of.n_slots):
            for j in range(K):
                # what slots that are empty hold is 0
                sums[0, j * K + out_of.labels[s * P + j]] += room.pairs[s * P + j]
    return log_Z


@kernel
def _lists(edge: np.ndarray, K: int, P: int, comes: bool) -> Lists:
    """Those of the pairs that are not forbidden, by their second label if `comes`, else by their
    first one.
    """
    n_slots = 0
    for k in range(K):
        n = 0
        for j in range(K):
            n += edge[0, j * K + k if comes else k * K + j] > -np.inf
        n_slots = max(n_slots, n)
    # to look half of them up takes longer than to take all
    is_whole = 2 * n_slots >= K
    n_slots = K if is_whole else n_slots
    labels = np.zeros(n_slots * P, np.int64)
    scores = np.full(n_slots * P, -np.inf)
    for k in range(K):
        s = 0
        for j in range(K):
            score = edge[0, j * K + k if comes else k * K + j]
            if is_whole or score > -np.inf:
                labels[s * P + k] = j
                scores[s * P + k] = score
                s += 1
    return Lists(labels, scores, n_slots, is_whole)


@uncounted
def _go_forward(node: np.ndarray, first: int, end: int, into: Lists, room: Room) -> float:
    """Write the marks of spans, and the alphas of the last one; return log Z."""
    P = len(room.score)
    log_Z = 0.0 if _are_scores(into.scores) else np.nan
    o = 0
    for s in range(end - first):
        o = s % SPAN * P
        log_Z += _go_on(node, first + s, s, into, room)
        if not _are_scores(room.score) or np.isnan(log_Z):
            return np.nan
        if not _top(room.best, o, P) > -np.inf:
            return -np.inf
        if s % SPAN == 0:
            _copy(room.best, o, room.marks, s // SPAN * P, P)
    top = _top(room.best, o, P)
    mass = splat(0.0)
    for k in range(0, P, LANES):
        far = exp(sub(load(room.best, o + k), splat(top)))
        mass = fma(far, load(room.mass, o + k), mass)
    rest: float = top + np.log(total(mass))
    return log_Z + rest


@inlined
def _go_on(node: np.ndarray, t: int, s: int, into: Lists, room: Room) -> float:
    """Write the alphas of step s, which is token t; return what was taken out of them."""
    P = len(room.score)
    o = s % SPAN * P
    _read(node, t, room.score)
    if s == 0:
        _copy(room.score, 0, room.best, o, P)
        _fill(room.mass, o, 1.0, P)
        return 0.0
    before = (s - 1) % SPAN * P
    # of the step before, so that nobody waits for it
    top = _top(room.best, before, P)
    _follow(room.best, room.mass, before, into, room, room.into, room.best, room.mass, o)
    for k in range(0, P, LANES):
        best = sub(add(load(room.best, o + k), load(room.score, k)), splat(top))
        store(room.best, o + k, best)
    if s % MOVED == 0:
        _move(room.best, room.mass, o, P)
    return top


@uncounted
def _go_back(
    node: np.ndarray,
    first: int,
    end: int,
    weight: float,
    into: Lists,
    out_of: Lists,
    replaces: bool,
    room: Room,
    out: np.ndarray,
) -> None:
    """Add weighted marginals of labels to `out`, and those of pairs up."""
    P = len(room.score)
    last = end - first - 1
    _fill(room.beta, 0, 0.0, P)
    _fill(room.beta_mass, 0, 1.0, P)
    for span in range(last // SPAN, -1, -1):
        begin = span * SPAN
        # the alphas of the last span are there
        if span < last // SPAN:
            _copy(room.marks, span * P, room.best, 0, P)
            _fill(room.mass, 0, 1.0, P)
            for s in range(begin + 1, begin + SPAN):
                _go_on(node, first + s, s, into, room)
        for s in range(min(last, begin + SPAN - 1), begin - 1, -1):
            top = _meet(room, s % SPAN * P, weight, out_of.n_slots if s < last else 0)
            # before its place is taken
            _read(node, first + s, room.score)
            for k in range(node.shape[1]):
                kept = out.dtype.type(0) if replaces else out[first + s, k]
                out[first + s, k] = kept + room.share[k]
            for k in range(0, P, LANES):
                ahead = add(load(room.score, k), load(room.beta, k))
                store(room.ahead, k, sub(ahead, splat(top)))
            _copy(room.beta_mass, 0, room.ahead_mass, 0, P)
            _follow(
                room.ahead,
                room.ahead_mass,
                0,
                out_of,
                room,
                room.out_of,
                room.beta,
                room.beta_mass,
                0,
            )
            if s % MOVED == 0:
                _divide(room.out_of, room.beta_mass, out_of.n_slots)
                _move(room.beta, room.beta_mass, 0, P)


@inlined
def _meet(room: Room, o: int, weight: float, n_slots: int) -> float:
    """Write the weighted marginals of the token whose alphas are at o, and add those of the pairs
    that begin with it; return the largest score of alpha and beta.
    """
    P = len(room.score)
    top = splat(LOWEST)
    for k in range(0, P, LANES):
        top = maximum(add(load(room.best, o + k), load(room.beta, k)), top)
    highest = largest(top)
    mass = splat(0.0)
    for k in range(0, P, LANES):
        both = exp(sub(add(load(room.best, o + k), load(room.beta, k)), splat(highest)))
        both = mul(both, load(room.mass, o + k))
        store(room.share, k, both)
        mass = fma(both, load(room.beta_mass, k), mass)
    scale = splat(weight / total(mass))
    for k in range(0, P, LANES):
        # without the mass of beta, which is the sum of the terms
        share = mul(load(room.share, k), scale)
        for s in range(n_slots):
            m = s * P + k
            store(room.pairs, m, fma(share, load(room.out_of, m), load(room.pairs, m)))
        store(room.share, k, mul(share, load(room.beta_mass, k)))
    return highest


@inlined
def _follow(
    best: np.ndarray,
    mass: np.ndarray,
    o: int,
    lists: Lists,
    room: Room,
    terms: np.ndarray,
    out: np.ndarray,
    out_mass: np.ndarray,
    to: int,
) -> None:
    """Write at `to` what comes to each label from those that are listed for it."""
    P = len(room.score)
    n = lists.n_slots
    if not lists.is_whole:
        # all before any is loaded, as to load eight that have just been stored takes long
        for m in range(n * P):
            room.listed[m] = best[o + lists.labels[m]]
            room.listed[n * P + m] = mass[o + lists.labels[m]]
    for k in range(0, P, LANES):
        top = splat(-np.inf)
        for s in range(n):
            m = s * P + k
            x = splat(best[o + s]) if lists.is_whole else load(room.listed, m)
            x = add(x, load(lists.scores, m))
            store(terms, m, x)
            top = maximum(x, top)
        # -inf less -inf would be nan
        highest = maximum(top, splat(LOWEST))
        sum_of_terms = splat(0.0)
        for s in range(n):
            m = s * P + k
            x = splat(mass[o + s]) if lists.is_whole else load(room.listed, n * P + m)
            x = mul(exp(sub(load(terms, m), highest)), x)
            store(terms, m, x)
            sum_of_terms = add(sum_of_terms, x)
        store(out, to + k, top)
        store(out_mass, to + k, sum_of_terms)


@inlined
def _move(best: np.ndarray, mass: np.ndarray, o: int, P: int) -> None:
    """Masses become 1, and what they were goes to the best scores."""
    for m in range(o, o + P):
        best[m] += np.log(mass[m])
        mass[m] = 1.0


@inlined
def _divide(terms: np.ndarray, mass: np.ndarray, n_slots: int) -> None:
    """Terms of masses become shares of them."""
    P = len(mass)
    for k in range(P):
        for s in range(n_slots if mass[k] > 0.0 else 0):
            terms[s * P + k] /= mass[k]


@inlined
def _read(node: np.ndarray, t: int, score: np.ndarray) -> None:
    """The scores of a token; behind them stand labels that are impossible."""
    K = node.shape[1]
    for k in range(K):
        score[k] = node[t, k]
    for k in range(K, len(score)):
        score[k] = -np.inf


@inlined
def _are_scores(scores: np.ndarray) -> bool:
    """Whether none is NaN or inf."""
    are_scores = True
    for m in range(len(scores)):
        are_scores &= scores[m] < np.inf
    return are_scores


@inlined
def _top(row: np.ndarray, o: int, P: int) -> float:
    top = splat(-np.inf)
    for m in range(o, o + P, LANES):
        top = maximum(load(row, m), top)
    return largest(top)


@inlined
def _copy(row: np.ndarray, o: int, out: np.ndarray, to: int, P: int) -> None:
    for k in range(0, P, LANES):
        store(out, to + k, load(row, o + k))


@inlined
def _fill(row: np.ndarray, o: int, number: float, P: int) -> None:
    for k in range(0, P, LANES):
        store(row, o + k, splat(number))
