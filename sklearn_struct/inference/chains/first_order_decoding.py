"""Linear chains, max-sum and sampling: Viterbi, n-best labellings, draws from p(y | x).

All of it works on logarithms, row by row normalised so that long chains lose no digits. Scores are
log-potentials summed along a labelling; -inf says that no (further) labelling is allowed. Ties go
to the smallest label.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel, uncounted
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
    where,
    workspace,
)
from sklearn_struct.compiled.small_products import rows_max_plus
from sklearn_struct.inference.chains.first_order_log import log_forward
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs
from sklearn_struct.inference.chains.time_major import Steps, steps

SPARE = 3  # rows behind the last: one less than the rows of a tile

__all__ = ["argmax", "draw", "longest", "nbest", "next_head", "path_score", "sample"]


@kernel
def path_score(potentials: Pairs, structure: Links, labels: np.ndarray, score: np.ndarray) -> None:
    """Write the sum of log-potentials along a given labelling (n,) int32 of each sequence."""
    for i in range(len(score)):
        T = structure.offsets[i + 1] - structure.offsets[i]
        score[i] = _path_score(
            potentials, labels, structure.offsets[i], structure.edge_offsets[i], T
        )


@kernel
def _path_score(potentials: Pairs, labels: np.ndarray, t0: int, e0: int, T: int) -> float:
    node = potentials.node
    edge = potentials.edge
    K = node.shape[1]
    step = 0 if edge.shape[0] == 1 else 1
    total = 0.0
    for t in range(T):
        total += node[t0 + t, labels[t0 + t]]
        if t > 0:
            total += edge[step * (e0 + t - 1), labels[t0 + t - 1] * K + labels[t0 + t]]
    return total


def argmax(
    potentials: Pairs,
    structure: Links,
    labels: np.ndarray,
    score: np.ndarray | None = None,
) -> None:
    """Viterbi: write the best labelling (n,) int32 and, if asked for, its score (n_sequences,).

    There are no back-pointers: going back, the maximum is taken again, along the best path only.
    """
    node, edge = potentials
    places = steps(structure.offsets)
    K = node.shape[1]
    P = padded(K)
    if len(places.order):
        n_rows = places.first[-1] + SPARE
        # no back-pointers are kept: the way back finds the best predecessor again, at one label a
        # token instead of K
        room = workspace(((n_rows + K) * P,), node.dtype)
        delta = room[: n_rows * P]
        table = room[n_rows * P :]
        if edge.shape[0] == 1:
            _best_arrivals(potentials, structure.offsets, *places, delta, table)
        else:
            _best_arrivals_by_edge(potentials, structure, places, delta, table)
        # memory is taken here: a kernel that makes arrays takes twice as long to compile
        columns = np.zeros((K + 1) * P, node.dtype)
        following = np.empty(len(places.order), np.int64)
        _trace_back(edge, K, delta, structure, places, columns, following, labels)
    if score is not None:
        path_score(potentials, structure, labels, score)


@uncounted
def _best_arrivals(
    potentials: Pairs,
    offsets: np.ndarray,
    first: np.ndarray,
    order: np.ndarray,
    delta: np.ndarray,
    table: np.ndarray,
) -> None:
    """Write delta, the score of the best way to each label at each token, where all edges share a
    table.

    Up to three rows too many are computed in each step, whole tiles being quicker; the next step
    overwrites them.
    """
    node = potentials.node
    K = node.shape[1]
    P = padded(K)
    _pad_table(potentials.edge, 0, K, table)
    for i in range(first[1] * P, (first[1] + SPARE) * P):
        delta[i] = 0.0
    for t in range(len(first) - 1):
        n = first[t + 1] - first[t]
        row = first[t]
        if t > 0:
            rows_max_plus(
                delta, first[t - 1] * P, (n + SPARE) // 4 * 4, table, K, P, delta, row * P
            )
        _add_rows(node, offsets, order, t, n, delta, row * P)


@kernel
def _best_arrivals_by_edge(
    potentials: Pairs, structure: Links, places: Steps, delta: np.ndarray, table: np.ndarray
) -> None:
    node = potentials.node
    edge = potentials.edge
    first = places.first
    order = places.order
    K = node.shape[1]
    P = padded(K)
    for t in range(len(first) - 1):
        n = first[t + 1] - first[t]
        row = first[t]
        # no edge leads to a first token
        for r in range(n if t > 0 else t):
            _pad_table(edge, structure.edge_offsets[order[r]] + t - 1, K, table)
            rows_max_plus(
                delta, (first[t - 1] + r) * P, min(n, 1), table, K, P, delta, (row + r) * P
            )
        _add_rows(node, structure.offsets, order, t, n, delta, row * P)


@uncounted
def _trace_back(
    edge: np.ndarray,
    K: int,
    delta: np.ndarray,
    structure: Links,
    places: Steps,
    columns: np.ndarray,
    following: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Write the labels of each sequence along the maxima of delta, all sequences side by side.

    `columns`, of zeros, and `following` are room for the scores of edges into each label, and of no
    edge, and for the label of each sequence's next token.
    """
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    first = places.first
    order = places.order
    low = delta.dtype.type(-np.inf)
    P = padded(K)
    step = 0 if edge.shape[0] == 1 else 1
    if step == 0:
        for j in range(K):
            for k in range(K):
                # transposed, so that scores into one label are consecutive
                columns[k * P + j] = edge[step, j * K + k]
    for r in range(len(order)):
        following[r] = K  # there is none
    # step by step through all sequences, since the loads of one hide the latency of another
    for t in range(len(first) - 2, -1, -1):
        for r in range(first[t + 1] - first[t]):
            i = at(order, r)
            row = (at(first, t) + r) * P
            best = splat(low)
            label = at(following, r)
            c = label * P
            if step == 1 and label < K:
                c = 0
                for k in range(K):
                    # where edges have tables of their own, only the scores into the label that was
                    # chosen are read
                    columns[k] = edge[at(edge_offsets, i) + t, k * K + label]
            for k in range(0, P, LANES):
                best = maximum(add(load(delta, row + k), load(columns, c + k)), best)
            top = largest(best)
            label = 0
            # from the last vector to the first, so that ties go to the smaller label
            for v in range(1, P // LANES + 1):
                k = P - v * LANES
                lane = where(add(load(delta, row + k), load(columns, c + k)), top)
                label = k + lane if lane < LANES else label
            # whatever the scores are: behind the last label stands -inf
            label = label if label < K else K - 1
            following[r] = labels[at(offsets, i) + t] = label


@kernel
def longest(offsets: np.ndarray) -> int:
    longest = 0
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    return longest


@inlined
def _pad_table(edge: np.ndarray, e: int, K: int, table: np.ndarray) -> None:
    P = padded(K)
    for j in range(K):
        for k in range(P):
            table[j * P + k] = edge[e, j * K + k] if k < K else -np.inf


@inlined
def _add_rows(
    node: np.ndarray,
    offsets: np.ndarray,
    order: np.ndarray,
    t: int,
    n: int,
    delta: np.ndarray,
    o: int,
) -> None:
    """Add the node scores of step t to n rows of delta from o on (or set them).

    Every eighth step subtracts each row's maximum: long chains lose no digits.
    """
    K = node.shape[1]
    low = delta.dtype.type(-np.inf)
    # scores add up; maxima are taken out now and then, which is enough for floats below a sixteenth
    # of the largest
    normalise = t % 8 == 7
    for r in range(n):
        m = (at(offsets, at(order, r)) + t) * K
        for k in range(0, K, LANES):
            row = load_part(node, m + k, K - k, low)
            store(delta, o + k, add(row, load(delta, o + k)) if t > 0 else row)
        if normalise:
            best = splat(low)
            for k in range(0, K, LANES):
                best = maximum(load(delta, o + k), best)
            top = largest(best)
            for k in range(0, K if top > low else 0, LANES):
                store(delta, o + k, sub(load(delta, o + k), splat(top)))
        o += padded(K)


@kernel
def nbest(potentials: Pairs, structure: Links, labels: np.ndarray, score: np.ndarray) -> None:
    """The n best labellings of each sequence, best first.

    Writes ``labels`` (n, n_tokens) int32 and ``score`` (n, n_sequences); where fewer than n
    labellings are allowed the rest has score -inf.
    """
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    n = len(score)
    K = potentials.node.shape[1]
    delta = np.empty((longest(offsets), K, n))
    # label and rank in one number, j * n + rank
    back = np.empty((longest(offsets), K, n), np.int64)
    for i in range(len(offsets) - 1):
        t0 = offsets[i]
        T = offsets[i + 1] - offsets[i]
        e0 = edge_offsets[i]
        score[:, i] = -np.inf
        if T == 0:
            # an empty sequence has one labelling, which is empty, and no second one
            score[0, i] = 0.0
            continue
        _extend_lists(potentials, t0, e0, T, delta, back)
        heads = np.zeros(K, np.int64)
        for r in range(n):
            k = next_head(delta[T - 1], np.zeros(K), heads)
            if k < 0:
                break
            state = k * n + heads[k]
            heads[k] += 1
            for t in range(T - 1, -1, -1):
                labels[r, t0 + t] = state // n
                state = back[t, state // n, state % n]
            # summed anew along the labelling: maxima were taken out of delta
            score[r, i] = _path_score(potentials, labels[r], t0, e0, T)


@kernel
def _extend_lists(
    potentials: Pairs, t0: int, e0: int, T: int, delta: np.ndarray, back: np.ndarray
) -> None:
    """The n best ways to each token and label: score, and predecessor label * n + rank."""
    node = potentials.node
    edge = potentials.edge
    K = delta.shape[1]
    n = delta.shape[2]
    step = 0 if edge.shape[0] == 1 else 1
    heads = np.empty(K, np.int64)
    arrival = np.empty(K)
    delta[:T] = -np.inf
    back[:T] = 0
    for t in range(T):
        best = -np.inf
        for k in range(K):
            if t == 0:
                delta[0, k, 0] = node[t0, k]
            else:
                for j in range(K):
                    arrival[j] = np.float64(edge[step * (e0 + t - 1), j * K + k]) + node[t0 + t, k]
                # each list is sorted, so the next best way comes from the head of one of them
                heads[:] = 0
                for r in range(n):
                    j = next_head(delta[t - 1], arrival, heads)
                    if j < 0:
                        break
                    delta[t, k, r] = delta[t - 1, j, heads[j]] + arrival[j]
                    back[t, k, r] = j * n + heads[j]
                    heads[j] += 1
            best = max(best, delta[t, k, 0])
        if best > -np.inf:
            delta[t] -= best


@kernel
def next_head(lists: np.ndarray, arrival: np.ndarray, heads: np.ndarray) -> int:
    """The label whose list has the best remaining entry, or -1 if none is left."""
    best_label = -1
    best = -np.inf
    for j in range(len(heads)):
        if heads[j] < lists.shape[1] and lists[j, heads[j]] + arrival[j] > best:
            best_label = j
            best = lists[j, heads[j]] + arrival[j]
    return best_label


@kernel
def sample(
    potentials: Pairs, structure: Links, uniform: np.ndarray, labels: np.ndarray, score: np.ndarray
) -> None:
    """Draw one labelling of each sequence from p(y | x): forward filtering, backward sampling.

    ``uniform`` (n,) holds one number in [0, 1) a token, so that the draw depends on nothing else.
    Writes ``labels`` (n,) int32 and ``score`` (n_sequences,), -inf where no labelling is allowed.
    """
    node = potentials.node
    edge = potentials.edge
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    K = node.shape[1]
    step = 0 if edge.shape[0] == 1 else 1
    row = np.empty(K)
    for i in range(len(offsets) - 1):
        t0 = offsets[i]
        T = offsets[i + 1] - offsets[i]
        e0 = edge_offsets[i]
        alpha = np.empty((T, K))
        norms = np.empty(T)
        if not log_forward(node, edge, t0, e0, alpha, norms):
            score[i] = -np.inf
            continue
        for t in range(T - 1, -1, -1):
            for k in range(K):
                row[k] = alpha[t, k]
                if t < T - 1:
                    row[k] += edge[step * (e0 + t), k * K + labels[t0 + t + 1]]
            labels[t0 + t] = draw(row, uniform[t0 + t])
        score[i] = _path_score(potentials, labels, t0, e0, T)


@kernel
def draw(log_weights: np.ndarray, u: float) -> int:
    """The label at which the cumulated weights pass the fraction u of their sum."""
    weights = np.exp(log_weights - np.max(log_weights))
    # not normalised: the sum is as good as 1
    rest = u * np.sum(weights)
    chosen = 0
    for k in range(len(weights)):
        # rounding may leave a rest behind the last label; then it is the last one that is possible
        if weights[k] > 0.0:
            chosen = k
            rest -= weights[k]
            if rest < 0.0:
                break
    return chosen
