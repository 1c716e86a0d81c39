"""Models whose numbers depend on the tokens before, while a sequence goes on."""

from __future__ import annotations

import pickle

import naive
import numpy as np
import pytest

from sklearn_struct import HMM

CHAINS = pytest.mark.parametrize(("order", "stop"), [(1, True), (1, False), (2, True), (2, False)])
TYPES = ["diag", "full", "tied", "spherical"]


def fitted(order=1, stop=True, p=2, kind="full", **options):
    """A model of a symbol, a count and two numbers."""
    rng = np.random.RandomState(0)
    y = [np.repeat(rng.randint(3, size=5), 3).tolist() for _ in range(12)]
    X = [rows(rng, labels) for labels in y]
    hmm = HMM(
        order=order,
        stop=stop,
        autoregression=p,
        covariance_type=kind,
        emissions=["gaussian", "categorical", "poisson", "gaussian"],
        oov="smoothing",
        transition_smoothing=0.5,
        **options,
    )
    return hmm.fit(X, y)


def rows(rng, labels):
    x = np.cumsum(rng.normal(0.3 * np.array(labels), size=(2, len(labels))), axis=1).T
    return [
        (a, "uvw"[(k + rng.randint(2)) % 3], rng.poisson(2 + k), b)
        for k, (a, b) in zip(labels, x, strict=True)
    ]


def new(lengths, seed=1):
    rng = np.random.RandomState(seed)
    return [rows(rng, rng.randint(3, size=n)) for n in lengths]


@CHAINS
@pytest.mark.parametrize("p", [1, 3])
def test_pieces_give_what_wholes_give(order, stop, p):
    hmm = fitted(order, stop, p)
    X = new([7, 3, 0, 9, 1])
    whole, states = hmm.filter_proba(X, return_state=True)
    scores = hmm.log_score(X)
    for size in (1, 2, 4):
        state = None
        parts = [[] for _ in X]
        of_tokens = [[] for _ in X]
        for begin in range(0, 10, size):
            piece = [sequence[begin : begin + size] for sequence in X]
            for i, score in enumerate(hmm.log_score(piece, state=state)):
                of_tokens[i].append(score)
            proba, state = hmm.filter_proba(piece, state=state, return_state=True)
            for i in range(len(X)):
                parts[i].append(proba[i])
        for i in range(len(X)):
            np.testing.assert_allclose(np.concatenate(parts[i]), whole[i], atol=1e-12)
            np.testing.assert_allclose(np.concatenate(of_tokens[i]), scores[i], atol=1e-10)
            np.testing.assert_array_equal(state[i].last, states[i].last)
            assert len(state[i].last) == min(p, len(X[i]))
            assert state[i].n_tokens == len(X[i])
        for one, other in zip(hmm.predict_next(state=state), hmm.predict_next(X), strict=True):
            np.testing.assert_allclose(one.mean, other.mean, rtol=1e-9)


def test_a_state_has_the_last_numbers():
    hmm = fitted(p=2)
    X = new([6])
    _, [state] = hmm.filter_proba(X, return_state=True)
    np.testing.assert_array_equal(state.last, [[row[0], row[3]] for row in X[0][-2:]])
    copied = pickle.loads(pickle.dumps(state))
    np.testing.assert_array_equal(copied.last, state.last)
    for one in (state, copied):
        with pytest.raises(ValueError, match="read-only"):
            one.last[0] = 1
    _, [plain] = (
        HMM(stop=False).fit([[[0.0], [1.0]]], [[0, 1]]).filter_proba([[[0.5]]], return_state=True)
    )
    assert plain.last.shape == (0, 1)


def normal_of_path(hmm, last, path):
    """Mean and covariance of the numbers after `last`, if these are their labels."""
    p = len(last)
    d = last.shape[1]
    mean = list(last)
    # of all numbers, those that are known first
    spread = np.zeros(((p + len(path)) * d,) * 2)
    for t, k in enumerate(path, p):
        here = slice(t * d, (t + 1) * d)
        mean.append(
            hmm.means_[k]
            + sum(hmm.autoregression_[k, lag - 1] @ mean[t - lag] for lag in range(1, p + 1))
        )
        for lag in range(1, p + 1):
            there = slice((t - lag) * d, (t - lag + 1) * d)
            spread[here] += hmm.autoregression_[k, lag - 1] @ spread[there]
        spread[:, here] = spread[here].T
        noise = naive.Hidden(hmm, []).covariance(k)
        spread[here, here] = noise + sum(
            hmm.autoregression_[k, lag - 1] @ spread[(t - lag) * d : (t - lag + 1) * d, here]
            for lag in range(1, p + 1)
        )
    return mean[-1], np.diag(spread)[-d:]


