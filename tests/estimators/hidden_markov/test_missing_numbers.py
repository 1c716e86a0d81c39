"""Numbers that are missing (NaN) are integrated out."""

from __future__ import annotations

import re

import naive
import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from sklearn_struct import HMM, ConstraintDrivenHMM, LinearChainCRF, MEstimatedCRF, SequenceArray
from sklearn_struct.exceptions import EmptyDataError, NonFiniteError

TYPES = ["diag", "full", "tied", "spherical"]
EVERY_TYPE = pytest.mark.parametrize("kind", TYPES)
NAN = np.nan


def data(seed=0, n=10, share=0.25):
    """Sequences of two numbers with gaps, and labels."""
    rng = np.random.RandomState(seed)
    root = rng.normal(size=(3, 2, 2))
    y = [np.repeat(rng.randint(3, size=4), 3) for _ in range(n)]
    X = [np.array([rng.normal(size=2) @ root[k] + [3 * k, -2 * k] for k in labels]) for labels in y]
    X = [np.where(rng.uniform(size=x.shape) < share, NAN, x) for x in X]
    X[0][1] = NAN
    return X, [labels.tolist() for labels in y]


def fitted(kind, **options):
    X, y = data()
    return HMM(covariance_type=kind, transition_smoothing=0.5, **options).fit(X, y), X, y


@pytest.mark.twins
@EVERY_TYPE
@pytest.mark.parametrize("order", [1, 2])
def test_probabilities_by_enumeration_with_marginal_densities(kind, order):
    hmm, X, _ = fitted(kind, order=order)
    test = [X[0][:3], X[1][2:5], X[2][:2], np.full((2, 2), NAN)]
    predicted = hmm.predict(test)
    joint = hmm.log_joint(test, predicted)
    for i, (x, log_p, proba) in enumerate(
        zip(test, hmm.score_samples(test), hmm.predict_proba(test), strict=True)
    ):
        twin = naive.Hidden(hmm, x.tolist())
        assert log_p == pytest.approx(np.logaddexp.reduce(twin.log_p), abs=1e-9)
        np.testing.assert_allclose(proba, twin.marginals(), atol=1e-9)
        assert joint[i] == pytest.approx(twin.log_p.max(), abs=1e-9)


@pytest.mark.parametrize("kind", TYPES)
def test_a_missing_number_is_the_integral_over_its_values(kind):
    X, y = data()
    first = [x[:, :1] for x in X]
    hmm = HMM(covariance_type=kind, transition_smoothing=0.5).fit(first, y)

    def density(value):
        return np.exp(hmm.score_samples([np.array([[1.0], [value], [2.0]])])[0])

    expected = quad(density, -60, 60, points=[-5, 0, 5, 10], limit=500)[0]
    log_p = hmm.score_samples([np.array([[1.0], [NAN], [2.0]])])[0]
    assert log_p == pytest.approx(np.log(expected), abs=1e-6)


@EVERY_TYPE
def test_tokens_without_numbers_say_nothing(kind):
    hmm, _, _ = fitted(kind)
    nothing = hmm.predict_proba([np.full((3, 2), NAN)])[0]
    np.testing.assert_allclose(nothing[0], np.exp(hmm.start_logprob_ + _log_any(hmm, 2)), atol=1e-9)


def _log_any(hmm, n_more):
    """Of each label the share of sequences of one given length that begin with it, over its
    probability to begin.
    """
    transition = np.exp(hmm.transition_logprob_)
    ends = np.exp(hmm.stop_logprob_)
    for _ in range(n_more):
        ends = transition @ ends
    return np.log(ends / (np.exp(hmm.start_logprob_) @ ends))


@EVERY_TYPE
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("known", ["none", "some", "all"])
def test_em_never_lowers_the_likelihood(kind, known):
    X, y = data()
    y = {"none": None, "some": [*y[:3], *[None] * 7], "all": y}[known]
    hmm = HMM(covariance_type=kind, n_states=3, tol=0, max_iter=40, random_state=0).fit(X, y)
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-8)
    if known == "all":
        # each column of independent ones has its own moments; matrices need EM
        assert (hmm.n_iter_ > 1) == (kind in ("full", "tied"))
        assert -hmm.loss_curve_[-1] == pytest.approx(hmm.log_joint(X, y).sum())
    elif known == "none":
        assert -hmm.loss_curve_[-1] == pytest.approx(hmm.score_samples(X).sum())


