"""Filtering, smoothing and forecasts against enumeration; pieces of sequences against wholes."""

from __future__ import annotations

import copy
import pickle

import naive
import numpy as np
import pytest
from scipy.stats import poisson

from sklearn_struct import HMM, SequenceArray
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError
from sklearn_struct.hidden_markov import online

LABELS = ["A", "B", "C"]
KINDS = pytest.mark.parametrize(("order", "stop"), [(1, True), (1, False), (2, True), (2, False)])


def data(seed=0, lengths=(3, 1, 0, 4, 2, 5, 3, 2)):
    """Rows of a value and two numbers, of which some are missing, and labels."""
    rng = np.random.RandomState(seed)
    y = [rng.randint(3, size=n) for n in lengths]
    X = [
        [
            ("uvw"[(k + rng.randint(2)) % 3], rng.normal(k), rng.choice([np.nan, rng.normal()]))
            for k in labels
        ]
        for labels in y
    ]
    return X, [[LABELS[k] for k in labels] for labels in y]


def fitted(order=1, stop=True, smoothing=0.5, **params):
    X, y = data()
    hmm = HMM(order=order, stop=stop, oov="smoothing", transition_smoothing=smoothing, **params)
    return hmm.fit(X, y)


def without_end(hmm):
    """The same model, for which nothing is said of the end."""
    other = copy.deepcopy(hmm)
    other.stop_logprob_ = np.zeros_like(hmm.stop_logprob_)
    if hmm.order == 2:
        other.single_stop_logprob_ = np.zeros_like(hmm.single_stop_logprob_)
    return other


# ---------------------------------------------------------------- enumeration


@pytest.mark.twins
@KINDS
@pytest.mark.parametrize("lag", [0, 1, 2, 9])
def test_smoothing_is_a_sum_over_all_labellings_up_to_the_lag(order, stop, lag):
    hmm = fitted(order, stop)
    X = data(1, [5, 1, 0, 4])[0]
    got = hmm.smooth_proba(X, lag)
    for rows, proba in zip(X, got, strict=True):
        assert proba.shape == (len(rows), 3)
        for t in range(len(rows)):
            twin = naive.Hidden(without_end(hmm), rows[: t + lag + 1])
            np.testing.assert_allclose(proba[t], twin.marginals()[t], atol=1e-10)


@pytest.mark.twins
@KINDS
def test_filtering_and_scores_by_enumeration(order, stop):
    hmm = fitted(order, stop)
    X = data(1, [5, 1, 0, 4])[0]
    proba = hmm.filter_proba(X)
    scores = hmm.log_score(X)
    for i, rows in enumerate(X):
        log_p = [
            np.logaddexp.reduce(naive.Hidden(without_end(hmm), rows[:t]).log_p)
            for t in range(len(rows) + 1)
        ]
        np.testing.assert_allclose(scores[i], np.diff(log_p), atol=1e-10)
        for t in range(len(rows)):
            twin = naive.Hidden(without_end(hmm), rows[: t + 1])
            np.testing.assert_allclose(proba[i][t], twin.marginals()[t], atol=1e-10)
    sums = [score.sum() for score in scores]
    np.testing.assert_allclose(sums, without_end(hmm).score_samples(X), atol=1e-10)


@pytest.mark.twins
@KINDS
def test_forecasts_by_enumeration(order, stop):
    hmm = fitted(order, stop)
    X = data(1, [3, 1, 0])[0]
    forecasts = hmm.predict_next(X, steps=3)
    for rows, forecast in zip(X, forecasts, strict=True):
        for h in range(3):
            labellings = naive.labellings(len(rows) + h + 1, 3)
            open_model = without_end(hmm)
            seen = naive.Hidden(open_model, rows)
            log_p = np.array(
                [
                    sum(seen.step(y, t) for t in range(len(y)))
                    + sum(seen.emission[t][y[t]] for t in range(len(rows)))
                    for y in labellings
                ]
            )
            total = np.logaddexp.reduce(log_p)
            p = np.exp(log_p - total)
            last = np.array([y[-1] for y in labellings])
            proba = np.bincount(last, weights=p, minlength=3)
            np.testing.assert_allclose(forecast.proba[h], proba, atol=1e-10)
            continues = np.exp(total - np.logaddexp.reduce(seen.log_p))
            assert forecast.continues[h] == pytest.approx(continues, abs=1e-10)
            mean = proba @ hmm.means_
            second = proba @ (hmm.variances_ + hmm.means_**2)
            np.testing.assert_allclose(forecast.mean[h], mean, atol=1e-10)
            np.testing.assert_allclose(forecast.variance[h], second - mean**2, atol=1e-10)
            table = proba @ np.exp(hmm.emission_logprob_[0])
            np.testing.assert_allclose(forecast.values[0][h], table, atol=1e-10)
            assert forecast.values[1] is None
    if not stop:
        assert all(one.continues == pytest.approx(1.0) for one in forecasts)


