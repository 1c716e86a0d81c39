"""Sums over all trees of a grammar, against enumeration, draws of trees and known solutions."""

from __future__ import annotations

import numpy as np
import pytest
from naive_grammars import drawn, every_tree, model, nodes, random_model

from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.grammars.sums_over_trees import (
    below,
    production_counts,
    production_symbols,
    tree_sums,
)


def counts(given, tree):
    """How often a tree has each production."""
    return np.bincount([p for _, _, p in nodes(tree)], minlength=len(production_symbols(given)))


@pytest.mark.parametrize("seed", range(3))
def test_by_enumeration(seed):
    given = random_model(np.random.default_rng(seed), 4)
    trees = every_tree(given)
    assert sum(p for _, p in trees) == pytest.approx(1.0, abs=1e-12)
    expected = sum(p * counts(given, tree) for tree, p in trees)
    sums = tree_sums(given)
    np.testing.assert_array_equal(sums.inside, np.ones(4))
    np.testing.assert_allclose(production_counts(given, sums), expected, rtol=1e-12)


def test_by_sampling():
    """With rules that lead back, trees have any size."""
    rng = np.random.default_rng(0)
    given = random_model(rng, 3, endless=True)
    found = np.array([counts(given, drawn(given, rng)) for _ in range(4000)])
    sums = tree_sums(given)
    np.testing.assert_array_equal(sums.inside, np.ones(3))
    expected = production_counts(given, sums)
    error = np.sqrt((found.var(axis=0) + expected) / len(found))
    assert np.all(np.abs(found.mean(axis=0) - expected) <= 3.5 * error)
    assert error.max() < 0.05


@pytest.mark.parametrize("p", [0.51, 0.7, 0.9, 0.999])
def test_trees_that_may_not_end(p):
    """S -> S S with probability p ends with probability (1 - p) / p."""
    given = model({(0, 0, 0): p}, [(0, 1 - p)], {0: 1.0})
    sums = tree_sums(given)
    inside = (1 - p) / p
    outside = 1 / (1 - 2 * p * inside)
    assert sums.inside[0] == pytest.approx(inside, rel=1e-10)
    assert sums.outside[0] == pytest.approx(outside, rel=1e-8)
    np.testing.assert_allclose(
        production_counts(given, sums), [outside * p * inside**2, outside * (1 - p)], rtol=1e-8
    )


@pytest.mark.parametrize("seed", range(5))
def test_fixed_point(seed):
    """Some trees end and some do not: the smallest solution is that of plain iteration from 0."""
    rng = np.random.default_rng(seed)
    rules = {
        (b, c, a): rng.random()
        for a in range(3)
        for b in range(3)
        for c in range(3)
        if rng.random() < 0.6
    }
    total = [max(sum(p for rule, p in rules.items() if rule[2] == a), 1e-9) for a in range(3)]
    rules = {rule: 0.75 * p / total[rule[2]] for rule, p in rules.items()}
    given = model(rules, [(0, 0.25), (1, 0.1), (2, 0.25)], {0: 0.5, 1: 0.5})
    sums = tree_sums(given)
    i = np.zeros(3)
    for _ in range(5000):
        i = np.bincount(production_symbols(given), below(given, sums._replace(inside=i)), 3)
    assert i.max() < 1
    np.testing.assert_allclose(sums.inside, i, rtol=1e-10)
    o = root = np.exp(given.plain.root)
    for _ in range(5000):
        weight = o[given.grammar.parent] * np.exp(given.plain.rule)
        of_left = np.bincount(given.grammar.left, weight * i[given.grammar.right], 3)
        o = root + of_left + np.bincount(given.grammar.right, weight * i[given.grammar.left], 3)
    np.testing.assert_allclose(sums.outside, o, rtol=1e-8)


def test_what_no_tree_has():
    """Symbol 2 never becomes words, symbol 3 never ends, symbol 4 is below no root: they do no
    harm.
    """
    rules = {
        (1, 1, 0): 0.5,
        (2, 1, 0): 0.5,
        (2, 2, 2): 1.0,
        (1, 4, 4): 0.9,
        (4, 4, 3): 1.0,
        (3, 3, 1): 0.0,
    }
    sums = tree_sums(model(rules, [(1, 1.0), (4, 0.1)], {0: 1.0}))
    np.testing.assert_allclose(sums.inside, [0.5, 1, 0, 0, 0])
    np.testing.assert_allclose(sums.outside, [1, 1, 0, 0, 0])


def test_no_tree_at_all():
    sums = tree_sums(model({(0, 0, 0): 1.0}, [(1, 1.0)], {0: 1.0}))
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
        tree_sums(model(rules, words, {0: 1.0}))


def test_an_improbable_way_to_go_on():
    """Trees that need not end are noticed however improbable they are."""
    given = model({(0, 0, 0): 0.7}, [(0, 0.3), (1, 1.0)], {0: 1e-13, 1: 1.0 - 1e-13})
    sums = tree_sums(given)
    np.testing.assert_allclose(sums.inside, [3 / 7, 1.0], rtol=1e-12)
    np.testing.assert_allclose(sums.outside, [2.5e-13, 1.0], rtol=1e-8)


def test_many_levels():
    """Expected counts may be large; no digits are lost."""
    rules = {(s + 1, s + 1, s): 1.0 for s in range(30)}
    sums = tree_sums(model(rules, [(30, 1.0)], {0: 1.0}))
    np.testing.assert_allclose(sums.outside, 2.0 ** np.arange(31), rtol=1e-12)