@pytest.mark.twins
@CHAINS
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kind", TYPES)
def test_forecasts_are_sums_over_all_paths(order, stop, p, kind):
    hmm = fitted(order, stop, p, kind)
    X = new([3, 2])
    for sequence, forecast in zip(X, hmm.predict_next(X, steps=3), strict=True):
        n = len(sequence)
        seen = naive.Hidden(hmm, sequence)
        last = np.array([[row[0], row[3]] for row in sequence[-p:]])
        for h in range(3):
            labellings = naive.labellings(n + h + 1, 3)
            log_p = np.array(
                [
                    sum(seen.step(y, t) for t in range(len(y)))
                    + sum(seen.emission[t][y[t]] for t in range(n))
                    for y in labellings
                ]
            )
            weight = np.exp(log_p - np.logaddexp.reduce(log_p))
            moments = {}
            for y in labellings:
                path = tuple(y[n:])
                if path not in moments:
                    moments[path] = normal_of_path(hmm, last, path)
            means = np.array([moments[tuple(y[n:])][0] for y in labellings])
            within = np.array([moments[tuple(y[n:])][1] for y in labellings])
            mean = weight @ means
            np.testing.assert_allclose(forecast.mean[h], mean, rtol=1e-8)
            expected = weight @ (within + (means - mean) ** 2)
            np.testing.assert_allclose(forecast.variance[h], expected, rtol=1e-8)
            proba = np.bincount([y[-1] for y in labellings], weights=weight, minlength=3)
            np.testing.assert_allclose(forecast.proba[h], proba, atol=1e-10)
            np.testing.assert_allclose(forecast.count_mean[h], proba @ hmm.rates_)


def test_far_ahead_a_series_that_forgets_has_its_own_mean():
    rng = np.random.default_rng(0)
    x = [5.0]
    for _ in range(3000):
        x.append(2.0 + 0.6 * x[-1] + 0.8 * rng.normal())
    hmm = HMM(autoregression=1, stop=False).fit([np.array(x)[:, None]], [[0] * len(x)])
    [forecast] = hmm.predict_next([[[100.0]]], steps=200)
    slope = hmm.autoregression_[0, 0, 0, 0]
    assert forecast.mean[0, 0] == pytest.approx(hmm.means_[0, 0] + 100 * slope)
    assert forecast.variance[0, 0] == pytest.approx(hmm.variances_[0, 0])
    assert forecast.mean[-1, 0] == pytest.approx(hmm.means_[0, 0] / (1 - slope))
    assert forecast.variance[-1, 0] == pytest.approx(hmm.variances_[0, 0] / (1 - slope**2))


def test_forecasts_from_too_few_tokens_have_no_moments():
    """The first tokens are given, so nothing says how they are distributed."""
    hmm = fitted(p=2)
    X = new([1, 0, 2])
    short, empty, long = hmm.predict_next(X, steps=2)
    for forecast in (short, empty):
        assert np.isnan(forecast.mean).all()
        assert np.isnan(forecast.variance).all()
        np.testing.assert_allclose(forecast.proba.sum(axis=1), 1.0)
        assert np.isfinite(forecast.count_mean).all()
    assert np.isfinite(long.mean).all()


@pytest.mark.parametrize("order", [1, 2])
def test_after_an_end_that_is_certain_any_label_may_follow(order):
    hmm = fitted(order, p=1)
    hmm.transition_logprob_ = np.full_like(hmm.transition_logprob_, -np.inf)
    hmm.stop_logprob_ = np.zeros_like(hmm.stop_logprob_)
    [forecast] = hmm.predict_next(new([4]), steps=2)
    np.testing.assert_array_equal(forecast.continues, 0.0)
    np.testing.assert_allclose(forecast.proba, 1 / 3)
    last = np.array([[row[0], row[3]] for row in new([4])[0][-1:]])
    each = [normal_of_path(hmm, last, [k])[0] for k in range(3)]
    np.testing.assert_allclose(forecast.mean[0], np.mean(each, axis=0))
    assert np.isfinite(forecast.variance).all()


def test_large_numbers_keep_their_variance():
    rng = np.random.default_rng(0)
    x = 1e7 + rng.normal(size=400)
    labels = [0, 1] * 200
    hmm = HMM(autoregression=1, stop=False).fit([x[:, None]], [labels])
    near = HMM(autoregression=1, stop=False).fit([x[:, None] - 1e7], [labels])
    one = hmm.predict_next([x[:3, None]], steps=5)[0]
    other = near.predict_next([x[:3, None] - 1e7], steps=5)[0]
    np.testing.assert_allclose(one.variance, other.variance, rtol=1e-5)
    np.testing.assert_allclose(one.mean - 1e7, other.mean, atol=1e-5)
