"""Distributions of durations, and the most probable ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import nbinom, poisson

from sklearn_struct.hidden_markov.durations import (
    KINDS,
    DurationCounts,
    Durations,
    fit_durations,
    survivors,
)

PARAMETRIC = KINDS[1:]


def log_likelihood(log_p, counts):
    total = 0.0
    for n, log in ((counts.ended, log_p), (counts.cut, survivors(log_p))):
        total += float(n[n > 0] @ log[n > 0])
    return total


def counts(rng, K=2, L=12):
    drawn = rng.negative_binomial(3, 0.4, size=(K, 60))
    ended = np.stack([np.bincount(row[row < L], minlength=L) for row in drawn])
    return DurationCounts(ended.astype(float), rng.integers(0, 3, size=(K, L)).astype(float))


def naive(kind, parameters, L):
    """Log-probabilities of 1, ..., L."""
    x = np.arange(L)
    if kind == "poisson":
        p = poisson.pmf(x, parameters[0])
    else:
        mean, size = parameters
        p = nbinom.pmf(x, size, size / (size + mean))
    return np.log(p / p.sum())


def test_survivors():
    p = np.random.default_rng(0).dirichlet(np.ones(5), size=2)
    expected = [[row[d:].sum() for d in range(5)] for row in p]
    np.testing.assert_allclose(np.exp(survivors(np.log(p))), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_sum_to_1(kind):
    rng = np.random.default_rng(1)
    durations = fit_durations(kind, counts(rng), 0.1)
    np.testing.assert_allclose(np.exp(durations.log_p).sum(axis=1), 1.0, rtol=1e-12)
    if kind != "categorical":
        for log_p, parameters in zip(*durations, strict=True):
            np.testing.assert_allclose(log_p, naive(kind, parameters, 12), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_no_other_distribution_is_more_probable(kind):
    rng = np.random.default_rng(2)
    of = counts(rng, K=1)
    durations = fit_durations(kind, of, 0.0)
    best = log_likelihood(durations.log_p, of)

    def loss(logs):
        if kind == "categorical":
            log_p = logs - np.logaddexp.reduce(logs)
        else:
            log_p = naive(kind, np.exp(logs), 12)
        return -log_likelihood(log_p[None], of)

    start = np.zeros(12) if kind == "categorical" else np.log(durations.parameters[0]) + 0.3
    way = "BFGS" if kind == "categorical" else "Nelder-Mead"
    other = -minimize(loss, start, method=way).fun
    assert best >= other - 1e-8
    np.testing.assert_allclose(best, other, rtol=1e-6)


def test_ratios_of_counts():
    ended = np.array([[2.0, 0.0, 6.0], [0.0, 0.0, 0.0]])
    none = DurationCounts(ended, np.zeros((2, 3)))
    plain = np.exp(fit_durations("categorical", none, 0.0).log_p)
    np.testing.assert_allclose(plain, [[0.25, 0, 0.75], [1 / 3] * 3])
    smoothed = np.exp(fit_durations("categorical", none, 1.0).log_p)
    np.testing.assert_allclose(smoothed, [[3 / 11, 1 / 11, 7 / 11], [1 / 3] * 3])
    # of those cut after two tokens, nothing is known but that they last two or three
    cut = DurationCounts(ended, np.array([[0.0, 4.0, 0.0], [0.0, 0.0, 5.0]]))
    product_limit = np.exp(fit_durations("categorical", cut, 0.0).log_p)
    np.testing.assert_allclose(product_limit[0], [1 / 6, 0, 5 / 6])
    # nothing has ended: whatever lasts long enough is as good
    assert product_limit[1, 2] > 0


@pytest.mark.parametrize("kind", PARAMETRIC)
def test_never_worse_than_before(kind):
    rng = np.random.default_rng(3)
    of = counts(rng)
    best = fit_durations(kind, of, 0.0)
    again = fit_durations(kind, of, 0.0, best)
    assert log_likelihood(again.log_p, of) >= log_likelihood(best.log_p, of)
    np.testing.assert_allclose(again.parameters, best.parameters, rtol=1e-4)
    nothing = DurationCounts(np.zeros((2, 12)), np.zeros((2, 12)))
    kept = fit_durations(kind, nothing, 0.0, best)
    np.testing.assert_allclose(kept.parameters, best.parameters, rtol=1e-12)
    assert isinstance(kept, Durations)


@pytest.mark.parametrize("kind", PARAMETRIC)
@pytest.mark.parametrize("place", [0, 11], ids=["shortest", "longest"])
def test_one_duration_only(kind, place):
    """The most probable parameters are at a limit."""
    ended = np.zeros((1, 12))
    ended[0, place] = 50.0
    durations = fit_durations(kind, DurationCounts(ended, np.zeros((1, 12))), 0.0)
    assert np.all(np.isfinite(durations.log_p))
    assert np.argmax(durations.log_p[0]) == place


@pytest.mark.parametrize("kind", PARAMETRIC)
def test_drawn_durations(kind):
    rng = np.random.default_rng(4)
    drawn = rng.poisson(7, 20000) if kind == "poisson" else rng.negative_binomial(3, 0.3, 20000)
    ended = np.bincount(drawn, minlength=40)[None, :40].astype(float)
    learned = fit_durations(kind, DurationCounts(ended, np.zeros((1, 40))), 0.0).parameters[0]
    wanted = [7] if kind == "poisson" else [7, 3]
    np.testing.assert_allclose(learned, wanted, rtol=0.06)
