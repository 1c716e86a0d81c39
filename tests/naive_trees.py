"""All binary trees over a sentence under a small grammar, one by one."""

from __future__ import annotations

import numpy as np

from sklearn_struct.inference.chart import Grammar, TreeScores


def random_grammar(rng, n_symbols=5, n_rules=12):
    """Any rules, some of them twice the same; few symbols may be roots or leaves."""
    left = np.sort(rng.integers(n_symbols, size=n_rules))
    indptr = np.searchsorted(left, np.arange(n_symbols + 1)).astype(np.int64)
    right, parent = (rng.integers(n_symbols, size=n_rules).astype(np.int32) for _ in range(2))
    return Grammar(indptr, right, parent)


def random_scores(rng, grammar, n_tokens, spread=1.0):
    n_symbols = len(grammar.indptr) - 1
    leaf = rng.normal(size=(n_tokens, n_symbols)) * spread
    leaf[rng.random(leaf.shape) < 0.4] = -np.inf
    root = rng.normal(size=n_symbols)
    root[rng.random(n_symbols) < 0.3] = -np.inf
    return TreeScores(rng.normal(size=len(grammar.right)) * spread - 2, leaf, root)


class Forest:
    """Each tree is (symbol of its root, score, rules, leaves as (token, symbol)); probabilities in `p`."""

    def __init__(self, grammar, scores):
        self.rules = [
            (b, int(grammar.right[r]), int(grammar.parent[r]), r)
            for b in range(len(grammar.indptr) - 1)
            for r in range(grammar.indptr[b], grammar.indptr[b + 1])
        ]
        self.scores = scores
        n = len(scores.leaf)
        found = self._over(0, n) if n else []
        self.trees = [tree for tree in found if scores.root[tree[0]] > -np.inf]
        self.total = np.array([score + scores.root[symbol] for symbol, score, _, _ in self.trees], dtype=np.longdouble)
        self.log_Z = -np.inf if not self.trees else float(np.logaddexp.reduce(self.total))
        self.p = np.exp(self.total - self.log_Z) if self.trees else np.zeros(0)

    def _over(self, i, j):
        if j == i + 1:
            row = self.scores.leaf[i]
            return [(s, row[s], (), ((i, s),)) for s in range(len(row)) if row[s] > -np.inf]
        return [
            (a, x + y + self.scores.rule[r], rules + more + (r,), leaves + others)
            for k in range(i + 1, j)
            for b, x, rules, leaves in self._over(i, k)
            for c, y, more, others in self._over(k, j)
            for left, right, a, r in self.rules
            if (left, right) == (b, c) and self.scores.rule[r] > -np.inf
        ]

    def counts(self):
        """Expected counts of rules, leaves and roots."""
        out = TreeScores(*(np.zeros_like(table) for table in self.scores))
        for p, (symbol, _, rules, leaves) in zip(self.p, self.trees, strict=True):
            out.root[symbol] += p
            for r in rules:
                out.rule[r] += p
            for i, s in leaves:
                out.leaf[i, s] += p
        return out
