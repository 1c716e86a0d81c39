"""Rates of counts, given sums over tokens."""

from __future__ import annotations

import numpy as np

from sklearn_struct.hidden_markov.moments import Sums, sums_of
from sklearn_struct.hidden_markov.poisson import fit_rates

X = np.array([[1.0, 4.0], [3.0, 0.0], [np.nan, 2.0]])


def of_all():
    return sums_of(X, np.ones((3, 1)))


def test_weighted_means():
    rates = fit_rates(sums_of(X, np.array([[1.0, 0], [1, 0], [1, 2]])), np.full(2, 0.1), of_all)
    np.testing.assert_allclose(rates, [[2, 2], [2, 2]])


def test_imagined_tokens_have_the_mean_of_all():
    sums = sums_of(X, np.array([[1.0, 0], [0, 1], [0, 0]]))
    rates = fit_rates(sums, np.full(2, 0.1), of_all, imagined=1.0)
    np.testing.assert_allclose(rates, [[1.5, 3], [2.5, 1]])


def test_without_mass_it_is_that_of_spare_sums():
    nothing = Sums(np.zeros((2, 2)), np.zeros((2, 2)))
    np.testing.assert_allclose(fit_rates(nothing, np.full(2, 0.1), of_all), [[2, 2], [2, 2]])
    # of one stream alone
    known = np.array([[0.0, 0], [0, 0], [1, 0]])
    np.testing.assert_allclose(fit_rates(sums_of(X, known), np.full(2, 0.1), of_all), [[2, 2]] * 2)


def test_spare_sums_stand_for_the_streams_that_no_label_has():
    """The second label has no mass, and the rate of all labels in the stream that others have."""
    x = np.array([[np.nan, 7.0], [3.0, 1.0], [1.0, 3.0]])
    sums = sums_of(x, np.array([[1.0, 0], [0, 0], [0, 0]]))
    for imagined in (0.0, 1.0):
        rates = fit_rates(sums, np.full(2, 0.1), lambda: sums_of(x, np.ones((3, 1))), imagined)
        np.testing.assert_allclose(rates, [[2, 7], [2, 7]])


def test_no_rate_is_below_the_floor():
    nothing = sums_of(np.zeros((3, 1)), np.ones((3, 1)))
    np.testing.assert_array_equal(fit_rates(nothing, np.array([0.2]), lambda: nothing), [[0.2]])
