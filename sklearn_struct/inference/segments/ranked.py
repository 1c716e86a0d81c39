"""The n best segmentations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.inference.segments.segment_scores import Places, Scores, first_candidate

__all__ = ["nbest"]


class _Lists(NamedTuple):
    """The best scores of one sequence, best first, and where each comes from.

    ``ends`` (T + 1, K, n) of what ends with a label, by the number of tokens and the rank of what
    comes before; ``begun`` (T, K, n) of what comes before a segment, by label and rank of its end.
    ``tokens`` (T, K) are scores less what was taken away at each, which is ``taken`` (T,).
    """

    ends: np.ndarray
    ends_by: np.ndarray
    ends_rank: np.ndarray
    begun: np.ndarray
    begun_by: np.ndarray
    begun_rank: np.ndarray
    tokens: np.ndarray
    taken: np.ndarray


def nbest(scores: Scores, places: Places, labels: np.ndarray, score: np.ndarray) -> None:
    """Write the n best segmentations (n, n_tokens) and their scores (n, n_sequences), best first;
    -inf where there are fewer.
    """
    n = len(score)
    K = scores.node.shape[1]
    n_rows = int(np.diff(places.offsets).max(initial=0)) + 1
    ends, begun = np.empty((2, n_rows, K, n))
    ends_by, ends_rank, begun_by, begun_rank = np.empty((4, n_rows, K, n), np.int32)
    tokens = np.empty((n_rows, K))
    taken = np.empty(n_rows)
    lists = _Lists(ends, ends_by, ends_rank, begun, begun_by, begun_rank, tokens, taken)
    _nbest(scores, places, lists, labels, score)


@kernel
def _insert(
    row: np.ndarray, by: np.ndarray, rank: np.ndarray, score: float, b: int, r: int
) -> bool:
    """Put a score into a list, best first; False if it is worse than all."""
    place = len(row)
    while place > 0 and score > row[place - 1]:
        place -= 1
    if place == len(row):
        return False
    for m in range(len(row) - 1, place, -1):
        row[m] = row[m - 1]
        by[m] = by[m - 1]
        rank[m] = rank[m - 1]
    row[place] = score
    by[place] = b
    rank[place] = r
    return True


@kernel
def _nbest(
    scores: Scores, places: Places, lists: _Lists, labels: np.ndarray, score: np.ndarray
) -> None:
    K = scores.node.shape[1]
    n = len(score)
    last = np.empty(n)
    last_label = np.empty(n, np.int32)
    last_rank = np.empty(n, np.int32)
    for i in range(len(places.offsets) - 1):
        t0 = places.offsets[i]
        T = places.offsets[i + 1] - t0
        for e in range(1, T + 1):
            _begin(scores, places, i, e, lists)
            _end(scores, places, i, e, lists)
        last[:] = -np.inf
        for k in range(K if T > 0 else 0):
            for r in range(n):
                if not _insert(last, last_label, last_rank, lists.ends[T, k, r], k, r):
                    break
        if T == 0:
            last[0] = 0.0
        total = np.sum(lists.taken[:T])
        for r in range(n):
            score[r, i] = last[r] + total
            for t in range(t0, t0 + T):
                labels[r, t] = 0
            if last[r] > -np.inf:
                _follow(lists, t0, T, last_label[r], last_rank[r], labels[r])


@kernel
def _begin(scores: Scores, places: Places, i: int, e: int, lists: _Lists) -> None:
    """Write what comes before a segment whose first token is e - 1, and the score of this."""
    edge = scores.edge
    K = edge.shape[1]
    row = places.edge_offsets[i] + e - 2 if len(edge) > 1 else 0
    begun = lists.begun[e - 1]
    begun[:] = -np.inf
    for k in range(K):
        if e == 1:
            begun[k, 0] = 0.0
        for j in range(K if e > 1 else 0):
            for r in range(begun.shape[1]):
                score = lists.ends[e - 1, j, r] + edge[row, j, k]
                by = lists.begun_by[e - 1, k]
                if not _insert(begun[k], by, lists.begun_rank[e - 1, k], score, j, r):
                    break
        if len(scores.first) > 0:
            begun[k] += scores.first[places.offsets[i] + e - 1, k]


@kernel
def _end(scores: Scores, places: Places, i: int, e: int, lists: _Lists) -> None:
    """Write what ends with token e - 1, and take the best that is open there away."""
    node, _, length, _, last, whole = scores
    _, L, K = length.shape
    t = places.offsets[i] + e - 1
    c = places.whole_offsets[i] + first_candidate(e - 1, L)
    row = len(length) - 1 if t + 1 == places.offsets[i + 1] else 0
    ends = lists.ends[e]
    ends[:] = -np.inf
    top = -np.inf
    for k in range(K):
        tokens = node[t, k]
        for m in range(min(L, e)):
            if m > 0:
                tokens += lists.tokens[e - 1 - m, k]
            of_segment = length[row, m, k]
            if len(last) > 0:
                of_segment += last[t, k]
            if len(whole) > 0:
                of_segment += whole[c + m, k]
            top = max(top, tokens + lists.begun[e - 1 - m, k, 0])
            for r in range(ends.shape[1]):
                score = lists.begun[e - 1 - m, k, r] + tokens + of_segment
                if not _insert(
                    ends[k], lists.ends_by[e, k], lists.ends_rank[e, k], score, m + 1, r
                ):
                    break
    # whatever is taken away comes back in the end
    lists.taken[e - 1] = top if top > -np.inf else 0.0
    ends -= lists.taken[e - 1]
    for k in range(K):
        lists.tokens[e - 1, k] = node[t, k] - lists.taken[e - 1]


@kernel
def _follow(lists: _Lists, t0: int, T: int, label: int, rank: int, labels: np.ndarray) -> None:
    """Write the codes of the segmentation that ends with a label and has a rank among these."""
    K = lists.tokens.shape[1]
    e = T
    while e > 0:
        s = e - lists.ends_by[e, label, rank]
        rank = lists.ends_rank[e, label, rank]
        for t in range(s, e):
            labels[t0 + t] = label + K if t > s else label
        before = lists.begun_by[s, label, rank]
        rank = lists.begun_rank[s, label, rank]
        label = before
        e = s
