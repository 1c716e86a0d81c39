"""Sentences and trees that grammars draw."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest
from nltk.tree import Tree
from sklearn.exceptions import NotFittedError

from sklearn_struct import EMLPCFG, PCFG
from sklearn_struct.datasets import make_treebank

X, Y = make_treebank(150, random_state=0)


def models():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield PCFG(min_frequency=1).fit(X, Y)
        yield EMLPCFG(n_states=2, n_grammars=2, max_iter=3, random_state=0).fit(X, Y)


def test_trees_are_possible_and_over_the_words():
    for model in models():
        sentences, trees = model.sample(60, random_state=0)
        assert [tree.leaves() for tree in trees] == sentences.tolist()
        assert all(isinstance(tree, Tree) for tree in trees)
        assert max(map(len, sentences)) <= 100
        known = [
            i
            for i, words in enumerate(sentences)
            if not any(word[:3] in ("UNK", "<OO") for word in words)
        ]
        assert np.all(model.log_joint(sentences[known], trees[known]) > -np.inf)


def test_frequencies_are_probabilities():
    """Two words of a tag, neither of which is rare, and phrases of any length."""
    trees = ["(S (A a) (B b))"] * 10 + ["(S (A a) (B c))"] * 6 + ["(S (A a) (S (A a) (B b)))"] * 4
    words = [Tree.fromstring(tree).leaves() for tree in trees]
    model = PCFG(vertical_order=1, min_frequency=1, unknown_weight=1e-9).fit(words, trees)
    n = 4000
    sentences, found = model.sample(n, random_state=1, max_length=2)
    counts = Counter(map(tuple, sentences))
    assert counts["a", "b"] / n == pytest.approx(14 / 20, abs=0.03)
    assert counts["a", "b"] + counts["a", "c"] == n  # longer ones are drawn again
    assert str(found[0]).split() == ["(ROOT", "(S", "(A", "a)", "(B", f"{sentences[0][1]})))"]


def test_seeds():
    model = next(models())
    first, again, other = (model.sample(5, random_state=seed)[0].tolist() for seed in (3, 3, 4))
    assert first == again != other


def test_errors():
    with pytest.raises(NotFittedError):
        PCFG().sample()
    model = next(models())
    for bad in ({"n_samples": 0}, {"max_length": 0}):
        with pytest.raises(ValueError, match="must be at least 1"):
            model.sample(**bad)
    with pytest.raises(TypeError, match="n_samples must be a whole number"):
        model.sample(2.5)
    with pytest.raises(MemoryError, match="n_samples=1000000000000000 needs"):
        model.sample(10**15)