@KINDS
def test_forecasts_of_counts(order, stop):
    """By the distributions of counts themselves."""
    rng = np.random.RandomState(0)
    y = [rng.randint(3, size=n) for n in (6, 9, 4)]
    X = [np.column_stack([rng.poisson(2 + 3 * k), rng.poisson(1 + k), 9 - k]) for k in y]
    kinds = ["poisson", "multinomial", "multinomial"]
    hmm = HMM(order=order, stop=stop, emissions=kinds, transition_smoothing=0.5)
    hmm.fit(X, [labels.tolist() for labels in y])
    for forecast in hmm.predict_next(X, steps=3):
        counts = np.arange(100)
        p = forecast.proba @ poisson.pmf(counts, hmm.rates_)
        mean = p @ counts
        np.testing.assert_allclose(forecast.count_mean[:, 0], mean)
        np.testing.assert_allclose(forecast.count_variance[:, 0], p @ counts**2 - mean**2)
        shares = forecast.proba @ np.exp(hmm.count_logprob_)
        np.testing.assert_allclose(forecast.count_shares, shares)
        np.testing.assert_allclose(forecast.count_shares.sum(axis=1), 1.0)
        assert forecast.mean.shape == forecast.variance.shape == (3, 0)
        assert forecast.values == [None, None, None]
    without = fitted(order, stop).predict_next(data()[0])[0]
    assert without.count_mean.shape == without.count_shares.shape == (1, 0)


# ---------------------------------------------------------------- pieces


@KINDS
def test_pieces_of_sequences_give_what_wholes_give(order, stop):
    hmm = fitted(order, stop)
    X = data(2, [6, 3, 0, 9])[0]
    whole, states = hmm.filter_proba(X, return_state=True)
    scores = hmm.log_score(X)
    for size in (1, 2, 4):
        state = None
        parts = [[] for _ in X]
        of_tokens = [[] for _ in X]
        for begin in range(0, 10, size):
            piece = [rows[begin : begin + size] for rows in X]
            of_piece = hmm.log_score(piece, state=state)
            proba, state = hmm.filter_proba(piece, state=state, return_state=True)
            for i in range(len(X)):
                parts[i].append(proba[i])
                of_tokens[i].append(of_piece[i])
        for i in range(len(X)):
            np.testing.assert_allclose(np.concatenate(parts[i]), whole[i], atol=1e-14)
            np.testing.assert_allclose(np.concatenate(of_tokens[i]), scores[i], atol=1e-12)
            assert state[i].n_tokens == states[i].n_tokens == len(X[i])
            assert state[i].log_likelihood == pytest.approx(states[i].log_likelihood)
        ahead = hmm.predict_next(state=state, steps=2)
        for one, other in zip(ahead, hmm.predict_next(X, 2), strict=True):
            np.testing.assert_allclose(one.proba, other.proba, atol=1e-14)


@pytest.mark.parametrize("order", [1, 2])
def test_sequences_do_not_depend_on_their_neighbours(order):
    hmm = fitted(order)
    X = data(2, [6, 0, 3, 9])[0]
    together = hmm.filter_proba(X), hmm.smooth_proba(X, 2), hmm.log_score(X)
    for i, rows in enumerate(X):
        alone = hmm.filter_proba([rows]), hmm.smooth_proba([rows], 2), hmm.log_score([rows])
        for one, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_allclose(one[0], all_of_them[i], atol=1e-12)


