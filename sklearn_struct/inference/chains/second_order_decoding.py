"""Chains of second order, max-sum and sampling: Viterbi, n-best labellings, draws from p(y | x).

The twins of those in `first_order_decoding`, on the states of `second_order`; ties go to the
smallest label.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
    at,
    largest,
    load,
    load_part,
    maximum,
    padded,
    splat,
    store,
    sub,
    workspace,
)
from sklearn_struct.inference.chains.first_order_decoding import draw, longest, next_head
from sklearn_struct.inference.chains.first_order_log import log_sum_exp
from sklearn_struct.inference.chains.flat_tuples import TripleLinks, Triples
from sklearn_struct.inference.chains.second_order_log import edge_scores, log_forward

__all__ = ["argmax", "nbest", "path_score", "sample"]


@kernel
def path_score(
    potentials: Triples, structure: TripleLinks, labels: np.ndarray, score: np.ndarray
) -> None:
    """Write the sum of log-potentials along a given labelling (n,) int32 of each sequence."""
    for s in range(len(score)):
        T = structure.offsets[s + 1] - structure.offsets[s]
        place = structure.edge_offsets[s], structure.triple_offsets[s]
        score[s] = _path_score(potentials, labels, structure.offsets[s], place, T)


@kernel
def _path_score(
    potentials: Triples, labels: np.ndarray, t0: int, place: tuple[int, int], T: int
) -> float:
    node = potentials.node
    edge = potentials.edge
    triple = potentials.triple
    e0, m0 = place
    pair = 0
    total = 0.0
    K = node.shape[1]
    last = len(edge) - 1
    last_triple = len(triple) - 1
    for t in range(T):
        k = labels[t0 + t]
        before = pair
        total += node[t0 + t, k]
        if t > 0:
            pair = labels[t0 + t - 1] * K + k
            total += edge[min(e0 + t - 1, last), pair]
            if t > 1:
                total += triple[min(m0 + t - 2, last_triple), before * K + k]
    return total


def argmax(
    potentials: Triples,
    structure: TripleLinks,
    labels: np.ndarray,
    score: np.ndarray | None = None,
) -> None:
    """Viterbi: write the best labelling (n,) int32 and, if asked for, its score (n_sequences,)."""
    potentials = Triples(*(np.ascontiguousarray(table, np.float64) for table in potentials))
    K = potentials.node.shape[1]
    T = int(np.diff(structure.offsets).max(initial=0))
    P = padded(K)
    delta = workspace((T * K * P,), np.float64)
    table = workspace((K * K * P,), np.float64)
    _viterbi(potentials, structure, delta, table, labels)
    if score is not None:
        path_score(potentials, structure, labels, score)


@kernel
def _viterbi(
    potentials: Triples,
    structure: TripleLinks,
    delta: np.ndarray,
    table: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Fill delta (T, K, P), the score of the best way to each state; go back along the maxima."""
    node = potentials.node
    tables = potentials.edge, potentials.triple
    shared = len(potentials.edge) == 1 and len(potentials.triple) == 1
    K = potentials.node.shape[1]
    P = padded(K)
    scores = np.empty((K, K, K))
    for s in range(len(structure.offsets) - 1):
        t0 = structure.offsets[s]
        place = structure.edge_offsets[s], structure.triple_offsets[s]
        T = structure.offsets[s + 1] - t0
        for t in range(T):
            # the edge into a second token has no triple; from the third token on all tables are the
            # same, if they are shared
            if t == 1 or t == 2 or (t > 2 and not shared):
                n = edge_scores(tables, place, t, scores)
                for row in range(n * K):
                    for k in range(P):
                        table[row * P + k] = scores[row // K, row % K, k] if k < K else -np.inf
            _arrive(node, t0, t, delta, table)
        state = _best(delta, (T - 1) * K * P, K) if T > 0 else 0
        for t in range(T - 1, -1, -1):
            labels[t0 + t] = state % K
            state = _predecessor(tables, place, t, state, delta, K) if t > 0 else 0


@kernel
def _arrive(node: np.ndarray, t0: int, t: int, delta: np.ndarray, table: np.ndarray) -> None:
    """Write the scores of the best ways to all states of token t, less their maximum: long chains
    lose no digits.
    """
    K = node.shape[1]
    low = splat(-np.inf)
    P = padded(K)
    o = t * K * P
    before = (t - 1) * K * P
    n = 1 if t == 1 else K if t > 1 else 0
    best = low
    for j in range(K):
        for k in range(0, P, LANES):
            # no label comes before the first token: its states have j = 0 alone
            top = splat(0.0) if t == 0 and j == 0 else low
            for i in range(n):
                row = i * K + j
                top = maximum(
                    add(splat(at(delta, before + i * P + j)), load(table, row * P + k)), top
                )
            top = add(load_part(node, (t0 + t) * K + k, K - k, -np.inf), top)
            store(delta, o + j * P + k, top)
            best = maximum(top, best)
    shift = splat(largest(best) if largest(best) > -np.inf else 0.0)
    for m in range(o, o + K * P, LANES):
        store(delta, m, sub(load(delta, m), shift))


@kernel
def _best(delta: np.ndarray, o: int, K: int) -> int:
    """The best state of the last token, whose rows begin at o."""
    best_state = 0
    best = -np.inf
    P = padded(K)
    for k in range(K):
        for j in range(K):
            if delta[o + j * P + k] > best:
                best_state = j * K + k
                best = delta[o + j * P + k]
    return best_state


@kernel
def _predecessor(
    tables: tuple[np.ndarray, np.ndarray],
    place: tuple[int, int],
    t: int,
    state: int,
    delta: np.ndarray,
    K: int,
) -> int:
    """The best state of token t - 1 before a state of token t."""
    edge, triple = tables
    e = min(place[0] + t - 1, len(edge) - 1)
    of_three = min(place[1] + t - 2, len(triple) - 1)
    j = state // K
    best_before = 0
    best = -np.inf
    P = padded(K)
    for i in range(K if t > 1 else 0):
        ways = edge[e, state] + triple[of_three, i * K * K + state]
        score = delta[((t - 1) * K + i) * P + j] + ways
        if score > best:
            best_before = i
            best = score
    return best_before * K + j


@kernel
def nbest(
    potentials: Triples, structure: TripleLinks, labels: np.ndarray, score: np.ndarray
) -> None:
    """The n best labellings of each sequence, best first: as
    `first_order_decoding.nbest`."""
    offsets = structure.offsets
    n = len(score)
    K = potentials.node.shape[1]
    delta = np.empty((longest(offsets), K * K, n))
    back = np.empty((longest(offsets), K * K, n), np.int64)
    for s in range(len(offsets) - 1):
        t0 = offsets[s]
        T = offsets[s + 1] - offsets[s]
        place = structure.edge_offsets[s], structure.triple_offsets[s]
        score[:, s] = -np.inf
        if T == 0:
            score[0, s] = 0.0
            continue
        _extend_lists(potentials, t0, place, T, delta, back)
        heads = np.zeros(K * K, np.int64)
        for r in range(n):
            state = next_head(delta[T - 1], np.zeros(K * K), heads)
            if state < 0:
                break
            rank = heads[state]
            heads[state] += 1
            for t in range(T - 1, -1, -1):
                labels[r, t0 + t] = state % K
                way = back[t, state, rank]
                # the state before has the label that was noted in front, and this one's first label
                # behind it
                state = way // n * K + state // K
                rank = way % n
            score[r, s] = _path_score(potentials, labels[r], t0, place, T)


@kernel
def _extend_lists(
    potentials: Triples,
    t0: int,
    place: tuple[int, int],
    T: int,
    delta: np.ndarray,
    back: np.ndarray,
) -> None:
    """For each token and state the n best ways to arrive: score, and predecessor label i * n +
    rank.
    """
    node = potentials.node
    tables = potentials.edge, potentials.triple
    n = delta.shape[2]
    K = potentials.node.shape[1]
    heads = np.empty(K, np.int64)
    arrival = np.empty(K)
    lists = np.empty((K, n))
    scores = np.empty((K, K, K))
    delta[:T] = -np.inf
    back[:T] = 0
    for t in range(T):
        n_before = edge_scores(tables, place, t, scores) if t > 0 else 0
        best = -np.inf
        for state in range(K * K if t > 0 else K):
            j = state // K
            k = state % K
            for i in range(n_before):
                lists[i] = delta[t - 1, i * K + j]
                arrival[i] = scores[i, j, k] + node[t0 + t, k]
            if t == 0:
                delta[0, k, 0] = node[t0, k]
            heads[:] = 0
            for r in range(n if t > 0 else 0):
                i = next_head(lists, arrival, heads[:n_before])
                if i < 0:
                    break
                delta[t, state, r] = lists[i, heads[i]] + arrival[i]
                back[t, state, r] = i * n + heads[i]
                heads[i] += 1
            best = max(best, delta[t, state, 0])
        if best > -np.inf:
            delta[t] -= best


@kernel
def sample(
    potentials: Triples,
    structure: TripleLinks,
    uniform: np.ndarray,
    labels: np.ndarray,
    score: np.ndarray,
) -> None:
    """Draw one labelling of each sequence from p(y | x): as
    `first_order_decoding.sample`."""
    node = potentials.node
    edge = potentials.edge
    triple = potentials.triple
    offsets = structure.offsets
    last = len(edge) - 1
    last_triple = len(triple) - 1
    K = node.shape[1]
    row = np.empty(K)
    for s in range(len(offsets) - 1):
        t0 = offsets[s]
        T = offsets[s + 1] - offsets[s]
        place = structure.edge_offsets[s], structure.triple_offsets[s]
        alpha = np.empty((T, K, K))
        norms = np.empty(T)
        if T > 0 and not log_forward(potentials, t0, place, alpha, norms):
            score[s] = -np.inf
            continue
        for t in range(T - 1, -1, -1):
            for i in range(K):
                if t == T - 1:
                    # over the label before it, which is drawn next
                    row[i] = log_sum_exp(alpha[t, :, i].copy())
                else:
                    j = labels[t0 + t + 1]
                    # a state of the next token has this label in front, and sums up all before it
                    row[i] = alpha[t + 1, i, j]
                    if t < T - 2:
                        pair = j * K + labels[t0 + t + 2]
                        e = min(place[0] + t + 1, last)
                        of_three = min(place[1] + t, last_triple)
                        row[i] += edge[e, pair] + triple[of_three, i * K * K + pair]
            labels[t0 + t] = draw(row, uniform[t0 + t])
        score[s] = _path_score(potentials, labels, t0, place, T)
