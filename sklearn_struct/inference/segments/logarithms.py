"""Sums over segmentations in logarithms, real or complex: right for any scores.

``alpha[e, k]`` sums what ends at token e - 1 with a segment of label k, ``begun[s, k]`` what comes
before a segment of label k that starts at s. Each position takes away the largest score of the
segments that are open there, so magnitudes are those of a few tokens however long a sequence is.
Scores of a segment's tokens are added up from its end, so none is a difference of two large sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.inference.graphs.log_sum import log_sum
from sklearn_struct.inference.segments.segment_scores import Places, Scores, first_candidate

__all__ = ["Lattice", "lattice", "log_forward", "log_marginals"]

# logarithms of numbers that are not 0
LEAST = -746.0


class Lattice(NamedTuple):
    """``alpha`` (T + 1, K), ``begun`` (T, K), and scores of tokens less what was taken away."""

    alpha: np.ndarray
    begun: np.ndarray
    gain: np.ndarray


def lattice(n_tokens: int, n_labels: int, dtype: np.dtype) -> Lattice:
    """Room for the sums of a sequence of at most so many tokens."""
    room = np.empty((3, n_tokens + 1, n_labels), dtype)
    return Lattice(*room)


@kernel
def log_forward(scores: Scores, places: Places, i: int, work: Lattice) -> Any:
    """Fill the lattice of sequence i; return its log Z."""
    node, edge, length, first, last, whole = scores
    alpha, begun, gain = work
    t0 = places.offsets[i]
    T = places.offsets[i + 1] - t0
    e0 = places.edge_offsets[i]
    _, L, K = length.shape
    step = 0 if len(edge) == 1 else 1
    terms = np.empty(L, node.dtype)
    row = np.empty(K, node.dtype)
    log_Z = node.dtype.type(0.0)
    for e in range(1, T + 1):
        for k in range(K):
            for j in range(K if e > 1 else 0):
                row[j] = alpha[e - 1, j] + edge[step * (e0 + e - 2), j, k]
            begun[e - 1, k] = log_sum(row) if e > 1 else node.dtype.type(0.0)
            if len(first) > 0:
                begun[e - 1, k] += first[t0 + e - 1, k]
        top = -np.inf
        m = min(L, e)
        c = places.whole_offsets[i] + first_candidate(e - 1, L)
        r = len(length) - 1 if e == T else 0
        for k in range(K):
            tokens = node[t0 + e - 1, k]
            for n in range(m):
                if n > 0:
                    tokens = tokens + gain[e - 1 - n, k]
                terms[n] = begun[e - 1 - n, k] + tokens
                top = max(top, terms[n].real)
                terms[n] += length[r, n, k]
                if len(whole) > 0:
                    terms[n] += whole[c + n, k]
            alpha[e, k] = log_sum(terms[:m])
            if len(last) > 0:
                alpha[e, k] += last[t0 + e - 1, k]
        if top == -np.inf:
            return node.dtype.type(-np.inf)
        for k in range(K):
            alpha[e, k] -= top
            gain[e - 1, k] = node[t0 + e - 1, k] - top
        log_Z += top
    if T > 0:
        log_Z += log_sum(alpha[T])
    return log_Z


@kernel
def log_marginals(
    scores: Scores,
    places: Places,
    weight: np.ndarray,
    again: np.ndarray,
    work: Lattice,
    out: Scores,
    log_Z: np.ndarray,
) -> None:
    """Add weighted marginals of the sequences that are marked in `again`; write their log Z."""
    for i in range(len(weight)):
        if again[i]:
            log_Z[i] = log_forward(scores, places, i, work)
            if log_Z[i].real > -np.inf:
                _log_backward(scores, places, i, work, weight[i], out)


@kernel
def _log_backward(
    scores: Scores, places: Places, i: int, work: Lattice, weight: float, out: Scores
) -> None:
    """Add the marginals of sequence i, whose lattice is full."""
    node, edge, length, first, last, whole = scores
    alpha, begun, gain = work
    t0 = places.offsets[i]
    T = places.offsets[i + 1] - t0
    e0 = places.edge_offsets[i]
    _, L, K = length.shape
    step = 0 if len(edge) == 1 else 1
    out_step = 0 if len(out.edge) == 1 else 1
    beta = np.empty((T + 1, K), node.dtype)
    after = np.empty(K, node.dtype)
    row = np.empty(K, node.dtype)
    terms = np.empty(L, node.dtype)
    if T > 0:
        # alpha times beta are probabilities
        beta[T] = -log_sum(alpha[T])
    for s in range(T - 1, -1, -1):
        m = min(L, T - s)
        for k in range(K if len(last) > 0 else 0):
            # alpha has the score of the last token already, beta gets it for what begins before
            p = weight * np.exp(alpha[s + 1, k] + beta[s + 1, k])
            out.last[t0 + s, k] += p
            beta[s + 1, k] += last[t0 + s, k]
        for k in range(K):
            tokens = node.dtype.type(0.0)
            for n in range(m):
                tokens = tokens + gain[s + n, k]
                r = len(length) - 1 if s + n + 1 == T else 0
                terms[n] = tokens + length[r, n, k] + beta[s + n + 1, k]
                if len(whole) > 0:
                    terms[n] += whole[places.whole_offsets[i] + first_candidate(s + n, L) + n, k]
            after[k] = log_sum(terms[:m])
            longer = node.dtype.type(0.0)
            for n in range(m - 1, -1, -1):
                log_p = begun[s, k] + terms[n]
                p = node.dtype.type(0.0)
                # whose exponential is not 0
                if log_p.real > LEAST:
                    p = p + weight * np.exp(log_p)
                # a token is in all segments that end behind it
                longer = longer + p
                out.node[t0 + s + n, k] += longer
                out.length[len(length) - 1 if s + n + 1 == T else 0, n, k] += p
                if len(whole) > 0:
                    out.whole[places.whole_offsets[i] + first_candidate(s + n, L) + n, k] += p
            if len(first) > 0:
                out.first[t0 + s, k] += longer
                after[k] += first[t0 + s, k]
        for j in range(K if s > 0 else 0):
            edge_r = step * (e0 + s - 1)
            out_r = out_step * (e0 + s - 1)
            for k in range(K):
                row[k] = edge[edge_r, j, k] + after[k]
                out.edge[out_r, j, k] += weight * np.exp(alpha[s, j] + row[k])
            beta[s, j] = log_sum(row)
