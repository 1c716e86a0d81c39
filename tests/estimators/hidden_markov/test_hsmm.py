"""Hidden semi-Markov models, compared with enumeration, with plain ones, and with drawn data."""

from __future__ import annotations

import copy
import pickle
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from naive_durations import Lasting
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import HMM, HSMM, MEstimatedCRF, SequenceArray
from sklearn_struct.exceptions import InputTypeError, NonFiniteError, UnknownLabelError
from sklearn_struct.hidden_markov.duration_steps import DurationTraining

KINDS = ["categorical", "poisson", "negative-binomial"]
WORDS = [list("aabbbab"), list("ba"), list("c"), list("abcacbba")]
TAGS = [list("xxyyyzz"), list("yx"), list("z"), list("xyyzzzzx")]


def drawn_model(rng, K=3, L=4, n_values=3, right_censored=True, kind="categorical"):
    """A model of random tables, fitted to nothing in particular."""
    X = [[str(v) for v in rng.integers(n_values, size=30)] for _ in range(4)]
    y = [np.repeat(np.arange(30 // min(L, 3)) % K, min(L, 3)).tolist() for _ in X]
    model = HSMM(max_length=L, right_censored=right_censored, oov=None, durations=kind).fit(X, y)
    model.duration_logprob_ = np.log(rng.dirichlet(np.ones(L), size=K))
    model.start_logprob_ = np.log(rng.dirichlet(np.ones(K)))
    table = rng.dirichlet(np.ones(K), size=K) * (1 - np.eye(K))
    with np.errstate(divide="ignore"):
        model.transition_logprob_ = np.log(table / table.sum(axis=1, keepdims=True))
    model.emission_logprob_ = [np.log(rng.dirichlet(np.ones(n_values), size=K))]
    return model


def twins(model, X):
    return [Lasting(model, [(value,) for value in x]) for x in X]


def symbols(rng, lengths=(6, 0, 1, 7, 3)):
    return [[str(v) for v in rng.integers(3, size=n)] for n in lengths]


@pytest.mark.twins
@pytest.mark.parametrize("right_censored", [True, False])
@pytest.mark.parametrize(("K", "L"), [(3, 4), (2, 3), (2, 9), (3, 1)])
def test_enumeration(K, L, right_censored):
    rng = np.random.default_rng(0)
    model = drawn_model(rng, K, L, right_censored=right_censored)
    X = symbols(rng)
    every = twins(model, X)
    np.testing.assert_allclose(model.score_samples(X), [twin.log_Z for twin in every], rtol=1e-12)
    for twin, y, proba in zip(every, model.predict(X), model.predict_proba(X), strict=True):
        np.testing.assert_allclose(proba, twin.proba, atol=1e-12)
        assert tuple(y) == twin.y[int(np.argmax(twin.log_p))]
    for y in (0, 3, -1):
        chosen = [list(twin.y[min(y, len(twin.y) - 1)]) for twin in every]
        expected = [twin.log_p[min(y, len(twin.y) - 1)] for twin in every]
        np.testing.assert_allclose(model.log_joint(X, chosen), expected, rtol=1e-12)


@pytest.mark.twins
@pytest.mark.parametrize("right_censored", [True, False])
@pytest.mark.parametrize("scale", [1.0, 100.0], ids=["near", "far"])
def test_expected_durations(right_censored, scale, monkeypatch):
    """What EM counts; far emissions take logarithms."""
    rng = np.random.default_rng(1)
    model = drawn_model(rng, right_censored=right_censored)
    model.emission_logprob_ = [scale * model.emission_logprob_[0]]
    X = symbols(rng)
    weight = np.array([1.0, 1.0, 2.0, 0.5, 0.0])
    training = trained(monkeypatch, model, X, weight)
    expected, value = training.expect(model._with_durations())
    every = twins(model, X)
    totals = sum(w * twin.durations() for w, twin in zip(weight, every, strict=True))
    ended, last = totals
    counts = expected.durations
    if not right_censored:
        ended = ended + last
        last = np.zeros_like(last)
    np.testing.assert_allclose(counts.ended, ended, atol=1e-10)
    np.testing.assert_allclose(counts.cut, last, atol=1e-10)
    log_p = sum(w * twin.log_Z for w, twin in zip(weight, every, strict=True) if w)
    prior = training.prior(model._with_durations())
    np.testing.assert_allclose(value - prior, log_p, rtol=1e-12)


def trained(monkeypatch, model, X, weight):
    """The steps of EM that `fit` makes from a model."""
    seen = []
    make = DurationTraining.__init__
    monkeypatch.setattr(
        DurationTraining, "__init__", lambda self, *data: (seen.append(self), make(self, *data))[1]
    )
    options = {"max_length": model.max_length, "right_censored": model.right_censored}
    HSMM(oov=None, tol=1e9, **options).fit(X, sample_weight=weight, init=model)
    return seen[0]


@pytest.mark.parametrize("right_censored", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", ["nothing", "some", "all"])
def test_loss_never_rises(kind, right_censored, known):
    rng = np.random.default_rng(2)
    X, y = drawn_model(rng).sample(15, random_state=0, length=20)
    if known == "some":
        y = [[label if t % 4 == 0 else None for t, label in enumerate(labels)] for labels in y]
    options = {"n_states": 3, "durations": kind, "right_censored": right_censored}
    model = HSMM(max_length=6, oov=None, max_iter=30, tol=0, random_state=0, **options)
    limited = pytest.warns(ConvergenceWarning, match="EM stopped after 30 iterations")
    with nullcontext() if known == "all" else limited:
        model.fit(X, None if known == "nothing" else y)
    assert model.n_iter_ == (1 if known == "all" else 30)
    assert np.all(np.diff(model.loss_curve_) <= 1e-9 * abs(model.loss_curve_[0]))
    # what the curve says is what the model says
    if known == "nothing":
        smoothed = sum(float(table.sum()) for table in model.emission_logprob_)
        if kind == "categorical":
            smoothed += 0.1 * float(model.duration_logprob_.sum())
        log_p = float(model.score_samples(X).sum())
        np.testing.assert_allclose(model.loss_curve_[-1], -log_p - smoothed, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_no_small_change_is_better(kind):
    """At a maximum of the likelihood of known labels, cut durations included."""
    rng = np.random.default_rng(3)
    X, y = drawn_model(rng).sample(30, random_state=1, length=9)
    options = {"durations": kind, "max_length": 5, "oov": None}
    model = HSMM(smoothing=0, duration_smoothing=0, **options).fit(X, y)
    best = model.log_joint(X, y).sum()
    log_p = model.duration_logprob_.copy()
    d = np.arange(5.0)
    for k in range(3):
        for sign in (-1, 1):
            for tilt in (d, np.log1p(d), d == 2):
                # within the family: an exponential tilt of a Poisson distribution is one
                if kind == "poisson" and tilt is not d:
                    continue
                if kind == "negative-binomial" and tilt is not d:
                    continue
                other = log_p.copy()
                other[k] += sign * 1e-3 * tilt
                other[k] -= np.logaddexp.reduce(other[k])
                model.duration_logprob_ = other
                assert model.log_joint(X, y).sum() <= best + 1e-9


@pytest.mark.parametrize("right_censored", [True, False])
def test_counting(right_censored):
    model = HSMM(max_length=4, right_censored=right_censored, duration_smoothing=0).fit(WORDS, TAGS)
    p = np.exp(model.duration_logprob_)
    if right_censored:
        # of z 4 is ended, 2, 1 are cut; x has 2 and 1 ended, 1 and 1 cut
        np.testing.assert_allclose(p[0], [0.5, 0.5, 0, 0], atol=1e-15)
        np.testing.assert_allclose(p[2], [0, 0, 0, 1], atol=1e-15)
    else:
        np.testing.assert_allclose(p[0], [0.75, 0.25, 0, 0], atol=1e-15)
        np.testing.assert_allclose(p[2], [1 / 3, 1 / 3, 0, 1 / 3], atol=1e-15)
    np.testing.assert_allclose(p[1], [1 / 3, 1 / 3, 1 / 3, 0], atol=1e-15)
    transition = np.exp(model.transition_logprob_)
    np.testing.assert_allclose(transition, [[0, 1, 0], [1 / 3, 0, 2 / 3], [1, 0, 0]])
    assert model.n_iter_ == 1


def geometric(hmm, L):
    """The semi-Markov model of a plain one: a label that has lasted L - 1 tokens lasts one more."""
    stays = np.exp(np.diag(hmm.transition_logprob_))
    d = np.arange(1, L + 1)
    log_p = (d - 1) * np.log(stays)[:, None] + np.log1p(-stays)[:, None]
    # all that lasts longer, so that these sum to 1
    log_p[:, -1] = (L - 1) * np.log(stays)
    transition = np.exp(hmm.transition_logprob_)
    np.fill_diagonal(transition, 0.0)
    with np.errstate(divide="ignore"):
        return log_p, np.log(transition / transition.sum(axis=1, keepdims=True))


@pytest.mark.twins
def test_geometric_durations_are_a_plain_model():
    """With durations as long as sequences, right-censored, it is the same model."""
    rng = np.random.default_rng(4)
    X = [[str(v) for v in rng.integers(3, size=n)] for n in (30, 1, 12)]
    y = [rng.integers(3, size=len(x)).tolist() for x in X]
    hmm = HMM(stop=False, transition_smoothing=1).fit(X, y)
    model = HSMM(max_length=31).fit(X, y)
    model.duration_logprob_, model.transition_logprob_ = geometric(hmm, 31)
    model.start_logprob_ = hmm.start_logprob_
    np.testing.assert_allclose(model.score_samples(X), hmm.score_samples(X), rtol=1e-12)
    np.testing.assert_allclose(model.log_joint(X, y), hmm.log_joint(X, y), rtol=1e-12)
    for a, b in zip(model.predict_proba(X), hmm.predict_proba(X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert [list(labels) for labels in model.predict(X)] == [list(row) for row in hmm.predict(X)]


def timed(kind, rng, n=400):
    """A series whose two states last long, and its states; states' numbers overlap."""
    draw = {
        "categorical": lambda k: rng.choice([5, 20], p=[[0.3, 0.7], [0.8, 0.2]][k]),
        "poisson": lambda k: 1 + rng.poisson([6, 15][k]),
        "negative-binomial": lambda k: 1 + rng.negative_binomial(4, [0.4, 0.2][k]),
    }[kind]
    states = np.concatenate([np.repeat(s % 2, draw(s % 2)) for s in range(n)])
    return (2.5 * states + rng.normal(size=len(states)))[:, None], states


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_durations_are_recovered(kind):
    series, states = timed(kind, np.random.default_rng(5))
    model = HSMM(n_states=2, durations=kind, max_length=60, random_state=0, tol=1e-5)
    model.fit([series])
    order = np.argsort(model.means_.ravel())
    np.testing.assert_allclose(model.means_[order].ravel(), [0, 2.5], atol=0.1)
    params = model.duration_params_[order]
    if kind == "categorical":
        p = np.exp(model.duration_logprob_)[order]
        np.testing.assert_allclose(p[:, [4, 19]], [[0.3, 0.7], [0.8, 0.2]], atol=0.1)
        assert p[:, [4, 19]].sum() > 1.85
    elif kind == "poisson":
        np.testing.assert_allclose(params[:, 0], [6, 15], rtol=0.1)
    else:
        # of means 6 and 16; sizes are known less well
        np.testing.assert_allclose(params[:, 0], [6, 16], rtol=0.15)
        np.testing.assert_allclose(params[:, 1], [4, 4], rtol=0.5)
    predicted = np.isin(model.predict([series])[0], order[1:])
    assert np.mean(predicted == states) > 0.95


@pytest.mark.parametrize("kind", KINDS)
def test_long_states_held_out(kind):
    """Where durations are far from geometric, new data are more probable than under a plain one."""
    rng = np.random.default_rng(6)
    series, _ = timed("poisson", rng, 200)
    new, _ = timed("poisson", rng, 200)
    options = {"n_states": 2, "random_state": 0, "tol": 1e-5}
    plain = HMM(stop=False, **options).fit([series])
    model = HSMM(durations=kind, max_length=60, **options).fit([series])
    assert model.score([new], model.predict([new])) == 1.0
    assert model.score_samples([new])[0] > plain.score_samples([new])[0] + 50


def test_samples_have_the_model_s_durations():
    rng = np.random.default_rng(7)
    model = drawn_model(rng)
    X, y = model.sample(300, random_state=0, length=40)
    assert {len(x) for x in X} == {len(labels) for labels in y} == {40}
    again = HSMM(max_length=4, oov=None, smoothing=0).fit(X, y)
    for name in ("duration", "transition", "start"):
        tables = [np.exp(getattr(one, f"{name}_logprob_")) for one in (again, model)]
        np.testing.assert_allclose(*tables, atol=0.1)
    exact = copy.deepcopy(model).set_params(right_censored=False)
    _, ends = exact.sample(200, random_state=0, length=3)
    assert np.all(exact.log_joint(*exact.sample(50, random_state=1, length=3)) > -np.inf)
    assert len({tuple(labels) for labels in ends}) > 5


def test_missing_numbers_and_full_covariances():
    rng = np.random.default_rng(8)
    series, _ = timed("poisson", rng, 40)
    both = np.hstack([series, series + rng.normal(size=series.shape)])
    both[rng.random(both.shape) < 0.2] = np.nan
    model = HSMM(n_states=2, covariance_type="full", max_length=40, random_state=0, tol=1e-3)
    model.fit([both])
    assert np.all(np.diff(model.loss_curve_) <= 1e-9 * abs(model.loss_curve_[0]))
    assert np.all(np.isfinite(model.score_samples([both])))


def test_a_start_is_taken_over():
    rng = np.random.default_rng(9)
    series, _ = timed("poisson", rng, 40)
    options = {"n_states": 2, "max_length": 40, "random_state": 0}
    first = HSMM(durations="poisson", **options).fit([series])
    next_ = HSMM(durations="poisson", **options).fit([series], init=first)
    assert next_.n_iter_ <= 2
    np.testing.assert_allclose(next_.duration_params_, first.duration_params_, rtol=1e-2)
    plain = HMM(n_states=2, stop=False, random_state=0).fit([series])
    from_plain = HSMM(durations="negative-binomial", **options).fit([series], init=plain)
    assert from_plain.duration_params_.shape == (2, 2)
    with pytest.raises(InputTypeError, match="without durations, got HSMM"):
        HMM(n_states=2, stop=False).fit([series], init=first)
    with pytest.raises(ValueError, match="up to 40 tokens, but max_length=5; write max_length=40"):
        HSMM(max_length=5).fit([series], init=first)


def test_impossible_sequences():
    """Others stay as they are; these get what is least impossible."""
    options = {"smoothing": 0, "duration_smoothing": 0, "oov": None}
    model = HSMM(max_length=2, **options).fit([list("aabb")], [list("xxyy")])
    X = [list("aab"), list("aaaaab"), list("bba")]
    assert model.score_samples(X)[0] > -np.inf
    assert np.isneginf(model.score_samples(X)[[1, 2]]).all()
    for method in (model.predict, model.predict_proba):
        alone = method(X[:1])[0]
        np.testing.assert_array_equal(method(X)[0], alone)
        assert [len(rows) for rows in method(X)] == [3, 6, 3]
    assert np.all(np.isfinite(np.concatenate(model.predict_proba(X))))
    one = HSMM(n_states=1, max_length=3).fit([list("ab")])
    assert one.score_samples([list("abab")])[0] == -np.inf
    assert one.predict([list("abab")])[0] == [0] * 4
    with pytest.raises(ValueError, match="no sequence of 4 tokens is possible"):
        one.sample(length=4)


def test_threads_change_nothing():
    rng = np.random.default_rng(10)
    X = SequenceArray.from_flat(rng.normal(size=(9000, 1)), [1500] * 6)
    options = {"n_states": 2, "max_length": 10, "max_iter": 3, "tol": 1.0, "random_state": 0}
    one, two = (HSMM(n_jobs=n, **options).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.duration_logprob_, two.duration_logprob_)
    np.testing.assert_array_equal(one.score_samples(X), two.score_samples(X))
    assert pickle.loads(pickle.dumps(one)).score_samples(X[:1])[0] == one.score_samples(X)[0]


@pytest.mark.parametrize(
    ("options", "X", "y", "error", "message"),
    [
        ({"max_length": 2}, WORDS, TAGS, ValueError, r"y\[0\], token 2: a run of 3 tokens with "),
        ({"max_length": 2}, WORDS, TAGS, ValueError, "write max_length=4 or more"),
        ({"max_length": 5, "n_states": 1}, WORDS, None, ValueError, r"X\[0\] has 7 tokens, all of"),
        ({"max_length": 0}, WORDS, TAGS, ValueError, "'max_length' parameter"),
        ({"durations": "gamma"}, WORDS, TAGS, ValueError, "'durations' parameter"),
        ({}, WORDS, None, ValueError, "This HSMM estimator requires y"),
        ({}, WORDS, [None] * 4, UnknownLabelError, "set `n_states`"),
        ({}, [np.array([[np.inf], [0.0]])], [["x", "y"]], NonFiniteError, "not finite"),
    ],
)
def test_bad_input(options, X, y, error, message):
    model = HSMM(**options)
    before = dict(vars(model))
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert vars(model) == before


def test_what_predictions_refuse():
    model = HSMM(max_length=4).fit(WORDS, TAGS)
    model.duration_logprob_ = model.duration_logprob_[:2]
    with pytest.raises(ValueError, match=r"duration_logprob_ must be an array of shape \(3, max"):
        model.predict(WORDS)
    model = HSMM(max_length=4).fit(WORDS, TAGS).set_params(right_censored="no")
    with pytest.raises(ValueError, match="'right_censored' parameter"):
        model.predict(WORDS)
    with pytest.raises(InputTypeError, match="base must be a hidden Markov model without"):
        MEstimatedCRF(base=HSMM(max_length=4)).fit(WORDS, TAGS)


@pytest.mark.parametrize(
    ("durations", "of_durations"),
    [("categorical", 3 * 5), ("poisson", 3), ("negative-binomial", 6)],
)
def test_criteria_count_durations(durations, of_durations):
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(30, 2)) for _ in range(3)]
    model = HSMM(n_states=3, durations=durations, max_length=6, max_iter=3, tol=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    # starts, transitions to one of two others, means and variances
    wanted = 2 + 3 + of_durations + 12
    assert model.n_parameters_ == wanted
    log_p = model.score_samples(X).sum()
    assert model.log_likelihood(X) == pytest.approx(log_p)
    assert model.aic(X) == pytest.approx(2 * wanted - 2 * log_p)
    assert model.bic(X) == pytest.approx(np.log(90) * wanted - 2 * log_p)
    one = HSMM(n_states=1, durations=durations, max_length=30).fit(X)
    assert one.n_parameters_ == (29 if durations == "categorical" else of_durations // 3) + 4
