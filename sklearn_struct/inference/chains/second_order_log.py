"""Chains of second order in log space, one at a time: slow, and right for any scores.

A state is two labels (j, k), of a token and of the one before it; there is one label before the
first token, so states of the first token have j = 0, and the scores of the first edge i = 0. Rows
are normalised as in `first_order_log`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.inference.chains.first_order_log import centre, log_sum_exp, normalise
from sklearn_struct.inference.chains.flat_tuples import TripleLinks, Triples

__all__ = ["edge_scores", "log_forward", "log_marginals", "log_tangent"]


@kernel
def edge_scores(
    tables: tuple[np.ndarray, np.ndarray], place: tuple[int, int], t: int, scores: np.ndarray
) -> int:
    """Write the scores of the edge into token t > 0, pair plus triple (i, j, k); return how many i.

    Of the sequence whose first edge and first triple `place` names; the second token has no triple.
    """
    edge, triple = tables
    e0, m0 = place
    row = min(e0 + t - 1, len(edge) - 1)
    of_three = min(m0 + t - 2, len(triple) - 1)
    with_triples = t > 1
    K = scores.shape[1]
    n = K if with_triples else 1
    for i in range(n):
        for j in range(K):
            for k in range(K):
                scores[i, j, k] = edge[row, j * K + k]
                if with_triples:
                    scores[i, j, k] += triple[of_three, (i * K + j) * K + k]
    return n


@kernel
def log_forward(
    potentials: Triples, t0: int, place: tuple[int, int], alpha: np.ndarray, norms: np.ndarray
) -> bool:
    """Write normalised log alpha (T, K, K) of the tokens from t0, and the normalisers; return
    whether a path exists. `place` is as in `edge_scores`.
    """
    node = potentials.node
    tables = potentials.edge, potentials.triple
    T = alpha.shape[0]
    K = alpha.shape[1]
    scores = np.empty((K, K, K))
    terms = np.empty(K)
    alpha[:1, 1:] = -np.inf  # where there is a first token
    for t in range(T):
        n = edge_scores(tables, place, t, scores) if t > 0 else 0
        for j in range(K if t > 0 else 1):
            for k in range(K):
                alpha[t, j, k] = node[t0 + t, k]
                if t > 0:
                    for i in range(n):
                        terms[i] = alpha[t - 1, i, j] + scores[i, j, k]
                    alpha[t, j, k] += log_sum_exp(terms[:n])
        norms[t] = log_sum_exp(alpha[t].reshape(-1))
        if norms[t] == -np.inf:
            return False
        alpha[t] -= norms[t]
    return True


@kernel
def log_marginals(
    potentials: Triples, structure: TripleLinks, s: int, weight: float, out: Triples
) -> float:
    """Add `weight` times the marginals of sequence s to `out`; return its log Z."""
    node = potentials.node
    tables = potentials.edge, potentials.triple
    out_node = out.node
    out_tables = out.edge, out.triple
    t0 = structure.offsets[s]
    T = structure.offsets[s + 1] - structure.offsets[s]
    place = structure.edge_offsets[s], structure.triple_offsets[s]
    K = node.shape[1]
    alpha = np.empty((T, K, K))
    beta = np.zeros((K, K))
    norms = np.empty(T)
    after = np.zeros((K, K))
    scores = np.empty((K, K, K))
    cells = np.empty((K, K, K))
    if not log_forward(potentials, t0, place, alpha, norms):
        return -np.inf
    for t in range(T - 1, -1, -1):
        if t < T - 1:
            n = edge_scores(tables, place, t + 1, scores)
            for j in range(K):
                for k in range(K):
                    after[j, k] = node[t0 + t + 1, k] + beta[j, k] - norms[t + 1]
            for i in range(n):
                for j in range(K):
                    scores[i, j] += after[j]
                    cells[i, j] = alpha[t, i, j] + scores[i, j]
            for i in range(n):
                for j in range(K):
                    beta[i, j] = log_sum_exp(scores[i, j])
            normalise(cells[:n].reshape(-1))
            _add_cells(cells[:n], weight, place, t + 1, out_tables)
        row = (alpha[t] + beta).reshape(-1)
        beta -= log_sum_exp(row)
        normalise(row)
        for state in range(K * K):
            out_node[t0 + t, state % K] += weight * row[state]
    log_Z: float = np.sum(norms)
    return log_Z


@kernel
def _add_cells(
    p: np.ndarray, weight: float, place: tuple[int, int], t: int, out: tuple[np.ndarray, np.ndarray]
) -> None:
    """Add p (i, j, k), weighted, to the pairs and to the triples that end with token t."""
    e0, m0 = place
    pair = out[0][min(e0 + t - 1, len(out[0]) - 1)]
    triple = out[1]
    of_three = min(m0 + t - 2, len(triple) - 1)
    n = p.shape[0]
    K = p.shape[1]
    for i in range(n):
        for j in range(K):
            for k in range(K):
                pair[j * K + k] += weight * p[i, j, k]
                if t > 1:
                    triple[of_three, (i * K + j) * K + k] += weight * p[i, j, k]


@kernel
def log_tangent(
    potentials: Triples,
    reward: Triples,
    structure: TripleLinks,
    s: int,
    weight: float,
    out: Triples,
) -> float:
    """Add `weight` times the covariances of sequence s with a reward to `out`; return its mean.

    ``before[t, j, k]`` is the mean reward up to t of what ends with j, k, minus its mean over
    states, as in `first_order_log.log_tangent`.
    """
    node = potentials.node
    tables = potentials.edge, potentials.triple
    reward_tables = reward.edge, reward.triple
    t0 = structure.offsets[s]
    place = structure.edge_offsets[s], structure.triple_offsets[s]
    T = structure.offsets[s + 1] - t0
    K = node.shape[1]
    alpha = np.empty((T, K, K))
    before = np.zeros((T, K, K))
    norms = np.empty(T)
    rises = np.empty(T)
    scores = np.empty((K, K, K))
    rewards = np.empty((K, K, K))
    p = np.empty(K)
    expected = 0.0
    if not log_forward(potentials, t0, place, alpha, norms):
        return np.nan
    for t in range(T):
        n = 0
        if t > 0:
            n = edge_scores(tables, place, t, scores)
            edge_scores(reward_tables, place, t, rewards)
        for j in range(K):
            for k in range(K):
                if alpha[t, j, k] == -np.inf:
                    continue
                before[t, j, k] = reward.node[t0 + t, k]
                for i in range(n):
                    p[i] = alpha[t - 1, i, j] + scores[i, j, k]
                if n > 0:
                    normalise(p[:n])
                for i in range(n):
                    if p[i] > 0.0:
                        before[t, j, k] += p[i] * (before[t - 1, i, j] + rewards[i, j, k])
        rises[t] = centre(before[t].reshape(-1), np.exp(alpha[t]).reshape(-1))
        expected += rises[t]
    _log_backward(potentials, reward, _Forward(t0, place, alpha, before, rises), weight, out)
    return expected


class _Forward(NamedTuple):
    """First token of a sequence, its first edge and triple, and the first half of `log_tangent`."""

    t0: int
    place: tuple[int, int]
    alpha: np.ndarray
    before: np.ndarray
    rises: np.ndarray


@kernel
def _log_backward(
    potentials: Triples, reward: Triples, forward: _Forward, weight: float, out: Triples
) -> None:
    """Second half of `log_tangent`. ``after[j, k]`` is the mean reward after t of what begins with
    j, k.
    """
    t0, place, alpha, before, rises = forward
    node = potentials.node
    node_reward = reward.node
    out_node = out.node
    tables = potentials.edge, potentials.triple
    reward_tables = reward.edge, reward.triple
    out_tables = out.edge, out.triple
    T = alpha.shape[0]
    K = alpha.shape[1]
    beta = np.zeros((K, K))
    after = np.zeros((K, K))
    score = np.empty((K, K))
    gain = np.empty((K, K))
    scores = np.empty((K, K, K))
    gains = np.empty((K, K, K))
    p = np.empty(K)
    for t in range(T - 1, -1, -1):
        n = 0
        if t < T - 1:
            n = edge_scores(tables, place, t + 1, scores)
            edge_scores(reward_tables, place, t + 1, gains)
            for j in range(K):
                for k in range(K):
                    score[j, k] = node[t0 + t + 1, k] + beta[j, k]
                    reached = score[j, k] > -np.inf
                    gain[j, k] = (
                        after[j, k] + node_reward[t0 + t + 1, k] - rises[t + 1] if reached else 0.0
                    )
        for i in range(n):
            for j in range(K):
                for k in range(K):
                    p[k] = scores[i, j, k] + score[j, k]
                    scores[i, j, k] = alpha[t, i, j] + p[k]
                    gains[i, j, k] = gain[j, k] + gains[i, j, k] if p[k] > -np.inf else 0.0
                beta[i, j] = normalise(p)
                after[i, j] = 0.0
                for k in range(K):
                    after[i, j] += p[k] * gains[i, j, k]
                    gains[i, j, k] += before[t, i, j]
        if n > 0:
            normalise(scores[:n].reshape(-1))
            centre(gains[:n].reshape(-1), scores[:n].reshape(-1))
            scores[:n] *= gains[:n]
            _add_cells(scores[:n], weight, place, t + 1, out_tables)
        row = (alpha[t] + beta).reshape(-1)
        rise = (before[t] + after).reshape(-1)
        # beta, too, is relative to its token, so that long chains lose no digits
        beta -= normalise(row)
        centre(rise, row)
        for state in range(K * K):
            out_node[t0 + t, state % K] += weight * row[state] * rise[state]
