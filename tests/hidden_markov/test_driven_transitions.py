"""Logistic models of transitions, against finite differences, counting and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.hidden_markov.densities import log_ratios
from sklearn_struct.hidden_markov.driven_transitions import (
    DrivenCounts,
    Logits,
    coefficient_prior,
    log_transitions,
    most_probable,
)

K = 3


def counts(rng, m=40, p=2, K=K, scale=5.0):
    pairs = scale * rng.random((m, K, K))
    return rng.normal(size=(m, p)), DrivenCounts(
        pairs, Logits(np.zeros((K, K)), np.zeros((K, K, p)))
    )


def fitted(inputs, of_inputs, smoothing=0.0, penalty=0.0):
    return most_probable(inputs, of_inputs, smoothing, penalty, Pool())


def value(logits, inputs, pairs, smoothing, penalty):
    """The log-likelihood of counts plus the log-densities of the priors."""
    log_p = log_softmax(logits.intercept + np.einsum("jkp,mp->mjk", logits.slopes, inputs), axis=-1)
    imagined = smoothing * log_softmax(logits.intercept, axis=-1).sum()
    return (pairs * log_p).sum() + imagined - penalty / 2 * (logits.slopes**2).sum()


def test_probabilities():
    rng = np.random.default_rng(0)
    logits = Logits(rng.normal(size=(K, K)), rng.normal(size=(K, K, 2)))
    inputs = rng.normal(size=(5, 2))
    scores = logits.intercept + np.einsum("jkp,np->njk", logits.slopes, inputs)
    np.testing.assert_allclose(log_transitions(logits, inputs), log_softmax(scores, axis=-1))
    # what is excluded stays so, and a label that nothing may follow gets no NaN
    logits.intercept[0, 1] = -np.inf
    logits.intercept[2] = -np.inf
    with np.errstate(all="raise"):
        log_p = log_transitions(logits, inputs)
    assert np.all(log_p[:, 0, 1] == -np.inf)
    assert np.all(log_p[:, 2] == -np.inf)
    np.testing.assert_allclose(np.exp(log_p[:, 0]).sum(axis=-1), 1)
    assert log_transitions(logits, np.full((1, 2), 1e75)).max() <= 0


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
@pytest.mark.parametrize("penalty", [0.0, 3.0])
def test_no_slope_is_left(smoothing, penalty):
    """Central differences of the value in all parameters vanish at the most probable ones."""
    rng = np.random.default_rng(1)
    inputs, of_inputs = counts(rng)
    logits = fitted(inputs, of_inputs, smoothing, penalty)
    top = value(logits, inputs, of_inputs.pairs, smoothing, penalty)
    h = 1e-5
    for table in logits:
        for place in np.ndindex(table.shape):
            ahead = []
            for sign in (1, -1):
                table[place] += sign * h
                ahead.append(value(logits, inputs, of_inputs.pairs, smoothing, penalty))
                table[place] -= sign * h
            assert abs(ahead[0] - ahead[1]) / (2 * h) < 1e-5 * abs(top)
            assert max(ahead) < top + 1e-9


def test_one_form_is_reported():
    inputs, of_inputs = counts(np.random.default_rng(2))
    logits = fitted(inputs, of_inputs)
    np.testing.assert_allclose(np.exp(logits.intercept).sum(axis=1), 1)
    np.testing.assert_allclose(logits.slopes.sum(axis=1), 0, atol=1e-12)
    assert coefficient_prior(logits.slopes, 3.0) == pytest.approx(-1.5 * (logits.slopes**2).sum())


@pytest.mark.parametrize("penalty", [1.0, 20.0])
def test_equal_to_scikit_learn(penalty):
    rng = np.random.default_rng(3)
    m = 300
    inputs = rng.normal(size=(m, 2))
    pairs = np.zeros((m, K, K))
    after = rng.integers(K, size=m)
    pairs[np.arange(m), 1, after] = 1.0
    zeros = Logits(np.zeros((K, K)), np.zeros((K, K, 2)))
    logits = fitted(inputs, DrivenCounts(pairs, zeros), 0.0, penalty)
    other = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=1000).fit(inputs, after)
    np.testing.assert_allclose(logits.slopes[1], other.coef_, atol=1e-6)
    expected = other.predict_log_proba(inputs)
    np.testing.assert_allclose(log_transitions(logits, inputs)[:, 1], expected, atol=1e-6)
    # of labels that nothing is known of, all that follows is as probable
    np.testing.assert_allclose(logits.intercept[[0, 2]], -np.log(K))
    assert not logits.slopes[[0, 2]].any()


@pytest.mark.parametrize("smoothing", [0.0, 0.7])
def test_inputs_of_zero_leave_counting(smoothing):
    rng = np.random.default_rng(4)
    _, of_inputs = counts(rng, m=6)
    logits = fitted(np.zeros((6, 2)), of_inputs, smoothing, 0.0)
    expected = log_ratios(of_inputs.pairs.sum(axis=0), smoothing)
    np.testing.assert_allclose(logits.intercept, expected, atol=1e-9)
    assert not logits.slopes.any()


def test_a_start_is_never_left_for_worse():
    rng = np.random.default_rng(5)
    for scale in (0.1, 3.0, 30.0):
        inputs, of_inputs = counts(rng, m=12)
        before = Logits(
            log_softmax(scale * rng.normal(size=(K, K)), axis=-1),
            scale * rng.normal(size=(K, K, 2)),
        )
        centred = before.slopes - before.slopes.mean(axis=1, keepdims=True)
        start = value(before._replace(slopes=centred), inputs, of_inputs.pairs, 0.2, 1.0)
        logits = fitted(inputs, of_inputs._replace(before=before), 0.2, 1.0)
        assert value(logits, inputs, of_inputs.pairs, 0.2, 1.0) >= start
        best = fitted(inputs, of_inputs, 0.2, 1.0)
        np.testing.assert_allclose(logits.slopes, best.slopes, atol=1e-6)


def test_what_can_be_told_apart_has_finite_weights():
    """Separable counts have their maximum at infinity, and equal columns have no single one."""
    rng = np.random.default_rng(6)
    column = rng.normal(size=30)
    inputs = np.column_stack([column, column, np.zeros(30)])
    pairs = np.zeros((30, 2, 2))
    pairs[np.arange(30), :, (column > 0).astype(int)] = 1.0
    zeros = Logits(np.zeros((2, 2)), np.zeros((2, 2, 3)))
    logits = fitted(inputs, DrivenCounts(pairs, zeros))
    assert all(np.all(np.isfinite(table)) for table in logits)
    assert value(logits, inputs, pairs, 0.0, 0.0) > -0.5
    np.testing.assert_allclose(logits.slopes[..., 0], logits.slopes[..., 1], rtol=1e-5)
    assert not logits.slopes[..., 2].any()


def test_units_of_inputs_make_no_difference_without_penalty():
    inputs, of_inputs = counts(np.random.default_rng(7))
    units = np.array([1e6, 1e-6])
    one = fitted(inputs, of_inputs)
    other = fitted(inputs * units, of_inputs)
    np.testing.assert_allclose(other.slopes * units, one.slopes, rtol=1e-6)


def test_long_tables_in_parts():
    """More different inputs than curvatures are made of at once."""
    rng = np.random.default_rng(8)
    inputs, of_inputs = counts(rng, m=300_000, p=1, K=2)
    logits = fitted(inputs, of_inputs, 0.0, 1.0)
    residual = of_inputs.pairs - of_inputs.pairs.sum(axis=2, keepdims=True) * np.exp(
        log_transitions(logits, inputs)
    )
    slope = np.einsum("mjk,mp->jkp", residual, inputs) - logits.slopes
    np.testing.assert_allclose(slope, 0, atol=1e-4)
