"""Labellings that GraphCRF draws, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from graphs import is_unlikely

from sklearn_struct import GraphCRF
from sklearn_struct.datasets import make_snakes

LABELS = ["a", "b", "c"]
TRIANGLE = [[0, 1], [2, 1], [2, 0]]
PATH = [[1, 0], [1, 2], [3, 2]]
# a triangle, a forest, a single node, and a square with a node of its own
EDGES = [TRIANGLE, PATH, [], [[0, 1], [1, 2], [2, 3], [3, 0]]]
SIZES = [3, 4, 1, 5]


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = [
        (rng.normal(size=(n, 2)), edges, rng.normal(size=(len(edges), 1)))
        for n, edges in zip(SIZES * 5, EDGES * 5)
    ]
    y = [rng.choice(LABELS, n).tolist() for n in SIZES * 5]
    return GraphCRF(C=3.0).fit(X, y), X[:4]


def probabilities(crf, graph):
    """p(y | x) of all labellings, from the weights that users see."""
    nodes, edges, features = graph
    scores = nodes @ crf.coef_.T + crf.intercept_
    tables = crf.transition_ + (features @ crf.edge_coef_.T).reshape(-1, 3, 3)
    every = np.array(list(product(range(3), repeat=len(nodes))))
    total = scores[np.arange(len(nodes)), every].sum(axis=1)
    for table, (a, b) in zip(tables, edges):
        total += table[every[:, a], every[:, b]]
    return np.exp(total - np.logaddexp.reduce(total))


def test_frequencies_are_probabilities(fitted):
    crf, X = fitted
    drawn = crf.sample(X, n_samples=4000, random_state=0)
    for graph, samples in zip(X, drawn, strict=True):
        p = probabilities(crf, graph)
        codes = np.searchsorted(LABELS, samples)
        numbers = codes @ 3 ** np.arange(codes.shape[1])[::-1]
        assert not is_unlikely(np.bincount(numbers, minlength=len(p)), p)
        # others are not those of the model
        assert is_unlikely(np.bincount(numbers, minlength=len(p)), p[::-1])


def test_random_state(fitted):
    crf, X = fitted
    first = crf.sample(X, 5, random_state=1)
    assert first.tolist() == crf.sample(X, 5, random_state=np.random.RandomState(1)).tolist()
    assert first.tolist() != crf.sample(X, 5, random_state=2).tolist()
    assert [len(labels) for graph in crf.sample(X) for labels in graph] == SIZES
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        crf.sample(X, 0)


def test_equal_bits_for_any_number_of_threads(fitted):
    crf, X = fitted
    many = X * 200
    crf = GraphCRF(C=3.0, n_jobs=2).fit(X, [LABELS[:1] * n for n in SIZES], init=crf)
    drawn = [crf.set_params(n_jobs=n).sample(many, 2, random_state=0) for n in (1, 2)]
    assert drawn[0].tolist() == drawn[1].tolist()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_graphs_that_are_not_inferred_exactly():
    X, y, shapes = make_snakes(20, length=10, return_shapes=True, random_state=0)
    i = next(i for i, shape in enumerate(shapes) if min(shape) > 5)
    crf = GraphCRF(inference="bp", max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match=r"exact inference, not by inference='bp'; set_params"):
        crf.sample(X)
    crf.set_params(inference="auto")
    with pytest.raises(ValueError, match=r"X\[1\]: .* more than 131,072 numbers for 11 labels"):
        crf.sample([(nodes, [], []) for nodes, *_ in X[:1]] + list(X[i : i + 1]))
    assert len(crf.sample([(nodes, [], []) for nodes, *_ in X])) == 20