def test_matrices_are_at_a_maximum_where_labels_are_known():
    X, y = data(share=0.4)
    hmm = HMM(covariance_type="full", tol=1e-12, max_iter=5000, min_variance=1e-3).fit(X, y)
    best = hmm.log_joint(X, y).sum()
    rng = np.random.RandomState(0)
    means = hmm.means_
    covariances = hmm.covariances_
    for _ in range(50):
        noise = rng.normal(size=(3, 2, 2)) * 1e-4
        hmm.means_ = means + rng.normal(size=(3, 2)) * 1e-4
        hmm.covariances_ = covariances + noise + np.swapaxes(noise, 1, 2)
        assert hmm.log_joint(X, y).sum() < best


@EVERY_TYPE
def test_rows_without_numbers_change_no_moments(kind):
    X, y = data(share=0)
    X[0] = np.nan_to_num(X[0])
    gone = [x.copy() for x in X]
    for x in gone:
        x[::4] = NAN
    left = [x[np.arange(12) % 4 > 0] for x in X]
    labels = [[label for t, label in enumerate(sequence) if t % 4] for sequence in y]
    hmm = HMM(covariance_type=kind).fit(gone, y)
    assert hmm.n_iter_ == 1
    expected = HMM(covariance_type=kind, min_variance=1e-4).fit(left, labels)
    np.testing.assert_allclose(hmm.means_, expected.means_)
    np.testing.assert_allclose(hmm.covariances_, expected.covariances_)


