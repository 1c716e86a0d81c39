"""The best segmentation, given ones and drawn ones. Scores of segments are added up token by token
from their ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import (
    LANES,
    add,
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
from sklearn_struct.compiled.small_products import rows_max_plus
from sklearn_struct.inference.segments.logarithms import Lattice, log_forward
from sklearn_struct.inference.segments.segment_scores import Places, Scores, first_candidate

__all__ = ["add_labelling", "argmax", "sample"]


class _Best(NamedTuple):
    """Rows of whole vectors of one sequence: ``node`` scores less what was taken away, the best of
    what ends at a token, and of what comes before a segment; and the tables.
    """

    node: np.ndarray
    ends: np.ndarray
    begun: np.ndarray
    edge: np.ndarray
    length: np.ndarray
    first: np.ndarray
    last: np.ndarray
    whole: np.ndarray


def argmax(scores: Scores, places: Places, labels: np.ndarray) -> None:
    """Write the best segmentation; some if none is allowed."""
    P = padded(scores.node.shape[1])
    n_rows = int(np.diff(places.offsets).max(initial=0)) + 1
    rows = workspace((3, n_rows * P), np.float64)
    tables = [_in_vectors(table) for table in scores[1:]]
    _argmax(scores.node, places, _Best(*rows, *tables), labels)


def _in_vectors(table: np.ndarray) -> np.ndarray:
    """A table whose rows are filled up with -inf."""
    *shape, K = table.shape
    rows = workspace((*shape, padded(K)), np.float64)
    rows[..., :K] = table
    rows[..., K:] = -np.inf
    return rows


@kernel
def _argmax(node: np.ndarray, places: Places, best: _Best, labels: np.ndarray) -> None:
    K = node.shape[1]
    _, L, P = best.length.shape
    step = 0 if len(best.edge) == 1 else 1
    for i in range(len(places.offsets) - 1):
        t0 = places.offsets[i]
        T = places.offsets[i + 1] - t0
        e0 = places.edge_offsets[i]
        for k in range(P):
            best.begun[k] = 0.0 if k < K else -np.inf
        for e in range(1, T + 1):
            for k in range(0, P, LANES):
                row = load_part(node, (t0 + e - 1) * K + k, K - k, -np.inf)
                store(best.node, (e - 1) * P + k, row)
            if e > 1:
                table = best.edge[step * (e0 + e - 2)]
                rows_max_plus(best.ends, (e - 1) * P, 1, table, K, P, best.begun, (e - 1) * P)
            _add_row(best.begun, e - 1, best.first, t0 + e - 1, P)
            c = places.whole_offsets[i] + first_candidate(e - 1, L)
            top = _best_ends(best, e, c, len(best.length) - 1 if e == T else 0)
            _add_row(best.ends, e, best.last, t0 + e - 1, P)
            taken = splat(top if top > -np.inf else 0.0)
            for m in range(e * P, (e + 1) * P, LANES):
                store(best.ends, m, sub(load(best.ends, m), taken))
                store(best.node, m - P, sub(load(best.node, m - P), taken))
        _go_back(best, places, i, K, labels)


@kernel
def _add_row(rows: np.ndarray, r: int, table: np.ndarray, t: int, P: int) -> None:
    """Add the row of a token to row r, if tokens have one."""
    if len(table) > 0:
        for k in range(0, P, LANES):
            store(rows, r * P + k, add(load(rows, r * P + k), load(table, t * P + k)))


@kernel
def _best_ends(best: _Best, e: int, c: int, r: int) -> float:
    """Write the best scores of what ends before token e, with lengths of table r; return the
    largest that is open there.
    """
    _, L, P = best.length.shape
    has_whole = len(best.whole) > 0
    top = splat(-np.inf)
    for k in range(0, P, LANES):
        tokens = load(best.node, (e - 1) * P + k)
        ends = splat(-np.inf)
        for n in range(min(L, e)):
            s = e - 1 - n
            if n > 0:
                tokens = add(tokens, load(best.node, s * P + k))
            term = add(tokens, load(best.begun, s * P + k))
            top = maximum(term, top)
            if has_whole:
                term = add(term, load(best.whole, (c + n) * P + k))
            ends = maximum(add(term, load(best.length, (r * L + n) * P + k)), ends)
        store(best.ends, e * P + k, ends)
    return largest(top)


@kernel
def _go_back(best: _Best, places: Places, i: int, K: int, labels: np.ndarray) -> None:
    """Write the best segmentation of sequence i, from its end; of equal ones the smaller label and
    the shorter segment.
    """
    _, L, P = best.length.shape
    t0 = places.offsets[i]
    e = places.offsets[i + 1] - t0
    step = 0 if len(best.edge) == 1 else 1
    behind = -1
    r = len(best.length) - 1
    while e > 0:
        chosen = 0
        top = -np.inf
        for k in range(K):
            score = best.ends[e * P + k]
            if behind >= 0:
                score += best.edge[step * (places.edge_offsets[i] + e - 1), k, behind]
            if score > top:
                top = score
                chosen = k
        n_tokens = 1
        top = -np.inf
        tokens = 0.0
        c = places.whole_offsets[i] + first_candidate(e - 1, L)
        for n in range(min(L, e)):
            m = (e - 1 - n) * P + chosen
            tokens += best.node[m]
            score = tokens + best.begun[m] + best.length[r, n, chosen]
            if len(best.whole) > 0:
                score += best.whole[c + n, chosen]
            if score > top:
                top = score
                n_tokens = n + 1
        for t in range(t0 + e - n_tokens, t0 + e):
            labels[t] = chosen + K
        e -= n_tokens
        labels[t0 + e] = chosen
        behind = chosen
        r = 0


@kernel
def sample(
    scores: Scores, places: Places, uniform: np.ndarray, work: Lattice, labels: np.ndarray
) -> None:
    """Draw one segmentation of each sequence from p(y | x): forward filtering, backward sampling.

    The number of a segment's last token draws its label, and with what is left its length.
    """
    _, edge, length, _, _, whole = scores
    _, L, K = length.shape
    step = 0 if len(edge) == 1 else 1
    row = np.empty(K)
    terms = np.empty(L)
    for i in range(len(places.offsets) - 1):
        t0 = places.offsets[i]
        e = places.offsets[i + 1] - t0
        possible = log_forward(scores, places, i, work).real > -np.inf
        behind = -1
        r = len(length) - 1
        while e > 0:
            for k in range(K):
                row[k] = work.alpha[e, k] if possible else 0.0
                if behind >= 0 and possible:
                    row[k] += edge[step * (places.edge_offsets[i] + e - 1), k, behind]
            chosen, left = _draw(row, uniform[t0 + e - 1])
            tokens = 0.0
            m = min(L, e)
            c = places.whole_offsets[i] + first_candidate(e - 1, L)
            for n in range(m if possible else 0):
                tokens += work.gain[e - 1 - n, chosen]
                terms[n] = work.begun[e - 1 - n, chosen] + tokens + length[r, n, chosen]
                if len(whole) > 0:
                    terms[n] += whole[c + n, chosen]
            n_tokens = _draw(terms[:m], left)[0] + 1 if possible else 1
            for t in range(t0 + e - n_tokens, t0 + e):
                labels[t] = chosen + K
            e -= n_tokens
            labels[t0 + e] = chosen
            behind = chosen
            r = 0


@kernel
def _draw(log_weights: np.ndarray, u: float) -> tuple[int, float]:
    """The place at which the cumulated weights pass the fraction u of their sum, and how far along
    its own weight that is, in [0, 1).
    """
    weights = np.exp(log_weights - np.max(log_weights))
    rest = u * np.sum(weights)
    chosen = 0
    left = 0.0
    for k in range(len(weights)):
        # rounding may leave a rest behind the last one; then it is the last one that is possible
        if weights[k] > 0.0:
            chosen = k
            left = min(rest / weights[k], 1.0 - 1e-16)
            rest -= weights[k]
            if rest < 0.0:
                break
    return chosen, left


@kernel
def add_labelling(
    scores: Scores,
    places: Places,
    labels: np.ndarray,
    weight: np.ndarray,
    out: Scores,
    score: np.ndarray,
) -> None:
    """Add ``weight[i]`` times the indicators of a segmentation to `out`, and write its score; what
    is longer than segments may be has none.
    """
    node, edge, length, first, last, whole = scores
    _, L, K = length.shape
    step = 0 if len(edge) == 1 else 1
    out_step = 0 if len(out.edge) == 1 else 1
    for i in range(len(weight)):
        score[i] = 0.0
        w = weight[i]
        t0 = places.offsets[i]
        T = places.offsets[i + 1] - t0 if w != 0.0 else 0
        start = 0
        for t in range(T):
            k = labels[t0 + t] % K
            score[i] += node[t0 + t, k]
            out.node[t0 + t, k] += w
            if labels[t0 + t] < K:
                start = t
                if len(first) > 0:
                    score[i] += first[t0 + t, k]
                    out.first[t0 + t, k] += w
            if labels[t0 + t] < K and t > 0:
                j = labels[t0 + t - 1] % K
                e = places.edge_offsets[i] + t - 1
                score[i] += edge[step * e, j, k]
                out.edge[out_step * e, j, k] += w
            if t + 1 == T or labels[t0 + t + 1] < K:
                n = t - start
                if n >= L:
                    score[i] = -np.inf
                    continue
                r = len(length) - 1 if t + 1 == T else 0
                score[i] += length[r, n, k]
                out.length[r, n, k] += w
                if len(last) > 0:
                    score[i] += last[t0 + t, k]
                    out.last[t0 + t, k] += w
                if len(whole) > 0:
                    c = places.whole_offsets[i] + first_candidate(t, L) + n
                    score[i] += whole[c, k]
                    out.whole[c, k] += w
