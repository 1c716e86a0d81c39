"""Sums over all trees of a grammar, against their enumeration, draws of trees and known solutions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sklearn_struct.batch import grammar
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.tree_sums import Productions, below, production_counts, tree_sums


def productions(rules, words, roots):
    """A grammar of {(left, right, parent): p}, [(symbol, p)] and {symbol: p}."""
    table = sorted(rules)
    n = 1 + max([*(s for rule in table for s in rule), *(s for s, _ in words), *roots])
    left, right, parent = np.array(table, int).reshape(-1, 3).T
    root = np.full(n, -np.inf)
    root[list(roots)] = np.log(list(roots.values()))
    with np.errstate(divide="ignore"):
        rule, word = np.log([rules[r] for r in table]), np.log([p for _, p in words])
    return Productions(grammar(left, right, parent, n), rule, root, np.array([s for s, _ in words], np.int32), word)


def random_productions(rng, n_symbols, endless=False):
    """Symbols whose rules lead to later symbols alone, unless `endless`; all become one of two words, too."""
    rules, words = {}, []
    for a in range(n_symbols):
        children = [
            (b, c)
            for b in range(n_symbols)
            for c in range(n_symbols)
            if endless or (min(b, c) > a and rng.random() < 0.7)
        ]
        p = rng.dirichlet(np.ones(len(children) + 2) if not endless else np.r_[np.ones(len(children)), 6, 6] / 4)
        rules |= {(b, c, a): q for (b, c), q in zip(children, p)}
        words += [(a, p[-1]), (a, p[-2])]
    return productions(rules, words, {0: 0.75, 1: 0.25})


def every_tree(given, symbol):
    """All trees below a symbol with their probabilities: productions as nested tuples (number, left, right)."""
    rules, n_rules = given.grammar, len(given.rule)
    found = [((n_rules + k,), np.exp(given.word[k])) for k in np.flatnonzero(given.word_symbol == symbol)]
    for r in np.flatnonzero(rules.parent == symbol):
        for left, p in every_tree(given, rules.left[r]):
            for right, q in every_tree(given, rules.right[r]):
                found.append(((int(r), left, right), np.exp(given.rule[r]) * p * q))
    return found


def count(tree, found, p):
    for node in tree:
        if isinstance(node, tuple):
            count(node, found, p)
        else:
            found[node] += p


@pytest.mark.parametrize("seed", range(3))
def test_by_enumeration(seed):
    given = random_productions(np.random.default_rng(seed), 4)
    expected, mass = np.zeros(len(given.symbol)), 0.0
    for root in range(2):
        for tree, p in every_tree(given, root):
            count(tree, expected, p * np.exp(given.root[root]))
            mass += p * np.exp(given.root[root])
    assert mass == pytest.approx(1.0, abs=1e-12)
    sums = tree_sums(given)
    np.testing.assert_array_equal(sums.inside, np.ones(4))
    np.testing.assert_allclose(production_counts(given, sums), expected, rtol=1e-12)


def drawn(given, rng):
    """How often a tree drawn from the top has each production."""
    found, symbol, p = Counter(), given.symbol, np.exp(np.concatenate([given.rule, given.word]))
    ahead = [rng.choice(len(given.root), p=np.exp(given.root))]
    while ahead:
        choices = np.flatnonzero(symbol == ahead.pop())
        chosen = int(rng.choice(choices, p=p[choices]))
        found[chosen] += 1
        if chosen < len(given.rule):
            ahead += [given.grammar.left[chosen], given.grammar.right[chosen]]
    return found


def test_by_sampling():
    """With rules that lead back, trees have any size."""
    rng = np.random.default_rng(0)
    given = random_productions(rng, 3, endless=True)
    n = 4000
    counts = np.zeros((n, len(given.symbol)))
    for row in counts:
        for production, k in drawn(given, rng).items():
            row[production] = k
    sums = tree_sums(given)
    np.testing.assert_array_equal(sums.inside, np.ones(3))
    expected = production_counts(given, sums)
    error = np.sqrt((counts.var(axis=0) + expected) / n)
    assert np.all(np.abs(counts.mean(axis=0) - expected) <= 3.5 * error)
    assert error.max() < 0.05


@pytest.mark.parametrize("p", [0.51, 0.7, 0.9, 0.999])
def test_trees_that_may_not_end(p):
    """S -> S S with probability p ends with probability (1 - p) / p."""
    given = productions({(0, 0, 0): p}, [(0, 1 - p)], {0: 1.0})
    sums = tree_sums(given)
    inside = (1 - p) / p
    outside = 1 / (1 - 2 * p * inside)
    assert sums.inside[0] == pytest.approx(inside, rel=1e-10)
    assert sums.outside[0] == pytest.approx(outside, rel=1e-8)
    np.testing.assert_allclose(production_counts(given, sums), [outside * p * inside**2, outside * (1 - p)], rtol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_fixed_point(seed):
    """Some end, some do not: the equations hold, and the solution is the smallest, that of plain iteration."""
    rng = np.random.default_rng(seed)
    rules = {(b, c, a): rng.random() for a in range(3) for b in range(3) for c in range(3) if rng.random() < 0.6}
    scale = [1.5 / max(sum(p for rule, p in rules.items() if rule[2] == a), 1e-9) * 0.5 for a in range(3)]
    rules = {rule: p * scale[rule[2]] for rule, p in rules.items()}
    given = productions(rules, [(0, 0.25), (1, 0.1), (2, 0.25)], {0: 0.5, 1: 0.5})
    sums = tree_sums(given)
    i = np.zeros(3)
    for _ in range(5000):
        i = np.bincount(given.symbol, below(given, sums._replace(inside=i)), 3)
    np.testing.assert_allclose(sums.inside, i, rtol=1e-10)
    o = np.exp(given.root)
    for _ in range(5000):
        weight = o[given.grammar.parent] * np.exp(given.rule)
        o = np.exp(given.root)
        o = o + np.bincount(given.grammar.left, weight * i[given.grammar.right], 3)
        o = o + np.bincount(given.grammar.right, weight * i[given.grammar.left], 3)
    np.testing.assert_allclose(sums.outside, o, rtol=1e-8)


def test_what_no_tree_has():
    """Symbol 2 never becomes words, symbol 3 never ends, symbol 4 is below no root: they do no harm."""
    rules = {(1, 1, 0): 0.5, (2, 1, 0): 0.5, (2, 2, 2): 1.0, (1, 4, 4): 0.9, (4, 4, 3): 1.0, (3, 3, 1): 0.0}
    sums = tree_sums(productions(rules, [(1, 1.0), (4, 0.1)], {0: 1.0}))
    np.testing.assert_allclose(sums.inside, [0.5, 1, 0, 0, 0])
    np.testing.assert_allclose(sums.outside, [1, 1, 0, 0, 0])


def test_no_tree_at_all():
    sums = tree_sums(productions({(0, 0, 0): 1.0}, [(1, 1.0)], {0: 1.0}))
    np.testing.assert_array_equal(sums, np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({(0, 0, 0): 0.5}, [(0, 0.5)]),
        ({(1, 0, 0): 0.5, (0, 2, 0): 0.25, (1, 2, 0): 0.25, (1, 1, 1): 0.5}, [(1, 0.5), (2, 1.0)]),
    ],
)
def test_trees_of_infinite_expected_size(rules, words):
    """Such trees end with probability 1, but not soon enough."""
    with pytest.raises(NonFiniteError, match="expected size"):
        tree_sums(productions(rules, words, {0: 1.0}))


def test_an_improbable_way_to_go_on():
    """A root of probability 1e-13 whose trees need not end makes them all finite counts still, by the smallest i."""
    given = productions({(0, 0, 0): 0.7}, [(0, 0.3), (1, 1.0)], {0: 1e-13, 1: 1.0 - 1e-13})
    sums = tree_sums(given)
    np.testing.assert_allclose(sums.inside, [3 / 7, 1.0], rtol=1e-12)
    np.testing.assert_allclose(sums.outside, [2.5e-13, 1.0], rtol=1e-8)


def test_many_levels():
    """Expected counts may be large; no digits are lost."""
    rules = {(s + 1, s + 1, s): 1.0 for s in range(30)}
    sums = tree_sums(productions(rules, [(30, 1.0)], {0: 1.0}))
    np.testing.assert_allclose(sums.outside, 2.0 ** np.arange(31), rtol=1e-12)
