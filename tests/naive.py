"""Enumeration twins: everything about tiny models, by listing all labellings."""

from __future__ import annotations

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
