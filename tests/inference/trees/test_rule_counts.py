"""From sums over edges to the numbers of rules, against tables with an axis a symbol."""

from __future__ import annotations

import naive_trees
import numpy as np
import pytest

from sklearn_struct.inference.trees.rule_counts import divide, weigh

PARTS = [[(0, 14)], [(0, 5), (5, 5), (5, 14)]]


def example(seed, most):
    """A grammar, its tensors, and sums in their places, each between 0 and 1 and 0 behind the
    states.
    """
    rng = np.random.default_rng(seed)
    rules = naive_trees.random_grammar(rng, n_rules=14)
    tensors = naive_trees.random_tensors(rng, rules, 3, most)
    sums = np.where(tensors.rule > 0, rng.random(len(tensors.rule)), 0.0)
    return rules, tensors, sums


def table(rules, tensors, numbers, r):
    """The numbers of a rule by states of the left child, the right one, and the parent; a view."""
    m, n, k = (tensors.n_states[side[r]] for side in (rules.left, rules.right, rules.parent))
    whole = numbers[tensors.rule_start[r] : tensors.rule_start[r + 1]].reshape(m, n, -1)
    assert not whole[:, :, k:].any()  # rows are padded with zeros
    return whole[:, :, :k]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("most", [1, 3, 17])
@pytest.mark.parametrize("seed", range(3))
def test_weigh(seed, most, shrinkage, parts):
    rules, tensors, sums = example(seed, most)
    out = sums.copy()
    total = np.full(len(tensors.root), 0.5)
    for part in parts:
        weigh(tensors, rules, part, shrinkage, out, total)
    expected = np.full(len(tensors.root), 0.5)
    for r, a in enumerate(rules.parent):
        counts = table(rules, tensors, sums, r) * table(rules, tensors, tensors.rule, r)
        counts = (1 - shrinkage) * counts + shrinkage * counts.mean(axis=2, keepdims=True)
        np.testing.assert_allclose(table(rules, tensors, out, r), counts, atol=1e-14)
        expected[tensors.root_start[a] :][: tensors.n_states[a]] += counts.sum(axis=(0, 1))
    np.testing.assert_allclose(total, expected, rtol=1e-12)


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("most", [1, 3, 17])
@pytest.mark.parametrize("seed", range(3))
def test_divide(seed, most, parts):
    rules, tensors, sums = example(seed, most)
    total = np.random.default_rng(seed).random(len(tensors.root))
    total[::3] = 0.0  # states that never occur
    sums[::5] *= 1e-32  # nor do these edges
    out = sums.copy()
    for part in parts:
        divide(tensors, rules, part, total, out)
    for r, a in enumerate(rules.parent):
        mass = total[tensors.root_start[a] :][: tensors.n_states[a]]
        given = table(rules, tensors, sums, r)
        expected = np.divide(
            given, mass, out=np.zeros_like(given), where=(mass > 0) & (given > 1e-30)
        )
        np.testing.assert_allclose(table(rules, tensors, out, r), expected, rtol=1e-12)


def test_other_rules_are_left_alone():
    rules, tensors, sums = example(0, 3)
    out = sums.copy()
    total = np.zeros(len(tensors.root))
    weigh(tensors, rules, (4, 9), 0.1, out, total)
    divide(tensors, rules, (4, 9), total, out)
    bounds = tensors.rule_start[[4, 9]]
    for part in (slice(None, bounds[0]), slice(bounds[1], None)):
        np.testing.assert_array_equal(out[part], sums[part])
    assert not np.array_equal(out[slice(*bounds)], sums[slice(*bounds)])
    assert not np.any(np.isnan(out))


def test_both_give_distributions_of_rules_for_each_state():
    rules, tensors, sums = example(1, 5)
    every = (0, len(rules.parent))
    total = np.zeros(len(tensors.root))
    weigh(tensors, rules, every, 0.2, sums, total)
    divide(tensors, rules, every, total, sums)
    mass = np.zeros(len(tensors.root))
    for r, a in enumerate(rules.parent):
        mass[tensors.root_start[a] :][: tensors.n_states[a]] += table(rules, tensors, sums, r).sum(
            axis=(0, 1)
        )
    for a in range(5):
        expected = float(a in rules.parent)
        np.testing.assert_allclose(
            mass[tensors.root_start[a] :][: tensors.n_states[a]], expected, rtol=1e-12
        )