def test_states_are_values():
    hmm = fitted()
    X = data(2, [4])[0]
    _, [state] = hmm.filter_proba(X, return_state=True)
    assert repr(state).startswith("FilterState(n_tokens=4, log_likelihood=-")
    with pytest.raises(AttributeError):
        state.n_tokens = 3
    with pytest.raises(ValueError, match="read-only"):
        state.alpha[0] = 1
    before = state.alpha.copy()
    copied = pickle.loads(pickle.dumps(state))
    assert not copied.alpha.flags.writeable
    once = hmm.filter_proba(X, state=[state])[0]
    again = hmm.filter_proba(X, state=copied)[0]
    np.testing.assert_array_equal(once, again)
    np.testing.assert_array_equal(state.alpha, before)


def test_states_of_other_models_are_refused():
    hmm = fitted()
    X = data(2, [4])[0]
    _, states = hmm.filter_proba(X, return_state=True)
    for other in (fitted(2), fitted(smoothing=0.6), fitted(min_variance=0.9)):
        with pytest.raises(ValueError, match=r"state\[0\] comes from another model"):
            other.filter_proba(X, state=states)
        with pytest.raises(ValueError, match=r"state\[0\] comes from another model"):
            other.predict_next(state=states)
    with pytest.raises(LengthMismatchError, match="1 states for 2 sequences"):
        hmm.filter_proba(X * 2, state=states)
    with pytest.raises(InputTypeError, match=r"state\[0\] must be a FilterState, got int"):
        hmm.filter_proba(X, state=[3])
    with pytest.raises(InputTypeError, match="state must be a list of FilterState"):
        hmm.filter_proba(X, state=3)
    with pytest.raises(ValueError, match="predict_next needs X or a state"):
        hmm.predict_next()
    with pytest.raises(ValueError, match="lag must be at least 0"):
        hmm.smooth_proba(X, -1)
    with pytest.raises(ValueError, match="steps must be at least 1"):
        hmm.predict_next(X, 0)
    with pytest.raises(InputTypeError, match="return_state must be True or False"):
        hmm.filter_proba(X, return_state=1)


# ---------------------------------------------------------------- what is rare or impossible


@KINDS
def test_long_sequences(order, stop, monkeypatch):
    """Also in many calls of kernels."""
    hmm = fitted(order, stop)
    X = data(3, [6_000])[0]
    open_model = without_end(hmm)
    scores = hmm.log_score(X)[0]
    assert scores.sum() == pytest.approx(open_model.score_samples(X)[0], rel=1e-10)
    smooth = hmm.smooth_proba(X, 6_000)[0]
    np.testing.assert_allclose(smooth, open_model.predict_proba(X)[0], atol=1e-9)
    near = hmm.smooth_proba(X, 60)[0]
    assert np.abs(near - smooth).max() < 0.1
    monkeypatch.setattr(online, "STEPS", 20 * 3 * 12 * 500)
    np.testing.assert_array_equal(hmm.smooth_proba(X, 6_000)[0], smooth)
    np.testing.assert_array_equal(hmm.smooth_proba(X, 60)[0], near)
    np.testing.assert_array_equal(hmm.log_score(X)[0], scores)


def test_no_path_underflows():
    """Two groups of labels that never meet: after 2,000 tokens the improbable one wins."""
    hmm = HMM(stop=False, oov=None).fit([["a", "b", "a", "b"]], [[0, 1, 0, 1]])
    hmm.start_logprob_ = np.log([0.5, 0.5])
    with np.errstate(divide="ignore"):
        hmm.transition_logprob_ = np.log(np.eye(2))
    hmm.emission_logprob_ = [np.log(np.array([[0.9, 0.1], [0.1, 0.9]]))]
    X = [["a"] * 2000 + ["b"] * 2001]
    # all tokens together speak for label 1 by a single one
    np.testing.assert_allclose(hmm.filter_proba(X)[0][-1], [0.1, 0.9], atol=1e-9)
    np.testing.assert_allclose(hmm.smooth_proba(X, 5000)[0][0], [0.1, 0.9], atol=1e-9)
    assert hmm.filter_proba(X)[0][1999, 1] < 1e-300


