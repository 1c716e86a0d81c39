"""Twins that are slow and obviously right: enumeration of tiny models, long-double recursions of long ones."""

from __future__ import annotations

import math
from itertools import product

import numpy as np


def labellings(n_tokens, n_labels):
    return list(product(range(n_labels), repeat=n_tokens))


def score(node, edge, y):
    """Log-potential of one labelling; edge is (n_edges or 1, K * K)."""
    K = node.shape[1]
    total = sum(node[t, k] for t, k in enumerate(y))
    return total + sum(edge[min(t, len(edge) - 1), y[t] * K + y[t + 1]] for t in range(len(y) - 1))


class Chain:
    """All labellings of one chain with their probabilities."""

    def __init__(self, node, edge):
        node, edge = np.asarray(node, dtype=np.longdouble), np.asarray(edge, dtype=np.longdouble)
        T, self.K = node.shape
        self.y = labellings(T, self.K)
        self.scores = np.array([score(node, edge, y) for y in self.y], dtype=np.longdouble)
        top = self.scores.max()
        if top == -np.inf:
            self.log_Z, self.p = top, np.zeros(len(self.y))
        else:
            mass = np.exp(self.scores - top)
            self.log_Z, self.p = top + np.log(mass.sum()), mass / mass.sum()
        self.node = np.zeros((T, self.K), dtype=np.longdouble)
        self.edge = np.zeros((max(T - 1, 0), self.K**2), dtype=np.longdouble)
        for p, y in zip(self.p, self.y, strict=True):
            for t, k in enumerate(y):
                self.node[t, k] += p
            for t in range(T - 1):
                self.edge[t, y[t] * self.K + y[t + 1]] += p

    def entropy(self):
        p = self.p[self.p > 0]
        return -(p * np.log(p)).sum()

    def nbest(self, n):
        """Scores of the n best allowed labellings, best first."""
        return np.sort(self.scores[self.scores > -np.inf])[::-1][:n]

    def draw(self, uniform):
        """The labelling at which one uniform number a token inverts p(last label), p(the one before | last) ..."""
        y, p = np.array(self.y), self.p.copy()
        for t in range(len(uniform) - 1, -1, -1):
            mass = np.array([p[y[:, t] == k].sum() for k in range(self.K)])
            chosen = np.searchsorted(np.cumsum(mass) / mass.sum(), uniform[t], side="right")
            y, p = y[y[:, t] == chosen], p[y[:, t] == chosen]
        return tuple(y[0].tolist())


def scaled_log_Z(node, edge):
    """The textbook forward pass on scaled numbers: silently wrong where a state underflows that would have won."""
    K = node.shape[1]
    alpha, log_Z = np.exp(node[0]), 0.0
    for t in range(len(node)):
        if t > 0:
            alpha = (alpha @ np.exp(edge[min(t - 1, len(edge) - 1)].reshape(K, K))) * np.exp(node[t])
        log_Z += math.log(alpha.sum())
        alpha = alpha / alpha.sum()
    return log_Z


def long_chain(node, edge):
    """log Z, node marginals and the sum of edge marginals of a chain with one edge table, in long doubles."""
    T, K = node.shape
    node, table = node.astype(np.longdouble), edge.reshape(K, K).astype(np.longdouble)
    alpha, beta, norms = np.empty_like(node), np.zeros_like(node), np.empty(T, dtype=np.longdouble)
    for t in range(T):
        row = node[t] + (np.logaddexp.reduce(alpha[t - 1][:, None] + table, axis=0) if t else 0)
        norms[t] = np.logaddexp.reduce(row)
        alpha[t] = row - norms[t]
    for t in range(T - 2, -1, -1):
        beta[t] = np.logaddexp.reduce(table + (node[t + 1] + beta[t + 1]), axis=1) - norms[t + 1]
    pairs = alpha[:-1, :, None] + table + (node[1:] + beta[1:] - norms[1:, None])[:, None, :]
    return math.fsum(norms), np.exp(alpha + beta), np.exp(pairs).sum(axis=0)
