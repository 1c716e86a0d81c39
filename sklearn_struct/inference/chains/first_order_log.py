"""Forward-backward for one chain in log space: slow, and right for any scores.

Each row of log alpha is normalised, and each row of log beta so that alpha times beta is a
posterior: magnitudes stay those of a single token's scores, and a chain of 100,000 tokens loses no
digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.inference.chains.flat_tuples import Links, Pairs

__all__ = ["centre", "log_forward", "log_marginals", "log_sum_exp", "log_tangent", "normalise"]


@kernel
def log_sum_exp(row: np.ndarray) -> float:
    """log sum exp of a row; -inf if every entry is -inf."""
    top: float = row[0]
    for k in range(len(row)):
        top = max(top, row[k])
    # -inf less -inf would be NaN
    if top == -np.inf:
        return top
    mass = 0.0
    for k in range(len(row)):
        # most pairs are forbidden in many tables, and exponentials are what takes the time
        if row[k] > -np.inf:
            mass += np.exp(row[k] - top)
    total: float = top + np.log(mass)
    return total


@kernel
def log_forward(
    node: np.ndarray, edge: np.ndarray, t0: int, e0: int, alpha: np.ndarray, norms: np.ndarray
) -> bool:
    """Write normalised log alpha (T, K) of the tokens from t0 and the T normalisers; return whether
    a path exists.
    """
    T, K = alpha.shape
    step = 0 if edge.shape[0] == 1 else 1
    terms = np.empty(K)
    for t in range(T):
        for k in range(K):
            alpha[t, k] = node[t0 + t, k]
            if t > 0:
                for j in range(K):
                    terms[j] = alpha[t - 1, j] + edge[step * (e0 + t - 1), j * K + k]
                alpha[t, k] += log_sum_exp(terms)
        norms[t] = log_sum_exp(alpha[t])
        if norms[t] == -np.inf:
            return False
        for k in range(K):
            alpha[t, k] -= norms[t]
    return True


@kernel
def log_marginals(potentials: Pairs, structure: Links, i: int, weight: float, out: Pairs) -> float:
    """Add `weight` times the marginals of sequence i to `out`; return its log Z."""
    node = potentials.node
    edge = potentials.edge
    out_node = out.node
    out_edge = out.edge
    t0 = structure.offsets[i]
    T = structure.offsets[i + 1] - structure.offsets[i]
    e0 = structure.edge_offsets[i]
    K = node.shape[1]
    alpha = np.empty((T, K))
    beta = np.zeros((T, K))
    norms = np.empty(T)
    terms = np.empty(K)
    pairs = np.empty(edge.shape[1])
    if not log_forward(node, edge, t0, e0, alpha, norms):
        return -np.inf
    step = 0 if edge.shape[0] == 1 else 1
    out_step = 0 if out_edge.shape[0] == 1 else 1
    for t in range(T - 1, -1, -1):
        if t < T - 1:
            for j in range(K):
                for k in range(K):
                    # float32 scores, too, are added up in float64
                    score = np.float64(edge[step * (e0 + t), j * K + k]) + node[t0 + t + 1, k]
                    terms[k] = score + beta[t + 1, k] - norms[t + 1]
                    pairs[j * K + k] = alpha[t, j] + terms[k]
                beta[t, j] = log_sum_exp(terms)
            normalise(pairs)
            for pair in range(len(pairs)):
                out_edge[out_step * (e0 + t), pair] += weight * pairs[pair]
        for k in range(K):
            terms[k] = alpha[t, k] + beta[t, k]
        total = log_sum_exp(terms)
        for k in range(K):
            beta[t, k] -= total
            out_node[t0 + t, k] += weight * np.exp(alpha[t, k] + beta[t, k])
    log_Z: float = np.sum(norms)
    return log_Z


@kernel
def log_tangent(
    potentials: Pairs, reward: Pairs, structure: Links, i: int, weight: float, out: Pairs
) -> float:
    """Add `weight` times the covariances of sequence i with a reward to `out`; return its mean.

    ``before[t, k]`` is the mean reward up to t of what ends with k, minus its mean over k; so no
    small number meets a large one.
    """
    node = potentials.node
    edge = potentials.edge
    t0 = structure.offsets[i]
    e0 = structure.edge_offsets[i]
    T = structure.offsets[i + 1] - t0
    K = node.shape[1]
    step = len(edge) > 1
    reward_step = len(reward.edge) > 1
    alpha = np.empty((T, K))
    before = np.zeros((T, K))
    norms = np.empty(T)
    rises = np.empty(T)
    p = np.empty(K)
    expected = 0.0
    if not log_forward(node, edge, t0, e0, alpha, norms):
        return np.nan
    for t in range(T):
        for k in range(K):
            if alpha[t, k] == -np.inf:
                continue
            before[t, k] = reward.node[t0 + t, k]
            if t > 0:
                for j in range(K):
                    p[j] = alpha[t - 1, j] + edge[step * (e0 + t - 1), j * K + k]
                normalise(p)
                for j in range(K):
                    if p[j] > 0.0:
                        before[t, k] += p[j] * (
                            before[t - 1, j] + reward.edge[reward_step * (e0 + t - 1), j * K + k]
                        )
        for k in range(K):
            p[k] = np.exp(alpha[t, k])
        rises[t] = centre(before[t], p)
        expected += rises[t]
    _log_backward(potentials, reward, _Forward(t0, e0, alpha, before, rises), weight, out)
    return expected


class _Forward(NamedTuple):
    """First token and first edge of a sequence, and the first half of `log_tangent`."""

    t0: int
    e0: int
    alpha: np.ndarray
    before: np.ndarray
    rises: np.ndarray


@kernel
def _log_backward(
    potentials: Pairs, reward: Pairs, forward: _Forward, weight: float, out: Pairs
) -> None:
    """Second half of `log_tangent`; ``after[k]`` is the mean reward after t of what starts at k."""
    node = potentials.node
    edge = potentials.edge
    edge_reward = reward.edge
    out_node = out.node
    out_edge = out.edge
    t0, e0, alpha, before, rises = forward
    T, K = alpha.shape
    step = len(edge) > 1
    reward_step = len(edge_reward) > 1
    out_step = len(out_edge) > 1
    beta = np.zeros(K)
    after = np.zeros(K)
    score = np.empty(K)
    gain = np.empty(K)
    p = np.empty(K)
    pairs = np.empty(edge.shape[1])
    gains = np.empty(edge.shape[1])
    for t in range(T - 1, -1, -1):
        e = e0 + t
        for k in range(K if t < T - 1 else 0):
            score[k] = node[t0 + t + 1, k] + beta[k]
            gain[k] = (
                after[k] + reward.node[t0 + t + 1, k] - rises[t + 1] if score[k] > -np.inf else 0.0
            )
        for j in range(K if t < T - 1 else 0):
            for k in range(K):
                pair = j * K + k
                p[k] = edge[step * e, pair] + score[k]
                pairs[pair] = alpha[t, j] + p[k]
                gains[pair] = (
                    gain[k] + edge_reward[reward_step * e, pair] if p[k] > -np.inf else 0.0
                )
            beta[j] = normalise(p)
            after[j] = 0.0
            for k in range(K):
                after[j] += p[k] * gains[j * K + k]
                gains[j * K + k] += before[t, j]
        if t < T - 1:
            normalise(pairs)
            centre(gains, pairs)
            for pair in range(len(pairs)):
                out_edge[out_step * e, pair] += weight * pairs[pair] * gains[pair]
        for k in range(K):
            p[k] = alpha[t, k] + beta[k]
            gain[k] = before[t, k] + after[k]
        total = normalise(p)
        centre(gain, p)
        for k in range(K):
            beta[k] -= total
            out_node[t0 + t, k] += weight * p[k] * gain[k]


@kernel
def normalise(row: np.ndarray) -> float:
    """Turn log p into p, divided by its sum, and return the logarithm of the sum; zeros if every
    entry is -inf.
    """
    top: float = row[0]
    for k in range(len(row)):
        top = max(top, row[k])
    mass = 0.0
    for k in range(len(row)):
        row[k] = np.exp(row[k] - top) if row[k] > -np.inf else 0.0
        mass += row[k]
    for k in range(len(row) if top > -np.inf else 0):
        row[k] /= mass
    return top + np.log(mass) if top > -np.inf else top


@kernel
def centre(x: np.ndarray, p: np.ndarray) -> float:
    """Subtract from x its mean under p, and return it."""
    mean = 0.0
    for k in range(len(x)):
        mean += p[k] * x[k]
    for k in range(len(x)):
        x[k] -= mean
    return mean
