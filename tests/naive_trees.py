"""All binary trees over a sentence under a small grammar, one by one."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.simd import padded
from sklearn_struct.containers.trees import Tensors, TreeScores, grammar


def random_grammar(rng, n_symbols=5, n_rules=12):
    """Any rules, some of them twice the same; few symbols may be roots or leaves."""
    left = np.sort(rng.integers(n_symbols, size=n_rules))
    return grammar(left, *rng.integers(n_symbols, size=(2, n_rules)), n_symbols)


def scores(rule, root, leaf):
    """Scores of leaves from a table (n_tokens, n_symbols), in which -inf forbids."""
    tokens, symbols = np.nonzero(np.asarray(leaf) > -np.inf)
    indptr = np.searchsorted(tokens, np.arange(len(leaf) + 1)).astype(np.int64)
    return TreeScores(
        np.asarray(rule), np.asarray(root), indptr, symbols.astype(np.int32), leaf[tokens, symbols]
    )


def random_scores(rng, grammar, n_tokens, spread=1.0):
    n_symbols = len(grammar.indptr) - 1
    leaf = rng.normal(size=(n_tokens, n_symbols)) * spread
    leaf[rng.random(leaf.shape) < 0.4] = -np.inf
    root = rng.normal(size=n_symbols)
    root[rng.random(n_symbols) < 0.3] = -np.inf
    return scores(rng.normal(size=len(grammar.right)) * spread - 2, root, leaf)


def random_tensors(rng, grammar, n_leaves, most=3, signed=False):
    """Tensors of one to `most` states for each symbol; of leaves as many as asked for, each for any
    symbol.
    """
    n_states = rng.integers(1, most + 1, size=len(grammar.indptr) - 1).astype(np.int32)
    width = np.array([padded(m) for m in n_states])
    of_rules = n_states[grammar.left] * n_states[grammar.right] * width[grammar.parent]
    starts = [
        np.concatenate([[0], np.cumsum(sizes)])
        for sizes in (of_rules, np.full(n_leaves, width.max()), width)
    ]

    def numbers(start, states):
        """Rows with zeros behind the states."""
        values = rng.normal(size=start[-1]) if signed else rng.random(start[-1])
        lane = np.concatenate(
            [np.arange(size) % wide for size, wide in zip(np.diff(start), states[1])]
        )
        return np.where(lane < np.repeat(states[0], np.diff(start)), values, 0.0)

    everywhere = np.full(n_leaves, width.max())
    return Tensors(
        n_states,
        starts[0],
        numbers(starts[0], (n_states[grammar.parent], width[grammar.parent])),
        starts[1],
        numbers(starts[1], (everywhere, everywhere)),
        starts[2],
        numbers(starts[2], (n_states, width)),
    )


class Forest:
    """Each tree is (symbol of its root, score, rules, leaves as (token, symbol)); probabilities in
    `p`.

    `spans` has the items of each, as (symbol, start, stop), and `edges` its edges, as (rule, start,
    middle, stop).
    """

    def __init__(self, grammar, scores):
        self.grammar = grammar
        self.scores = scores
        self.leaf = [
            dict(zip(scores.leaf_symbol[lo:hi].tolist(), range(lo, hi)))
            for lo, hi in zip(scores.leaf_indptr[:-1], scores.leaf_indptr[1:])
        ]
        n = len(self.leaf)
        found = self._over(0, n) if n else []
        self.trees = [tree for tree in found if scores.root[self.symbol(tree)] > -np.inf]
        total = [self._score(tree) + scores.root[self.symbol(tree)] for tree in self.trees]
        self.total = np.array(total, dtype=np.longdouble)
        self.log_Z = -np.inf if not self.trees else float(np.logaddexp.reduce(self.total))
        self.p = np.exp(self.total - self.log_Z) if self.trees else np.zeros(0)

    def symbol(self, tree):
        """A leaf is (token, symbol), another node (rule, left, right)."""
        return tree[1] if len(tree) == 2 else int(self.grammar.parent[tree[0]])

    def _over(self, i, j):
        if j == i + 1:
            return [(i, s) for s, p in self.leaf[i].items() if self.scores.leaf[p] > -np.inf]
        return [
            (r, left, right)
            for k in range(i + 1, j)
            for left in self._over(i, k)
            for right in self._over(k, j)
            for r in range(len(self.grammar.parent))
            if (self.grammar.left[r], self.grammar.right[r])
            == (self.symbol(left), self.symbol(right))
            if self.scores.rule[r] > -np.inf
        ]

    def _score(self, tree):
        if len(tree) == 2:
            return self.scores.leaf[self.leaf[tree[0]][tree[1]]]
        return self.scores.rule[tree[0]] + self._score(tree[1]) + self._score(tree[2])

    def parts(self, tree, i=0):
        """Items (symbol, start, stop) and edges (rule, start, middle, stop) of a tree, children
        first.
        """
        if len(tree) == 2:
            return [(tree[1], i, i + 1)], []
        items, edges = self.parts(tree[1], i)
        middle = items[-1][2]
        more, others = self.parts(tree[2], middle)
        stop = more[-1][2]
        return [*items, *more, (self.symbol(tree), i, stop)], [
            *edges,
            *others,
            (tree[0], i, middle, stop),
        ]

    def posteriors(self):
        """Of items and of edges: dicts."""
        found = {}, {}
        for p, tree in zip(self.p, self.trees, strict=True):
            for table, parts in zip(found, self.parts(tree)):
                for part in parts:
                    table[part] = table.get(part, 0) + float(p)
        return found

    def tensor(self, tensors, tree):
        """The inside vector of a tree: Cohen et al. (2012), figure 2."""
        if len(tree) == 2:
            p = tensors.leaf_start[self.leaf[tree[0]][tree[1]]]
            return tensors.leaf[p : p + tensors.n_states[tree[1]]]
        r = tree[0]
        m, n, k = (
            tensors.n_states[side[r]]
            for side in (self.grammar.left, self.grammar.right, self.grammar.parent)
        )
        table = tensors.rule[tensors.rule_start[r] : tensors.rule_start[r + 1]].reshape(m, n, -1)[
            :, :, :k
        ]
        return np.einsum(
            "jki,j,k->i", table, self.tensor(tensors, tree[1]), self.tensor(tensors, tree[2])
        )

    def tensor_root(self, tensors, tree):
        s = self.symbol(tree)
        return tensors.root[tensors.root_start[s] :][: tensors.n_states[s]] @ self.tensor(
            tensors, tree
        )

    def state_scores(self, tensors, tree):
        """The largest log-probability of a tree with its states, for each state of the root."""

        def best(tree):
            if len(tree) == 2:
                return np.log(self.tensor(tensors, tree))
            r = tree[0]
            m, n, k = (
                tensors.n_states[side[r]]
                for side in (self.grammar.left, self.grammar.right, self.grammar.parent)
            )
            table = tensors.rule[tensors.rule_start[r] : tensors.rule_start[r + 1]].reshape(
                m, n, -1
            )[:, :, :k]
            total = np.log(table) + best(tree[1])[:, None, None] + best(tree[2])[None, :, None]
            return total.reshape(-1, k).max(axis=0)

        s = self.symbol(tree)
        return np.log(tensors.root[tensors.root_start[s] :][: tensors.n_states[s]]) + best(tree)