@pytest.mark.parametrize("order", [1, 2])
def test_after_an_impossible_token_the_rest_is_predicted(order):
    X = [["a", "b", "a", "b"]] * 2
    hmm = HMM(order=order, stop=False, oov=None, smoothing=0).fit(X, [[0, 1, 0, 1]] * 2)
    test = [["a", "a", "b"]]
    assert hmm.score_samples(test)[0] == -np.inf
    np.testing.assert_array_equal(hmm.log_score(test)[0][:2], [0.0, -np.inf])
    assert not np.isnan(hmm.log_score(test)[0]).any()
    for proba in (hmm.filter_proba(test)[0], *(hmm.smooth_proba(test, lag)[0] for lag in (1, 5))):
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        np.testing.assert_array_equal(proba.argmax(axis=1), [0, 0, 1])
    assert hmm.predict_next(test)[0].proba.argmax() == 0


@pytest.mark.parametrize("far", [1e7, 1e9, 1e100, 1e300])
def test_a_number_far_away_from_labels_that_are_alike(far):
    """It says nothing of two labels with the same distribution, and leaves their odds alone."""
    hmm = HMM.from_parameters(
        3,
        start=[0.25, 0.75, 0.0],
        transition=[[0.9, 0.1, 0.0], [0.25, 0.7, 0.05], [0.3, 0.3, 0.4]],
        means=[[0.0], [0.0], [-4.0]],
        covariances=[[1.0], [1.0], [1.0]],
    )
    X = [np.array([[far], [0.5], [far], [-0.5]])]
    for proba in (hmm.filter_proba(X)[0], *(hmm.smooth_proba(X, lag)[0] for lag in (1, 9))):
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(hmm.filter_proba(X)[0][0], [0.25, 0.75, 0.0], atol=1e-12)
    # densities are not below the least that kernels know
    assert hmm.log_score(X)[0][0] == pytest.approx(max(-far * min(far, 1e290) / 2, -1e300))
    if far < 1e12:
        # as after numbers that are so near that no digits are lost
        near = [np.array([[100.0], [0.5], [100.0], [-0.5]])]
        np.testing.assert_allclose(hmm.log_score(X)[0][[1, 3]], hmm.log_score(near)[0][[1, 3]])
        for lag in (0, 1, 9):
            np.testing.assert_allclose(
                hmm.smooth_proba(X, lag)[0], hmm.smooth_proba(near, lag)[0], atol=1e-12
            )
        np.testing.assert_allclose(hmm.smooth_proba(near, 9)[0], hmm.predict_proba(near)[0])


# ---------------------------------------------------------------- forms


def test_forms():
    rng = np.random.RandomState(0)
    table = rng.normal(size=(5, 2))
    rows = HMM(covariance_type="full").fit(table, ["A", "B", "A", "B", "B"])
    np.testing.assert_allclose(rows.filter_proba(table), without_end(rows).predict_proba(table))
    assert rows.log_score(table).shape == (5,)
    assert rows.smooth_proba(table, 3).shape == (5, 2)
    assert rows.predict_next(table).shape == (5,)
    hmm = HMM(n_states=2, random_state=0).fit([table, table])
    for X in ([table], SequenceArray.from_sequences([table]), table[None]):
        np.testing.assert_allclose(hmm.filter_proba(X)[0], hmm.smooth_proba([table], 0)[0])
    assert hmm.predict_next([[]])[0].proba[0] == pytest.approx(np.exp(hmm.start_logprob_))


@pytest.mark.parametrize("order", [1, 2])
def test_bits_do_not_depend_on_threads(order):
    hmm = fitted(order)
    X = data(4, [30, 2, 0, 17] * 40)[0]
    for method in (lambda m: m.filter_proba(X), lambda m: m.smooth_proba(X, 3)):
        one = np.concatenate(list(method(hmm.set_params(n_jobs=1))))
        two = np.concatenate(list(method(hmm.set_params(n_jobs=2))))
        np.testing.assert_array_equal(one, two)
