"""Weighted least squares of parts, merged, against those of all rows by numpy."""

from __future__ import annotations

import itertools
from functools import reduce

import numpy as np
import pytest

from sklearn_struct.hidden_markov.regressors import Regressors, regressors_of

pytestmark = pytest.mark.twins
CUTS = [0, 2, 2, 3, 30, 80]


def rows(n=80, q=5, K=3, seed=0):
    rng = np.random.RandomState(seed)
    return rng.normal(size=(n, q)) @ rng.normal(size=(q, q)) + 3, rng.dirichlet(np.ones(K), size=n)


def in_parts(x, weight):
    parts = [slice(*cut) for cut in itertools.pairwise(CUTS)]
    return reduce(Regressors.merged, [regressors_of(x[p], weight[p]) for p in parts])


def expected(x, weight, d):
    """Slopes, constants and covariances of one state by least squares with a column of ones."""
    root = np.sqrt(weight)[:, None]
    given = np.column_stack([x[:, :-d], np.ones(len(x))])
    solution = np.linalg.lstsq(root * given, root * x[:, -d:], rcond=None)[0]
    left = root * (x[:, -d:] - given @ solution)
    return solution[:-1], solution[-1], left.T @ left / weight.sum()


@pytest.mark.parametrize("d", [1, 2])
def test_regressions(d):
    x, weight = rows()
    weight[2:30, 1] = 0
    for counts in (regressors_of(x, weight), in_parts(x, weight)):
        found = counts.regressions(d)
        for k in range(3):
            for table, other in zip(found, expected(x, weight[:, k], d), strict=True):
                np.testing.assert_allclose(table[k], other, rtol=1e-9, atol=1e-9)


def test_numbers_that_nearly_depend_on_each_other():
    """Products of columns would lose all digits of what tells these apart."""
    rng = np.random.RandomState(0)
    first = rng.normal(size=80)
    second = first + 1e-9 * rng.normal(size=80)
    x = np.column_stack([first, second, first + 1e9 * (second - first)])
    slope = in_parts(x, np.ones((80, 1))).regressions(1)[0]
    np.testing.assert_allclose(slope[0, :, 0], [1 - 1e9, 1e9], rtol=1e-5)


def test_of_slopes_that_data_do_not_tell_the_smallest():
    rng = np.random.RandomState(0)
    first = rng.normal(size=80)
    x = np.column_stack([first, first, 3 * first])
    slope = in_parts(x, np.ones((80, 1))).regressions(1)[0]
    np.testing.assert_allclose(slope[0, :, 0], [1.5, 1.5])


def test_states_without_mass():
    x, weight = rows()
    weight[:, 1] = 0
    counts = in_parts(x, weight)
    assert counts.mass[1] == 0
    of_all = counts.of_all
    one = regressors_of(x, weight.sum(axis=1, keepdims=True))
    for table, other in zip(of_all.regressions(2), one.regressions(2), strict=True):
        np.testing.assert_allclose(table, other, rtol=1e-10)
    filled = counts.with_states_of(of_all, np.array([False, True, False]))
    np.testing.assert_array_equal(filled.mean[1], of_all.mean[0])
    np.testing.assert_array_equal(filled.mean[0], counts.mean[0])
