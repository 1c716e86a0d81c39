"""Hidden Markov models whose transitions depend on inputs, compared with enumeration, with plain
ones, and with drawn data.
"""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from naive_driven import Driven
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from sklearn_struct import HMM, HSMM, MEstimatedCRF, NonHomogeneousHMM, SequenceArray
from sklearn_struct.exceptions import (
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
    UnknownLabelError,
)
from sklearn_struct.inspection import DurationDisplay, EmissionDisplay, TransitionDisplay
from sklearn_struct.metrics import log_likelihood_scorer

INPUTS = [1, 4]
MIXED = ["categorical", "poisson", "multinomial", "gaussian", "multinomial", "gaussian"]
KINDS = {
    "full": {"covariance_type": "full"},
    "poisson": {"emissions": "poisson"},
    "multinomial": {"emissions": "multinomial"},
    "mixtures": {"n_mixtures": 2},
    "lags": {"autoregression": 2},
    "mixed": {"emissions": MIXED},
}
EVERY_KIND = pytest.mark.parametrize("name", KINDS)


def data(name, seed=0, lengths=(12,) * 8):
    """Sequences for a model of this kind, with inputs in the columns 1 and 4."""
    rng = np.random.RandomState(seed)
    X = []
    Y = []
    for n in lengths:
        inputs = rng.normal(size=(n, 2)).round(1)
        k = (rng.uniform(size=n) < 1 / (1 + np.exp(-2 * inputs[:, 0]))) + rng.randint(2, size=n)
        counts = rng.poisson(2 + 2 * k, size=(3, n)).T
        numbers = rng.normal(1.5 * k, size=(3, n)).T
        words = ["uvw"[(i + rng.randint(2)) % 3] for i in k]
        emitted = counts if name in ("poisson", "multinomial") else numbers
        if name == "mixed":
            rows = zip(words, inputs.tolist(), counts.tolist(), numbers.tolist(), strict=True)
            X.append([(w, u[0], c[0], c[1], u[1], x[0], c[2], x[1]) for w, u, c, x in rows])
        else:
            X.append(np.insert(emitted.astype(float), [1, 3], inputs, axis=1))
        Y.append(["ABC"[i] for i in k])
    return X, Y


def model(name, **options):
    settings = {"transition_inputs": INPUTS, "random_state": 0, "tol": 1e-3}
    return NonHomogeneousHMM(**{**settings, **KINDS[name], **options})


def fitted(name, **options):
    return model(name, **options).fit(*data(name))


def emitted(X):
    """Arrays without the inputs."""
    return [np.delete(x, INPUTS, axis=1) for x in X]


@pytest.mark.twins
@EVERY_KIND
def test_probabilities_are_those_of_all_labellings(name):
    hmm = fitted(name, transition_penalty=0.01)
    assert np.abs(hmm.transition_coef_).max() > 0.5
    X, _ = data(name, 1, [6, 1, 5, 3])
    every = [Driven(hmm, x, INPUTS) for x in X]
    np.testing.assert_allclose(
        hmm.score_samples(X), [twin.log_Z for twin in every], rtol=1e-10, atol=1e-10
    )
    best = hmm.predict(X)
    for twin, y, proba in zip(every, best, hmm.predict_proba(X), strict=True):
        np.testing.assert_allclose(proba, twin.marginals(), atol=1e-10)
        assert tuple(hmm.classes_.searchsorted(y)) == twin.y[int(np.argmax(twin.log_p))]
    top = [twin.log_p.max() for twin in every]
    np.testing.assert_allclose(hmm.log_joint(X, best), top, rtol=1e-10, atol=1e-10)