@EVERY_TYPE
def test_covariances_are_recovered_from_gaps(kind):
    rng = np.random.RandomState(0)
    root = np.array([[[1.0, 0.9], [0, 0.5]], [[1.0, -0.8], [0, 0.5]]])
    y = [np.repeat(rng.randint(2, size=20), 5) for _ in range(60)]
    X = [np.array([rng.normal(size=2) @ root[k] + 4 * k for k in labels]) for labels in y]
    whole = HMM(covariance_type=kind, n_states=2, random_state=0).fit(X)
    gaps = [np.where(rng.uniform(size=x.shape) < 0.2, NAN, x) for x in X]
    hmm = HMM(covariance_type=kind, n_states=2, random_state=0).fit(gaps, init=whole)
    np.testing.assert_allclose(hmm.means_, whole.means_, atol=0.06)
    np.testing.assert_allclose(hmm.covariances_, whole.covariances_, atol=0.1)
    clustered = HMM(covariance_type=kind, n_states=2, random_state=0).fit(gaps)
    np.testing.assert_allclose(
        np.sort(clustered.means_, axis=0), np.sort(hmm.means_, axis=0), atol=0.02
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_are_repetitions():
    X, y = data()
    for kind in TYPES:
        options = {"covariance_type": kind, "tol": 0, "max_iter": 20}
        weighted = HMM(**options).fit(X[:4], y[:4], [2, 1, 0, 1])
        chosen = [0, 0, 1, 3]
        repeated = HMM(**options).fit([X[i] for i in chosen], [y[i] for i in chosen])
        np.testing.assert_allclose(weighted.means_, repeated.means_, atol=1e-6)
        np.testing.assert_allclose(weighted.covariances_, repeated.covariances_, atol=1e-6)


def test_forms_of_the_same_data():
    X, y = data()
    hmm = HMM().fit(X, y)
    packed = SequenceArray.from_flat(np.vstack(X), [len(x) for x in X])
    rows = [[tuple(row) for row in x.tolist()] for x in X]
    for form in (packed, rows):
        other = HMM().fit(form, y)
        np.testing.assert_array_equal(other.means_, hmm.means_)
        np.testing.assert_array_equal(other.score_samples(form), hmm.score_samples(X))
    flat = np.vstack(X)
    labels = np.concatenate(y)
    np.testing.assert_allclose(HMM().fit(flat, labels).means_, hmm.means_)
    assert HMM().fit(flat, labels).predict(flat).shape == labels.shape
    mixed = [[("a", NAN), ("b", 1.0)], [("a", 2.0)]]
    model = HMM().fit(mixed, [["A", "B"], ["A"]])
    np.testing.assert_allclose(model.means_.ravel(), [2, 1])


# ---------------------------------------------------------------- what is refused


def test_columns_without_numbers():
    X, y = data()
    for x in X:
        x[:, 1] = NAN
    for model in (HMM(), HMM(covariance_type="full"), ConstraintDrivenHMM()):
        with pytest.raises(EmptyDataError, match="column 1 of X has no number"):
            model.fit(X, y)
    good, _ = data()
    hmm = HMM(covariance_type="full").fit(good, y)
    assert np.all(np.isfinite(hmm.score_samples(X)))
    with pytest.raises(EmptyDataError, match="column 1 of X has no number"):
        HMM().fit(X, y, init=hmm)
    # those of weight 0 do not count
    X[0] = good[0]
    with pytest.raises(EmptyDataError, match="column 1 of X has no number"):
        HMM().fit(X, y, [0, *np.ones(9)])


def test_a_column_that_is_missing_where_labels_are_known():
    X, y = data()
    X[0][:, 1] = NAN
    few = [y[0], *[None] * 9]
    for kind in TYPES:
        hmm = HMM(covariance_type=kind, n_states=3, random_state=0).fit(X, few)
        assert np.all(np.isfinite(hmm.means_))


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_numbers_are_refused(bad):
    X, y = data()
    X[1][2, 1] = bad
    rows = [[tuple(row) for row in x.tolist()] for x in X]
    hmm = HMM().fit(*data())
    for form, said in ((X, "X[1], token 2, feature 1"), (rows, "X[1], token 2, feature 1")):
        with pytest.raises(NonFiniteError, match=re.escape(said)):
            HMM().fit(form, y)
        with pytest.raises(NonFiniteError, match=re.escape(said)):
            hmm.predict(form)
    mixed = [[("a", bad)]]
    with pytest.raises(NonFiniteError, match=re.escape("X[0], token 0, column 1: not finite")):
        HMM().fit(mixed, [["A"]])
    with pytest.raises(ValueError, match="infinity"):
        HMM().fit(np.vstack(X), np.concatenate(y))


def test_symbols_are_never_missing():
    X = [np.array([[1.0], [NAN], [2.0]])]
    with pytest.raises(NonFiniteError, match=re.escape("X[0], token 1, column 0: not finite")):
        HMM(emissions="categorical").fit(X, [["A", "B", "A"]])
    hmm = HMM(emissions="categorical").fit([X[0][[0, 2]]], [["A", "B"]])
    with pytest.raises(NonFiniteError, match="symbols may not"):
        hmm.predict(X)
    for values in ([("a", 1.0), ("b", 2.0)], [(NAN, 1.0), ("b", 2.0)]):
        X = [[*values, (NAN, 3.0)]]
        with pytest.raises(NonFiniteError, match=re.escape("column 0: not finite (nan)")):
            HMM().fit(X, [["A", "B", "A"]])
    with pytest.raises(NonFiniteError, match=re.escape("X[0], token 1, column 0")):
        HMM().fit([["a", NAN]], [["A", "B"]])


def test_who_takes_missing_numbers():
    X, y = data()
    for model in (HMM(), ConstraintDrivenHMM()):
        assert get_tags(model).input_tags.allow_nan
        assert len(model.fit(X, y).predict(X)) == 10
    filled = [np.nan_to_num(x) for x in X]
    for model in (
        LinearChainCRF(),
        MEstimatedCRF(),
        MEstimatedCRF(base=HMM(covariance_type="full")),
    ):
        assert not get_tags(model).input_tags.allow_nan
        with pytest.raises(NonFiniteError, match=r"X\[0\], token \d, feature \d: not finite"):
            model.fit(X, y)
        model.fit(filled, y)
        with pytest.raises(NonFiniteError, match=r"X\[0\], token \d, feature \d: not finite"):
            model.predict(X)


def test_replacing_and_sampling_keep_numbers():
    X, y = data()
    hmm = HMM().fit(X, y)
    np.testing.assert_array_equal(hmm.replace_oov(X)[0], X[0])
    assert np.all(np.isfinite(np.vstack(hmm.sample(5, random_state=0)[0])))


def test_constraint_driven_models_learn_from_gaps():
    X, y = data(n=20)
    few = [*y[:6], *[None] * 14]
    model = ConstraintDrivenHMM().fit(X, few)
    assert model.score(X, y) > 0.8


def test_many_sets_of_missing_columns():
    rng = np.random.RandomState(0)
    x = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6))
    x = np.where(rng.uniform(size=x.shape) < 0.4, NAN, x)
    with pytest.warns(ConvergenceWarning):
        hmm = HMM(covariance_type="tied", n_states=2, max_iter=5, random_state=0, tol=0).fit([x])
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-8)
