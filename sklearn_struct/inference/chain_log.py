"""Forward-backward for one chain in log space: slow, and right for any scores.

Each row of log alpha is normalised, and each row of log beta so that alpha times beta is a posterior:
magnitudes stay those of a single token's scores, and a chain of 100,000 tokens loses no digits.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.kernel import kernel

__all__ = ["log_forward", "log_marginals", "log_sum_exp"]


@kernel
def log_sum_exp(row):
    """log sum exp of a row; -inf if every entry is -inf."""
    top = row[0]
    for k in range(len(row)):
        top = max(top, row[k])
    if top == -np.inf:
        return top
    mass = 0.0
    for k in range(len(row)):
        mass += np.exp(row[k] - top)
    return top + np.log(mass)


@kernel
def log_forward(node, edge, t0, e0, alpha, norms):
    """Write normalised log alpha (T, K) of the tokens from t0 and the T normalisers; return whether a path exists."""
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
def log_marginals(potentials, structure, i, weight, out):
    """Add `weight` times the marginals of sequence i to `out`; return its log Z."""
    node, edge, out_node, out_edge = potentials.node, potentials.edge, out.node, out.edge
    t0, T, e0 = structure.offsets[i], structure.offsets[i + 1] - structure.offsets[i], structure.edge_offsets[i]
    K = node.shape[1]
    alpha, beta, norms, terms = np.empty((T, K)), np.zeros((T, K)), np.empty(T), np.empty(K)
    pairs = np.empty(K * K)
    if not log_forward(node, edge, t0, e0, alpha, norms):
        return -np.inf
    step = 0 if edge.shape[0] == 1 else 1
    out_step = 0 if out_edge.shape[0] == 1 else 1
    for t in range(T - 1, -1, -1):
        if t < T - 1:
            for j in range(K):
                for k in range(K):
                    score = np.float64(edge[step * (e0 + t), j * K + k]) + node[t0 + t + 1, k]
                    terms[k] = score + beta[t + 1, k] - norms[t + 1]
                    pairs[j * K + k] = alpha[t, j] + terms[k]
                beta[t, j] = log_sum_exp(terms)
            total = log_sum_exp(pairs)
            for pair in range(K * K):
                out_edge[out_step * (e0 + t), pair] += weight * np.exp(pairs[pair] - total)
        for k in range(K):
            terms[k] = alpha[t, k] + beta[t, k]
        total = log_sum_exp(terms)
        for k in range(K):
            beta[t, k] -= total
            out_node[t0 + t, k] += weight * np.exp(alpha[t, k] + beta[t, k])
    return np.sum(norms)