@EVERY_KIND
@pytest.mark.parametrize("known", ["nothing", "some", "all"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_loss_never_rises(name, known):
    X, y = data(name)
    if known == "some":
        y = [[label if t % 4 == 0 else None for t, label in enumerate(labels)] for labels in y]
    hmm = model(name, n_states=[*"ABC"], max_iter=8, tol=0, smoothing=0, transition_smoothing=0)
    hmm.set_params(transition_penalty=0, oov="smoothing")
    hmm.fit(X, None if known == "nothing" else y)
    # nobody knows the components of a mixture
    assert hmm.n_iter_ == (1 if known == "all" and name != "mixtures" else 8)
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-8 * abs(hmm.loss_curve_[0]))
    # what the curve says is what the model says
    if known == "nothing":
        log_p = hmm.log_likelihood(X)
        np.testing.assert_allclose(hmm.loss_curve_[-1], -log_p, rtol=1e-10)


@EVERY_KIND
def test_inputs_that_never_change_leave_a_plain_model(name):
    """After equally many iterations, with equal priors."""
    X, _ = data(name)
    for x in X:
        if name == "mixed":
            x[:] = [(*row[:1], 2.0, *row[2:4], 0.0, *row[5:]) for row in x]
        else:
            x[:, INPUTS] = 2.0, 0.0
    options = {"n_states": 3, "max_iter": 6, "tol": 0, "transition_smoothing": 0.0}
    plain = HMM(stop=False, random_state=0, **KINDS[name], **options)
    if name == "mixed":
        alone = [[(*row[:1], *row[2:4], *row[5:]) for row in x] for x in X]
    else:
        alone = emitted(X)
    with pytest.warns(ConvergenceWarning):
        plain.fit(alone)
    with pytest.warns(ConvergenceWarning):
        hmm = model(name, **options).fit(X)
    # of an input that is always 0 nothing is learned; of the other one it is part of a constant
    proba = np.exp(plain.transition_logprob_)
    np.testing.assert_allclose(
        hmm.transition_proba(X[:1])[0], np.tile(proba, (12, 1, 1)), atol=1e-8
    )
    assert np.abs(hmm.transition_coef_).max() < 1e-6
    for attribute in ("start_logprob_", "means_", "covariances_", "rates_", "count_logprob_"):
        np.testing.assert_allclose(getattr(hmm, attribute), getattr(plain, attribute), atol=1e-8)
    np.testing.assert_allclose(hmm.loss_curve_, plain.loss_curve_, rtol=1e-8)


def test_smoothing_is_that_of_a_plain_model_where_inputs_are_0():
    X, y = data("full")
    for x in X:
        x[:, INPUTS] = 0.0
    options = {"transition_smoothing": 0.7, "covariance_type": "full"}
    hmm = model("full", **options).fit(X, y)
    plain = HMM(stop=False, **options).fit(emitted(X), y)
    np.testing.assert_allclose(hmm.transition_logprob_, plain.transition_logprob_, atol=1e-9)
    np.testing.assert_allclose(hmm.start_logprob_, plain.start_logprob_)
    np.testing.assert_allclose(hmm.loss_curve_, plain.loss_curve_)


def test_without_inputs_it_is_a_plain_model():
    X, _ = data("full")
    options = {"n_states": 3, "random_state": 0, "transition_smoothing": 0.1, "tol": 1e-3}
    hmm = NonHomogeneousHMM(**options).fit(X)
    plain = HMM(stop=False, **options).fit(X)
    np.testing.assert_allclose(hmm.loss_curve_, plain.loss_curve_, rtol=1e-13)
    assert hmm.n_parameters_ == plain.n_parameters_
    assert hmm.transition_coef_.shape == (3, 3, 0)
    np.testing.assert_allclose(hmm.predict_proba(X)[0], plain.predict_proba(X)[0], atol=1e-12)
    proba = np.exp(plain.transition_logprob_)
    np.testing.assert_allclose(hmm.transition_proba(X)[0][5], proba)
    assert hmm.sample(2, 0, inputs=np.empty((5, 0)))[0][1].shape == (5, 5)


def true_model(rng):
    """Three levels, and two inputs that drive transitions."""
    X = [np.column_stack([[0.0, 3.0, 6.0], np.eye(3)[:, :2]])]
    hmm = NonHomogeneousHMM(transition_inputs=[1, 2]).fit(X, [[0, 1, 2]])
    hmm.means_ = np.array([[0.0], [3.0], [6.0]])
    hmm.covariances_ = np.ones((3, 1))
    hmm.transition_logprob_ = np.log([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])
    coef = rng.normal(size=(3, 3, 2))
    hmm.transition_coef_ = coef - coef.mean(axis=1, keepdims=True)
    return hmm


def test_drawn_parameters_are_recovered():
    rng = np.random.default_rng(0)
    true = true_model(rng)
    drawn = [true.sample(20, seed, inputs=rng.normal(size=(500, 2))) for seed in range(3)]
    X = [x for sequences, _ in drawn for x in sequences]
    y = [labels for _, sequences in drawn for labels in sequences]
    options = {"transition_inputs": [1, 2], "tol": 1e-7}
    known = NonHomogeneousHMM(**options).fit(X, y)
    hidden = NonHomogeneousHMM(n_states=3, random_state=0, **options).fit(X)
    order = np.argsort(hidden.means_.ravel())
    np.testing.assert_allclose(known.transition_coef_, true.transition_coef_, atol=0.15)
    coef = hidden.transition_coef_[order][:, order]
    np.testing.assert_allclose(coef, true.transition_coef_, atol=0.25)
    np.testing.assert_allclose(hidden.means_[order].ravel(), [0, 3, 6], atol=0.05)
    proba = np.exp(hidden.transition_logprob_)[order][:, order]
    np.testing.assert_allclose(proba, np.exp(true.transition_logprob_), atol=0.03)
    plain = HMM(n_states=3, stop=False, random_state=0).fit([x[:, :1] for x in X])
    assert hidden.log_likelihood(X) > plain.log_likelihood([x[:, :1] for x in X]) + 500
    assert hidden.bic(X) < plain.bic([x[:, :1] for x in X])


def test_samples():
    rng = np.random.default_rng(1)
    hmm = true_model(rng)
    inputs = np.tile([[5.0, 0.0], [0.0, -5.0]], (3, 1))
    X, y = hmm.sample(4000, random_state=0, inputs=inputs)
    np.testing.assert_array_equal(X[3][:, 1:], inputs)
    labels = np.array([*y])
    proba = hmm.transition_proba(X[:1])[0]
    for t in range(1, 6):
        counts = np.zeros((3, 3))
        np.add.at(counts, (labels[:, t - 1], labels[:, t]), 1)
        many = counts.sum(axis=1) > 500
        shares = counts[many] / counts[many].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(shares, proba[t][many], atol=0.06)
    assert repr(hmm.sample(2, 0, inputs=inputs)) == repr(hmm.sample(2, 0, inputs=inputs))
    assert np.all(np.isfinite(hmm.log_joint(X[:5], y[:5])))
    for wrong, error in [
        (np.zeros((3, 1)), LengthMismatchError),
        (np.zeros(4), LengthMismatchError),
        (np.zeros((0, 2)), LengthMismatchError),
        ([["a", "b"]], InputTypeError),
        (np.array([[np.nan, 1.0]]), NonFiniteError),
    ]:
        with pytest.raises(error, match="inputs"):
            hmm.sample(2, inputs=wrong)


@EVERY_KIND
def test_samples_of_each_kind(name):
    hmm = fitted(name)
    inputs = np.random.default_rng(2).normal(size=(7, 2)).round(1)
    X, y = hmm.sample(4, random_state=0, inputs=inputs)
    assert np.all(np.isfinite(hmm.log_joint(X, y)))
    places = np.array([[float(row[c]) for c in INPUTS] for row in X[0]])
    np.testing.assert_array_equal(places, inputs)
    replaced = hmm.replace_oov(X)
    assert repr(hmm.score_samples(replaced)) == repr(hmm.score_samples(X))


def test_columns_may_be_named():
    X, y = data("full")
    names = ["a", "season_1", "b", "c", "season_2"]
    flat = np.concatenate(X)
    lengths = [len(x) for x in X]
    named = SequenceArray.from_flat(pd.DataFrame(flat, columns=names), lengths)
    by_number = model("full").fit(X, y)
    for wanted in (["season_1", "season_2"], re.compile("season_."), [1, "season_2"]):
        hmm = model("full", transition_inputs=wanted).fit(named, y)
        np.testing.assert_array_equal(hmm.transition_coef_, by_number.transition_coef_)
        assert hmm.predict(named).tolist() == by_number.predict(X).tolist()
    assert list(hmm.feature_names_in_) == names
    with pytest.raises(ValueError, match="transition_inputs: X has no feature 'season_3'"):
        model("full", transition_inputs=["season_3"]).fit(named, y)


def test_rows_as_sequences():
    """A table is a batch of sequences of one token, whose inputs act on nothing."""
    X, y = data("full")
    table = np.concatenate(X)
    labels = np.concatenate(y)
    hmm = model("full").fit(table, labels)
    assert hmm.transition_proba(table).shape == (len(table), 3, 3)
    np.testing.assert_allclose(hmm.transition_proba(table), 1 / 3)
    other = table.copy()
    other[:, INPUTS] = 3.0
    np.testing.assert_array_equal(hmm.predict_proba(other), hmm.predict_proba(table))
    frame = pd.DataFrame(table, columns=[*"abcde"])
    named = model("full", transition_inputs=["b", "e"]).fit(frame, labels)
    assert named.predict(frame).tolist() == hmm.predict(table).tolist()


def test_missing_numbers_are_for_what_is_emitted():
    X, y = data("mixtures")
    X[0][2, 0] = X[1][3, 2] = np.nan
    hmm = model("mixtures").fit(X, y)
    short = [X[0][:5], X[1][1:6]]
    expected = [Driven(hmm, x, INPUTS).log_Z for x in short]
    np.testing.assert_allclose(hmm.score_samples(short), expected, rtol=1e-9)
    X[1][3, 4] = np.nan
    said = re.escape("X[1], token 3, column 4: not finite (nan); transitions depend on this column")
    for attempt in (
        lambda: model("mixtures").fit(X, y),
        lambda: hmm.predict(X),
        lambda: hmm.transition_proba(X),
    ):
        with pytest.raises(NonFiniteError, match=said):
            attempt()
    X[1][3, 4] = 1e80
    with pytest.raises(NonFiniteError, match=r"column 4: 1e\+80 is too large; .* scale the column"):
        hmm.predict(X)


@EVERY_KIND
def test_starts(name):
    X, y = data(name)
    if name != "mixed":
        plain = HMM(random_state=0, tol=1e-3, **KINDS[name]).fit(emitted(X), y)
        hmm = model(name, max_iter=3, tol=0)
        with pytest.warns(ConvergenceWarning):
            hmm.fit(X, init=plain)
        assert np.all(np.diff(hmm.loss_curve_) <= 1e-8 * abs(hmm.loss_curve_[0]))
        assert np.abs(hmm.transition_coef_).max() > 0
    first = fitted(name, tol=1e-6, max_iter=500)
    again = model(name, tol=1e-6).fit(X, y, init=first)
    assert again.loss_curve_[-1] <= first.loss_curve_[-1] + 1e-6
    assert again.vocabulary_ == first.vocabulary_


def test_other_starts_are_refused():
    X, y = data("full")
    hmm = fitted("full")
    with pytest.raises(InputTypeError, match="without inputs, got NonHomogeneousHMM"):
        HMM(n_states=3).fit(X, init=hmm)
    with pytest.raises(InputTypeError, match="without inputs, got NonHomogeneousHMM"):
        HSMM(n_states=3).fit(X, init=hmm)
    with pytest.raises(InputTypeError, match="without durations, got HSMM"):
        model("full").fit(X, init=HSMM(max_length=20).fit(emitted(X), y))
    with pytest.raises(ValueError, match=r"inputs in the columns \[1, 4\], transition_inputs are"):
        model("full", transition_inputs=[0, 4]).fit(X, init=hmm)
    with pytest.raises(ValueError, match="init has 5 streams, X has 3"):
        model("full").fit(X, init=HMM().fit(X, y))
    with pytest.raises(InputTypeError, match="base must be a hidden Markov model without inputs"):
        MEstimatedCRF(base=model("mixed")).fit(*data("mixed"))


def test_threads_change_nothing():
    rng = np.random.default_rng(3)
    X = SequenceArray.from_flat(rng.normal(size=(9000, 2)), [1500] * 6)
    options = {"n_states": 2, "max_iter": 3, "tol": 1.0, "random_state": 0}
    one, two = (
        NonHomogeneousHMM(transition_inputs=[1], n_jobs=n, **options).fit(X) for n in (1, 2)
    )
    np.testing.assert_array_equal(one.transition_coef_, two.transition_coef_)
    np.testing.assert_array_equal(one.score_samples(X), two.score_samples(X))
    assert pickle.loads(pickle.dumps(one)).score_samples(X[:1])[0] == one.score_samples(X)[0]


def test_criteria_count_coefficients():
    X, _ = data("full")
    hmm = model("full", n_states=3).fit(X)
    # starts, of each of 3 labels 2 free scores with 1 + 2 numbers each, means, covariances
    wanted = 2 + 3 * 2 * (1 + 2) + 9 + 18
    assert hmm.n_parameters_ == wanted
    log_p = hmm.score_samples(X).sum()
    assert hmm.log_likelihood(X) == pytest.approx(log_p)
    assert hmm.aic(X) == pytest.approx(2 * wanted - 2 * log_p)
    assert hmm.bic(X) == pytest.approx(np.log(96) * wanted - 2 * log_p)


def test_grid_search_by_held_out_likelihood():
    rng = np.random.default_rng(4)
    X, _ = true_model(rng).sample(12, 0, inputs=rng.normal(size=(100, 2)))
    hmm = NonHomogeneousHMM(transition_inputs=[1, 2], random_state=0, tol=1e-3)
    search = GridSearchCV(hmm, {"n_states": [1, 2, 3]}, scoring=log_likelihood_scorer, cv=3)
    assert search.fit(list(X)).best_params_ == {"n_states": 3}
    choice = {"transition_inputs": [[1, 2], []]}
    by_inputs = GridSearchCV(
        hmm.set_params(n_states=3), choice, scoring=log_likelihood_scorer, cv=3
    )
    # without inputs, columns 1 and 2 would be emitted: another likelihood
    assert np.all(np.isfinite(by_inputs.fit(list(X)).cv_results_["mean_test_score"]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"transition_inputs": [5]}, ValueError, "transition_inputs: X has no feature 5, it has 5"),
        ({"transition_inputs": [-1]}, ValueError, "X has no feature -1"),
        ({"transition_inputs": "b"}, ValueError, "is a name, but X has no feature names"),
        (
            {"transition_inputs": range(5)},
            ValueError,
            "all columns of X: leave one that is emitted",
        ),
        ({"transition_inputs": [1.5]}, InputTypeError, "neither a name, a pattern of names nor"),
        ({"transition_inputs": 1}, ValueError, "'transition_inputs' parameter"),
        ({"transition_penalty": -1.0}, ValueError, "'transition_penalty' parameter"),
        ({"transition_smoothing": -1.0}, ValueError, "'transition_smoothing' parameter"),
        (
            {"emissions": ["gaussian"] * 5},
            LengthMismatchError,
            "5 entries, but 3 of 5 columns are emitted",
        ),
        ({"emissions": ["input"] * 3}, ValueError, r"emissions\[0\]='input' must be one of"),
    ],
)
def test_bad_input(options, error, message):
    X, y = data("full")
    hmm = model("full", **options)
    before = dict(vars(hmm))
    with pytest.raises(error, match=message):
        hmm.fit(X, y)
    assert vars(hmm) == before


