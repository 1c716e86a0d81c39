"""Grammars with states whose probabilities are known, and their trees, drawn or all of them."""

from __future__ import annotations

import numpy as np

from sklearn_struct.containers.trees import Forest, Treebank, grammar, tensors
from sklearn_struct.grammars.tree_sampling import draw
from sklearn_struct.inference.trees.forest_inside_outside import inside, outside, vectors

# 2 to 4 words, 216 trees
FINITE = 3, [(1, 1, 0), (1, 2, 0), (2, 1, 0), (2, 2, 1)], [1, 1, 1, 2, 2, 2]
RECURSIVE = (
    4,
    [(0, 1, 0), (1, 2, 0), (2, 1, 0), (2, 3, 1), (3, 2, 1), (1, 3, 1)],
    [2, 2, 2, 2, 3, 3, 3, 3],
)


class Model:
    """A grammar of symbols, rules (left, right, parent) and leaves, with probabilities of states at
    random.

    Rules whose parent is among their children are the fewer the less `growth` is.
    """

    def __init__(self, seed, form, n_states=2, growth=0.3, concentration=0.3):
        n_symbols, rules, leaf_symbol = form
        rng = np.random.default_rng(seed)
        self.grammar = grammar(*np.array(sorted(rules)).T, n_symbols)
        self.leaf_symbol = np.array(leaf_symbol)
        self.n_states = np.full(n_symbols, n_states)
        self.tensors = tensors(self.grammar, self.n_states, self.leaf_symbol)
        for a in range(n_symbols):
            choices = [
                *np.flatnonzero(self.grammar.parent == a),
                *(-1 - np.flatnonzero(self.leaf_symbol == a)),
            ]
            loops = [r >= 0 and a in (self.grammar.left[r], self.grammar.right[r]) for r in choices]
            for i in range(n_states):
                q = rng.dirichlet(np.full(len(choices), 0.7)) * np.where(loops, growth, 1)
                for choice, p in zip(choices, q / q.sum()):
                    if choice < 0:
                        self.leaf(self.tensors, -1 - choice)[i] = p
                    else:
                        children = rng.dirichlet(np.full(n_states, concentration), 2)
                        self.rule(self.tensors, choice)[:, :, i] = p * np.outer(*children)
        self.root(self.tensors, 0)[:] = rng.dirichlet(np.ones(n_states))

    def rule(self, tensors, r):
        """A view of the states of left child, right child and parent."""
        m, n, k = (
            tensors.n_states[side[r]]
            for side in (self.grammar.left, self.grammar.right, self.grammar.parent)
        )
        return tensors.rule[slice(*tensors.rule_start[r : r + 2])].reshape(m, n, -1)[:, :, :k]

    def leaf(self, tensors, f):
        return tensors.leaf[tensors.leaf_start[f] :][: tensors.n_states[self.leaf_symbol[f]]]

    def root(self, tensors, s):
        return tensors.root[tensors.root_start[s] :][: tensors.n_states[s]]

    def trees(self, n, seed=0, max_length=1000):
        rng = np.random.RandomState(seed)
        return draw(self.grammar, self.tensors, self.leaf_symbol, n, rng, max_length)

    def treebank(self, forest):
        return Treebank(self.grammar, forest, self.leaf_symbol)

    def everything(self):
        """All trees of a grammar that has so many, as nested tuples: a leaf (f,), another node (r,
        left, right).
        """

        def below(symbol):
            found = [(f,) for f in np.flatnonzero(self.leaf_symbol == symbol).tolist()]
            for r in np.flatnonzero(self.grammar.parent == symbol).tolist():
                pairs = (
                    (x, y)
                    for x in below(self.grammar.left[r])
                    for y in below(self.grammar.right[r])
                )
                found += [(r, x, y) for x, y in pairs]
            return found

        return below(0)

    def forest(self, nested):
        """A forest of nested trees."""
        items = []
        edges = []
        offsets = [0]

        def add(tree, start):
            if len(tree) == 1:
                items.append((self.leaf_symbol[tree[0]], start, start + 1, tree[0]))
            else:
                left = add(tree[1], start)
                right = add(tree[2], items[left][2])
                items.append((self.grammar.parent[tree[0]], start, items[right][2], -1))
                edges.append((left, right, tree[0]))
            return len(items) - 1

        for tree in nested:
            add(tree, 0)
            offsets.append(len(items))
        symbol, start, stop, leaf = np.array(items, np.int32).reshape(-1, 4).T.copy()
        indptr = np.concatenate([[0], np.cumsum(leaf < 0)])
        return Forest(
            np.array(offsets),
            symbol,
            start,
            stop,
            leaf,
            indptr,
            *np.array(edges, np.int32).reshape(-1, 3).T.copy(),
        )

    def probabilities(self, forest, tensors=None):
        """Of each tree, by the model's tensors or by others."""
        tensors = tensors or self.tensors
        inner = vectors(forest, tensors.n_states)
        log_Z, sign = np.empty((2, len(forest.offsets) - 1))
        inside(self.grammar, tensors, forest, inner)
        outer = inner._replace(row=np.zeros_like(inner.row))
        outside(
            self.grammar, tensors, forest, inner, outer, log_Z, sign, np.empty(len(forest.rule))
        )
        return sign * np.exp(log_Z)

    def sums(self, forest):
        """Sums over tokens for each leaf."""
        leaf = forest.leaf[forest.leaf >= 0]
        one_hot = (leaf == np.arange(len(self.leaf_symbol))[:, None]).astype(float)
        return lambda rows: one_hot @ rows


def nested(forest, i):
    """Example i of a forest of trees as a nested tuple."""

    def below(p):
        if forest.leaf[p] >= 0:
            return (int(forest.leaf[p]),)
        e = int(forest.indptr[p])
        return int(forest.rule[e]), below(int(forest.left[e])), below(int(forest.right[e]))

    return below(int(forest.offsets[i + 1]) - 1)
