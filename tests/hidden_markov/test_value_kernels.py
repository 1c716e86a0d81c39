"""Sums over the symbols of tokens, as numpy has them."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct.hidden_markov.value_kernels import add_scores_of_values, add_weights_of_values

pytestmark = pytest.mark.twins
SIZES = pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 10])


def drawn(K, n, n_values, seed=0):
    rng = np.random.RandomState(seed)
    return rng.randint(n_values, size=n).astype(np.int32), rng.normal(size=(n, K))


@SIZES
@pytest.mark.parametrize(("n", "n_values"), [(0, 3), (1, 1), (40, 7)])
def test_scores(K, n, n_values):
    codes, out = drawn(K, n, n_values)
    table = np.random.RandomState(1).normal(size=(K, n_values))
    table[0, 0] = -np.inf
    expected = out + table.T[codes]
    add_scores_of_values(codes, table, out)
    np.testing.assert_array_equal(out, expected)


@SIZES
@pytest.mark.parametrize(("n", "n_values"), [(0, 3), (1, 1), (40, 7)])
def test_weights(K, n, n_values):
    codes, weight = drawn(K, n, n_values)
    before = np.random.RandomState(1).normal(size=(n_values, K))
    expected = before.copy()
    np.add.at(expected, codes, weight)
    add_weights_of_values(codes, weight, before)
    np.testing.assert_allclose(before, expected, rtol=1e-12)


@SIZES
@pytest.mark.parametrize("code", [-1, 3])
def test_a_code_that_is_no_column(K, code):
    codes = np.array([0, code], np.int32)
    with pytest.raises(IndexError, match="has no column"):
        add_scores_of_values(codes, np.zeros((K, 3)), np.zeros((2, K)))
    with pytest.raises(IndexError, match="has no column"):
        add_weights_of_values(codes, np.zeros((2, K)), np.zeros((3, K)))