def test_more_bad_input():
    X, y = data("mixed")
    with pytest.raises(InputTypeError, match=r"X\[0\], token 0, column 0: '.' is not a number"):
        model("mixed", transition_inputs=[0]).set_params(emissions="auto").fit(X, y)
    X, y = data("full")
    with pytest.raises(ValueError, match="This NonHomogeneousHMM estimator requires y"):
        model("full").fit(X)
    with pytest.raises(UnknownLabelError, match="set `n_states`"):
        model("full").fit(X, [None] * len(X))


def test_what_predictions_refuse():
    X, _ = data("full")
    hmm = fitted("full")
    hmm.transition_coef_ = hmm.transition_coef_[..., :1]
    with pytest.raises(ValueError, match=r"has the shape \(3, 3, 1\); for 3 labels and 2 inputs"):
        hmm.predict(X)
    hmm.transition_coef_ = np.full((3, 3, 2), np.nan)
    with pytest.raises(ValueError, match="transition_coef_ must hold finite numbers"):
        hmm.transition_proba(X)


def test_changed_parameters_count():
    """Also such as no logistic model has: excluded transitions."""
    X, _ = data("full", 1, [6, 5])
    hmm = fitted("full")
    with np.errstate(divide="ignore"):
        hmm.transition_logprob_ = np.log([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]])
    expected = [Driven(hmm, x, INPUTS).log_Z for x in X]
    np.testing.assert_allclose(hmm.score_samples(X), expected, rtol=1e-10)
    assert hmm.transition_proba(X)[0][3][1].tolist() == [0, 1, 0]
    # nothing emits this: the labelling with the fewest impossible steps
    hmm.start_logprob_ = np.array([-np.inf, -np.inf, -np.inf])
    assert hmm.score_samples(X)[0] == -np.inf
    assert len(hmm.predict(X)[0]) == 6


def test_displays():
    hmm = fitted("full")
    display = TransitionDisplay.from_estimator(hmm)
    np.testing.assert_allclose(display.transition, np.exp(hmm.transition_logprob_))
    assert EmissionDisplay.from_estimator(hmm, stream=2).values.ndim == 1
    with pytest.raises(ValueError, match="stream 1 is not emitted: it is an input of transitions"):
        EmissionDisplay.from_estimator(hmm, stream=1)
    with pytest.raises(ValueError, match="a NonHomogeneousHMM lasts depends on inputs"):
        DurationDisplay.from_estimator(hmm)


def test_weights_and_starts_are_counted():
    X, y = data("full")
    weight = np.r_[2.0, 0.0, np.ones(6)]
    hmm = model("full").fit(X, y, sample_weight=weight)
    twice = model("full").fit([X[0], *X[:1], *X[2:]], [y[0], *y[:1], *y[2:]])
    np.testing.assert_allclose(hmm.transition_coef_, twice.transition_coef_, atol=1e-8)
    np.testing.assert_allclose(hmm.start_logprob_, twice.start_logprob_)
    several = model("full", n_states=3, n_init=3).fit(X)
    assert several.loss_curve_[-1] <= model("full", n_states=3).fit(X).loss_curve_[-1]
