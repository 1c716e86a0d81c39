"""Rows of counts: their product with any weights is the score that a chain's potentials give."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.estimators.chains.observed_weights import WeightChoice, observe
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.objectives.counted_features import Layout, counted_features
from sklearn_struct.objectives.linear_potentials import bind
from sklearn_struct.objectives.weight_patterns import of_order

LENGTHS = [3, 0, 1, 4, 2]
K = 3
M = 4


def data(sparse, seed=0):
    rng = np.random.RandomState(seed)
    n = sum(LENGTHS)
    X = rng.normal(size=(n, M)) * (rng.uniform(size=(n, M)) < 0.6)
    return SequenceArray(sp.csr_array(X) if sparse else X, np.cumsum([0, *LENGTHS])), rng.randint(
        K, size=n
    )


def pattern(X, codes, order=1, **options):
    settings = {
        "edge_features": None,
        "min_frequency": 1,
        "feature_pairs": "observed",
        "transition_features": "all",
    }
    settings |= {"order": order, "fit_intercept": True}
    return observe(WeightChoice(**settings | options), K, X, codes, np.ones(len(codes)))


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("orders", [(1, 1), (2, 2), (1, 2)], ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"edge_features": "all", "transition_features": "observed"}], ids=str
)
def test_the_product_with_weights_is_the_score(sparse, orders, options):
    X, codes = data(sparse)
    found = of_order(pattern(X, codes, orders[0], **options), orders[1])
    layout = Layout(found, inputs=False, constant=False)
    chain = Chain(orders[1])
    structure = chain.structure(X.offsets)
    potentials = bind(found, X, structure, np.dtype(float))
    w = np.random.RandomState(1).normal(size=potentials.size)
    # some pairs have no weight
    other = np.random.RandomState(2).randint(K, size=len(codes)).astype(np.int32)
    [block] = chain.blocks(structure, K, n_blocks=1)
    made = potentials.forward(potentials.expand(w), block)
    assert len(made.cliques) == orders[1]
    score = chain.scores(made, block.structure, other)
    rows = counted_features(layout, X, other)
    assert rows.shape == (len(X), layout.size)
    np.testing.assert_allclose(rows @ w, score, atol=1e-12)


@pytest.mark.parametrize("inputs", [True, False])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("n_distant", [0, 2])
def test_layouts(inputs, constant, n_distant):
    X, codes = data(sparse=True)
    layout = Layout(pattern(X, codes), inputs, constant, n_distant)
    pairs = np.arange(10.0).reshape(5, 2)
    rows = counted_features(layout, X, codes, sp.csr_array(pairs)).toarray()
    of_inputs, chain, distant, last = layout.split(np.arange(layout.size))
    assert [len(of_inputs), len(distant), len(last)] == [M * inputs, n_distant, int(constant)]
    joined = layout.join(of_inputs, chain, float(last.sum()), distant)
    np.testing.assert_array_equal(joined, np.arange(layout.size))
    without = layout.join(of_inputs, chain, float(last.sum()))
    np.testing.assert_array_equal(without[distant], 0.0)
    if n_distant:
        np.testing.assert_array_equal(rows[:, distant], pairs)
    if inputs:
        sums = [X.tokens.toarray()[lo:hi].sum(axis=0) for lo, hi in zip(X.offsets, X.offsets[1:])]
        np.testing.assert_allclose(rows[:, of_inputs], sums)
    if constant:
        np.testing.assert_array_equal(rows[:, last], np.ones((len(X), 1)))
