"""States of nodes to start from, by clusters."""

from __future__ import annotations

import numpy as np

from sklearn_struct.datasets import make_treebank
from sklearn_struct.encoding.trees import binarization, brackets, tree_corpus
from sklearn_struct.estimators.trees.clustered_starts import DOUBT, clustered, coordinates


def example():
    _, y = make_treebank(100, random_state=0)
    trees = binarization.read(y)
    return tree_corpus.learn(
        [brackets.words(tree) for tree in trees], trees, (0, 1), 2, 1.0
    ).treebank


def test_distributions_of_states():
    data = example()
    n_states = np.clip(np.arange(len(data.grammar.indptr) - 1) % 4, 1, 3)
    states = clustered(data, coordinates(data, 3), n_states, np.random.RandomState(0))
    np.testing.assert_allclose(states.sum(axis=1), 1.0)
    assert states.min() == DOUBT / 3
    most = states.argmax(axis=1)
    for s, m in enumerate(n_states):
        assert set(most[data.forest.symbol == s]) == set(range(m))
    again = clustered(data, coordinates(data, 3), n_states, np.random.RandomState(0))
    np.testing.assert_array_equal(again, states)


def test_clusters_are_those_of_the_coordinates():
    """Nodes at the same place have the same state, those far from each other have not."""
    data = example()
    symbol = data.forest.symbol
    n_states = np.full(len(data.grammar.indptr) - 1, 2)
    side = np.arange(len(symbol)) % 2
    states = clustered(data, side[:, None] * 5.0, n_states, np.random.RandomState(0)).argmax(axis=1)
    for s in range(len(n_states)):
        here = symbol == s
        assert len(set(zip(side[here], states[here]))) == 2
