"""Small probabilistic grammars, their trees one by one, and draws of them.

A tree is (production, left, right), or (production,) over a word; rules have the first numbers.
"""

from __future__ import annotations

from bisect import bisect

import numpy as np

from sklearn_struct.containers.trees import Forest, grammar
from sklearn_struct.grammars.parsing import Plain, TreeModel
from sklearn_struct.grammars.sums_over_trees import production_symbols


def model(rules, words, roots):
    """A grammar of {(left, right, parent): p}, [(symbol, p)] and {symbol: p}."""
    table = sorted(rules)
    n = 1 + max([*(s for rule in table for s in rule), *(s for s, _ in words), *roots])
    left, right, parent = np.array(table, int).reshape(-1, 3).T
    root = np.full(n, -np.inf)
    root[list(roots)] = np.log(list(roots.values()))
    with np.errstate(divide="ignore"):
        rule = np.log([rules[r] for r in table])
        leaf = np.log([p for _, p in words])
    symbol = np.array([s for s, _ in words], np.int32)
    return TreeModel(grammar(left, right, parent, n), symbol, Plain(rule, root, leaf))


def random_model(rng, n_symbols, endless=False):
    """Symbols whose rules lead to later symbols alone, unless `endless`; all become one of two
    words, too.
    """
    rules = {}
    words = []
    every = [(b, c) for b in range(n_symbols) for c in range(n_symbols)]
    for a in range(n_symbols):
        children = [(b, c) for b, c in every if endless or (min(b, c) > a and rng.random() < 0.7)]
        p = rng.dirichlet(
            [*(0.25 if endless else 1.0,) * len(children), *(1.5 if endless else 1.0,) * 2]
        )
        rules |= {(b, c, a): q for (b, c), q in zip(children, p)}
        words += [(a, p[-1]), (a, p[-2])]
    return model(rules, words, {0: 0.75, 1: 0.25})


def every_tree(model, symbol=None):
    """All trees, or those below a symbol, with their probabilities."""
    if symbol is None:
        roots = np.flatnonzero(model.plain.root > -np.inf).tolist()
        return [
            (tree, np.exp(model.plain.root[s]) * p)
            for s in roots
            for tree, p in every_tree(model, s)
        ]
    rules = model.grammar
    n_rules = len(model.plain.rule)
    words = np.flatnonzero(model.symbol == symbol).tolist()
    found = [((n_rules + k,), np.exp(model.plain.leaf[k])) for k in words]
    for r in np.flatnonzero(rules.parent == symbol).tolist():
        below = [every_tree(model, side[r]) for side in (rules.left, rules.right)]
        rule = np.exp(model.plain.rule[r])
        found += [((r, left, right), rule * p * q) for left, p in below[0] for right, q in below[1]]
    return found


def drawn(model, rng, most=1000):
    """A tree drawn from the top; None if it has more nodes than that."""
    symbols = production_symbols(model)
    p = np.exp(np.concatenate([model.plain.rule, model.plain.leaf]))
    choices = [np.flatnonzero(symbols == s).tolist() for s in range(len(model.plain.root))]
    mass = [np.cumsum(p[of]).tolist() for of in choices]
    ahead = [bisect(np.cumsum(np.exp(model.plain.root)).tolist(), rng.random())]
    found = []
    while ahead:  # the left child first; its productions follow those above it
        s = ahead.pop()
        found.append(choices[s][bisect(mass[s], rng.random() * mass[s][-1])])
        if found[-1] < len(model.plain.rule):
            ahead += [model.grammar.right[found[-1]], model.grammar.left[found[-1]]]
        if len(found) > most:
            return None
    done = []
    for production in reversed(found):
        done.append(
            (production, done.pop(), done.pop())
            if production < len(model.plain.rule)
            else (production,)
        )
    return done[0]


def nodes(tree, above=-1, side=2):
    """Each node as (production above, side, its production)."""
    yield above, side, tree[0]
    for child, below in enumerate(tree[1:]):
        yield from nodes(below, tree[0], child)


def packed(model, trees):
    """The trees as a forest in which each item has one edge or is a leaf."""
    symbols = production_symbols(model)
    n_rules = len(model.plain.rule)
    items = []
    edges = []
    offsets = [0]

    def add(tree, start):
        children = []
        stop = start
        for child in tree[1:]:
            children.append(add(child, stop))
            stop = items[children[-1]][2]
        if children:
            edges.append((*children, tree[0]))
        leaf = tree[0] - n_rules if len(tree) == 1 else -1
        items.append((symbols[tree[0]], start, max(stop, start + 1), leaf, int(len(tree) == 3)))
        return len(items) - 1

    for tree in trees:
        add(tree, 0)
        offsets.append(len(items))
    symbol, start, stop, leaf, n = np.array(items, np.int32).T
    left, right, rule = np.array(edges, np.int32).reshape(-1, 3).T
    indptr = np.concatenate([[0], np.cumsum(n, dtype=np.int64)])
    return Forest(np.array(offsets), symbol, start, stop, leaf, indptr, left, right, rule)
