"""Drawn trees: their form, their frequencies against probabilities, and what long ones become."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from latent_trees import FINITE, RECURSIVE, Model, nested

from sklearn_struct.grammars.tree_sampling import draw


def frequencies(model, n, seed=0, max_length=100):
    forest = model.trees(n, seed, max_length)
    return Counter(nested(forest, i) for i in range(n))


def assert_close(counts, n, p):
    """Each tree as often as it should be: within five standard deviations, for these seeds."""
    assert set(counts) <= set(p)
    for tree, expected in p.items():
        assert abs(counts[tree] - n * expected) <= 5 * np.sqrt(n * expected) + 1


@pytest.mark.parametrize("n_states", [1, 2, 9])
def test_each_tree_has_its_probability(n_states):
    model = Model(n_states, FINITE, n_states)
    everything = model.everything()
    p = dict(zip(everything, model.probabilities(model.forest(everything)).tolist()))
    assert sum(p.values()) == pytest.approx(1)
    assert_close(frequencies(model, 20_000), 20_000, p)


def test_long_trees_are_drawn_again():
    model = Model(0, FINITE)
    everything = model.everything()
    forest = model.forest(everything)
    p = np.where(forest.stop[forest.offsets[1:] - 1] <= 2, model.probabilities(forest), 0.0)
    assert 0.2 < p.sum() < 0.9
    counts = frequencies(model, 10_000, max_length=2)
    assert_close(
        counts, 10_000, {tree: x / p.sum() for tree, x in zip(everything, p.tolist()) if x > 0}
    )


@pytest.mark.parametrize("seed", range(3))
def test_form(seed):
    """What is drawn is what the same trees are, written by recursion."""
    model = Model(seed, RECURSIVE, 3, growth=1.5)
    found = model.trees(200, seed, max_length=60)
    twin = model.forest([nested(found, i) for i in range(200)])
    for name, column in found._asdict().items():
        np.testing.assert_array_equal(column, getattr(twin, name), err_msg=name)
        assert column.dtype == (np.int64 if name in ("offsets", "indptr") else np.int32)
    lengths = found.stop[found.offsets[1:] - 1]
    assert lengths.max() <= 60
    assert len(set(lengths.tolist())) > 5
    np.testing.assert_array_equal(model.grammar.left[found.rule], found.symbol[found.left])
    np.testing.assert_array_equal(model.grammar.right[found.rule], found.symbol[found.right])
    np.testing.assert_array_equal(model.grammar.parent[found.rule], found.symbol[found.leaf < 0])
    np.testing.assert_array_equal(
        model.leaf_symbol[found.leaf[found.leaf >= 0]], found.symbol[found.leaf >= 0]
    )


def test_weights_need_not_sum_to_one():
    model = Model(1, FINITE)
    counts = frequencies(model, 1000)
    for numbers in model.tensors[2::2]:
        numbers *= 8.0  # a power of two leaves the bits of shares as they are
    assert frequencies(model, 1000) == counts


def test_states_without_choices_are_avoided():
    """A tree that comes to one is drawn again."""
    model = Model(2, FINITE)
    for f in range(3, 6):
        model.leaf(model.tensors, f)[1] = 0.0  # symbol 2 in state 1 has no word
    everything = model.everything()
    p = model.probabilities(model.forest(everything))
    assert p.sum() < 0.9
    assert_close(frequencies(model, 5000), 5000, dict(zip(everything, (p / p.sum()).tolist())))


@pytest.mark.parametrize(("growth", "max_length"), [(0.3, 1), (1e9, 50)])
def test_no_tree_is_short_enough(growth, max_length):
    model = Model(0, RECURSIVE, growth=growth)
    with pytest.raises(ValueError, match=f"at most {max_length} words"):
        model.trees(2, max_length=max_length)


def test_none_are_asked_for():
    forest = Model(0, FINITE).trees(0)
    assert forest.offsets.tolist() == forest.indptr.tolist() == [0]
    assert len(forest.symbol) == len(forest.rule) == 0


def test_the_same_seed_gives_the_same_trees():
    model = Model(3, RECURSIVE)
    for one, other in zip(model.trees(50, seed=7), model.trees(50, seed=7)):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(model.trees(50, seed=7).symbol, model.trees(50, seed=8).symbol)


def test_trees_of_one_word():
    """A root may be a leaf; the draw takes one number a tree for the root, one for its word."""
    model = Model(0, (1, [(0, 0, 0)], [0, 0]), growth=0.0)
    forest = draw(model.grammar, model.tensors, model.leaf_symbol, 5, np.random.RandomState(0), 1)
    assert np.diff(forest.offsets).tolist() == [1] * 5
    assert set(forest.leaf.tolist()) <= {0, 1}
