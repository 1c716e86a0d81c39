"""Hidden Markov models of numbers, for each type of covariances."""

from __future__ import annotations

import re

import naive
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from sklearn_struct import HMM, ConstraintDrivenHMM, SequenceArray
from sklearn_struct.persistence import load, save

TYPES = ["diag", "full", "tied", "spherical"]
EVERY_TYPE = pytest.mark.parametrize("kind", TYPES)
SHAPES = {"diag": (3, 2), "full": (3, 2, 2), "tied": (2, 2), "spherical": (3,)}


def data(seed=0, n=8, d=2, K=3):
    """Sequences of numbers whose columns depend on each other, and labels."""
    rng = np.random.RandomState(seed)
    root = rng.normal(size=(K, d, d))
    y = [np.repeat(rng.randint(K, size=5), 4) for _ in range(n)]
    X = [
        np.array([rng.normal(size=d) @ root[k] + 2 * np.arange(d) * k for k in labels])
        for labels in y
    ]
    return X, [labels.tolist() for labels in y]


def correlated(n=20, seed=0):
    """Two states that differ in nothing but the sign of a correlation, 0.9 or -0.9."""
    rng = np.random.RandomState(seed)
    y = [np.repeat(rng.randint(2, size=10), 20) for _ in range(n)]
    X = []
    for labels in y:
        first, noise = rng.normal(size=(2, len(labels)))
        sign = np.where(labels == 1, 0.9, -0.9)
        X.append(np.column_stack([first, sign * first + np.sqrt(1 - 0.81) * noise]))
    return X, [labels.tolist() for labels in y]


@pytest.mark.twins
@EVERY_TYPE
@pytest.mark.parametrize("order", [1, 2])
def test_probabilities_are_those_of_all_labellings(kind, order):
    X, y = data()
    hmm = HMM(order=order, transition_smoothing=0.5, covariance_type=kind).fit(X, y)
    assert hmm.covariances_.shape == SHAPES[kind]
    test = [X[0][:3], X[1][2:6], X[2][:1]]
    for x, log_p, proba in zip(test, hmm.score_samples(test), hmm.predict_proba(test), strict=True):
        twin = naive.Hidden(hmm, x.tolist())
        assert log_p == pytest.approx(np.logaddexp.reduce(twin.log_p), abs=1e-9)
        np.testing.assert_allclose(proba, twin.marginals(), atol=1e-9)


@EVERY_TYPE
def test_known_labels_give_the_moments_of_their_tokens(kind):
    X, y = data()
    hmm = HMM(covariance_type=kind).fit(X, y)
    x = np.vstack(X)
    labels = np.concatenate(y)
    matrices = np.array([np.cov(x[labels == k].T, ddof=0) for k in range(3)])
    share = np.bincount(labels) / len(labels)
    expected = {
        "diag": np.diagonal(matrices, axis1=1, axis2=2),
        "full": matrices,
        "tied": np.tensordot(share, matrices, 1),
        "spherical": matrices.trace(axis1=1, axis2=2) / 2,
    }[kind]
    np.testing.assert_allclose(hmm.covariances_, expected)
    variances = {"tied": np.tile(np.diagonal(expected), (3, 1)) if kind == "tied" else None}.get(
        kind, np.diagonal(matrices, axis1=1, axis2=2)
    )
    if kind == "spherical":
        variances = np.repeat(expected[:, None], 2, axis=1)
    np.testing.assert_allclose(hmm.variances_, variances)


@EVERY_TYPE
def test_em_never_lowers_the_likelihood(kind):
    X, _ = data(n=12)
    options = {"n_states": 3, "covariance_type": kind, "random_state": 0, "tol": 0}
    with pytest.warns(ConvergenceWarning):
        hmm = HMM(max_iter=40, min_variance=0.01, **options).fit(X)
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-8)
    assert hmm.loss_curve_[-1] < hmm.loss_curve_[0] - 1
    assert -hmm.loss_curve_[-1] == pytest.approx(hmm.score_samples(X).sum())


@EVERY_TYPE
def test_tokens_alone_are_a_mixture_of_gaussians(kind):
    """Without a sequence, an HMM is scikit-learn's mixture."""
    X, _ = data(n=12)
    x = np.vstack(X)
    start = np.array([[0.0, 0.0], [0.0, 2.0], [0.0, 4.0]])
    mixture = GaussianMixture(
        3,
        covariance_type=kind,
        means_init=start,
        max_iter=1,
        tol=0,
        reg_covar=0,
        random_state=0,
    )
    with pytest.warns(ConvergenceWarning):
        mixture.fit(x)
    options = {"stop": False, "covariance_type": kind, "min_variance": 1e-12, "n_states": 3}
    alone = SequenceArray(x, np.arange(len(x) + 1))
    with pytest.warns(ConvergenceWarning):
        first = HMM(max_iter=1, random_state=0, **options).fit(alone)
    first.start_logprob_ = np.log(mixture.weights_)
    first.means_ = mixture.means_
    first.covariances_ = mixture.covariances_
    np.testing.assert_allclose(first.score_samples(alone), mixture.score_samples(x))
    mixture.set_params(max_iter=5, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        mixture.fit(x)
    with pytest.warns(ConvergenceWarning):
        hmm = HMM(max_iter=5, tol=0, **options).fit(alone, init=first)
    np.testing.assert_allclose(hmm.means_, mixture.means_, atol=1e-6)
    np.testing.assert_allclose(hmm.covariances_, mixture.covariances_, atol=1e-6)


def test_states_that_differ_in_their_correlation():
    X, y = correlated()
    test, truth = correlated(seed=1)
    flat = np.concatenate(truth)
    accuracy = {}
    for kind in TYPES:
        hmm = HMM(n_states=2, covariance_type=kind, random_state=0, max_iter=1000).fit(
            X, [y[0]] + [None] * 19
        )
        accuracy[kind] = np.mean(np.concatenate(hmm.predict(test)) == flat)
    assert accuracy["full"] >= 0.98
    assert all(value < 0.8 for kind, value in accuracy.items() if kind != "full")


@EVERY_TYPE
@pytest.mark.parametrize(("K", "d"), [(1, 3), (3, 1), (1, 1), (3, 3)])
def test_one_label_one_column_and_as_many_columns_as_labels(kind, K, d):
    X, y = data(d=d, K=K)
    hmm = HMM(covariance_type=kind).fit(X, y)
    shape = {"diag": (K, d), "full": (K, d, d), "tied": (d, d), "spherical": (K,)}[kind]
    assert hmm.covariances_.shape == shape
    assert hmm.variances_.shape == (K, d)
    twin = naive.Hidden(hmm, X[0][:3].tolist())
    assert hmm.score_samples([X[0][:3]])[0] == pytest.approx(np.logaddexp.reduce(twin.log_p))


@EVERY_TYPE
def test_labels_that_nobody_has_seen(kind):
    X, y = data()
    hmm = HMM(covariance_type=kind, n_states=[0, 1, 2, 3], transition_smoothing=0.1).fit(X, y)
    np.testing.assert_allclose(hmm.means_[3], np.vstack(X).mean(axis=0))
    assert np.all(np.isfinite(hmm.score_samples(X)))


@EVERY_TYPE
def test_weights_are_repetitions(kind):
    X, y = data(n=4)
    weighted = HMM(covariance_type=kind).fit(X, y, [2, 1, 0, 1])
    repeated = HMM(covariance_type=kind).fit(
        [X[i] for i in (0, 0, 1, 3)], [y[i] for i in (0, 0, 1, 3)]
    )
    np.testing.assert_allclose(weighted.means_, repeated.means_)
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_)


@EVERY_TYPE
def test_samples_have_these_covariances(kind):
    X, y = data()
    hmm = HMM(covariance_type=kind, stop=False, transition_smoothing=1).fit(X, y)
    drawn, labels = hmm.sample(200, random_state=0, length=300)
    again = clone(hmm).fit(drawn, labels)
    np.testing.assert_allclose(again.means_, hmm.means_, atol=0.1)
    scale = np.sqrt(hmm.covariances_.max())
    np.testing.assert_allclose(
        again.covariances_ / scale**2, hmm.covariances_ / scale**2, atol=0.03
    )


@EVERY_TYPE
def test_floors(kind):
    rng = np.random.RandomState(0)
    x = rng.normal(size=(60, 1))
    # the columns are the same but for a scale, so that matrices are singular without a floor
    hmm = HMM(covariance_type=kind, min_variance=0.1).fit([np.hstack([x, 10 * x])], [["A"] * 60])
    floor = 0.1 * x.var() * np.array([1, 100])
    twin = naive.Hidden(hmm, [[0.0, 0.0]])
    smallest = np.linalg.eigvalsh(twin.covariance(0) / np.sqrt(floor[:, None] * floor)).min()
    assert smallest >= 1 - 1e-9
    if kind in ("full", "tied"):
        assert smallest == pytest.approx(1)
        # rounding errors are larger than this floor
        hmm.set_params(min_variance=1e-30).fit([np.hstack([x, 10 * x])], [["A"] * 60])
        assert np.isfinite(hmm.score_samples([np.hstack([x, 10 * x])])[0])


# ---------------------------------------------------------------- what users change


@EVERY_TYPE
def test_changed_covariances_change_the_model(kind):
    X, y = data()
    hmm = HMM(covariance_type=kind).fit(X, y)
    before = hmm.score_samples(X)
    hmm.covariances_ = hmm.covariances_ * 2
    assert not np.allclose(hmm.score_samples(X), before)
    twin = naive.Hidden(hmm, X[0][:3].tolist())
    assert hmm.score_samples([X[0][:3]])[0] == pytest.approx(np.logaddexp.reduce(twin.log_p))


def test_variances_are_covariances_or_read_only():
    X, y = data()
    hmm = HMM().fit(X, y)
    assert hmm.variances_ is hmm.covariances_
    hmm.variances_ = np.ones((3, 2))
    assert np.all(hmm.covariances_ == 1)
    assert not hasattr(HMM(), "variances_")
    for kind in ("full", "tied", "spherical"):
        hmm = HMM(covariance_type=kind).fit(X, y)
        with pytest.raises(AttributeError, match="set covariances_"):
            hmm.variances_ = np.ones((3, 2))
        with pytest.raises(ValueError, match="read-only"):
            hmm.variances_[0] = 1


@pytest.mark.parametrize(
    ("kind", "covariances", "said"),
    [
        (
            "diag",
            np.ones((2, 2)),
            "covariances_ has the shape (2, 2); for covariance_type='diag', 3",
        ),
        ("full", np.ones((3, 2)), "it must be (3, 2, 2)"),
        ("diag", np.zeros((3, 2)), "must be positive"),
        ("spherical", -np.ones(3), "must be positive"),
        ("tied", np.full((2, 2), np.nan), "finite"),
        ("tied", np.ones((2, 2)), "covariances_ is not positive definite"),
        ("full", [np.eye(2), -np.eye(2), np.eye(2)], "covariances_[1] is not positive definite"),
        ("full", [np.eye(2), [[1, 0.5], [0.4, 1]], np.eye(2)], "covariances_[1] must be a symm"),
    ],
)
def test_wrong_covariances(kind, covariances, said):
    X, y = data()
    hmm = HMM(covariance_type=kind).fit(X, y)
    hmm.covariances_ = covariances
    for method in (hmm.predict, hmm.predict_proba, hmm.score_samples):
        with pytest.raises(ValueError, match=re.escape(said)):
            method(X)
    with pytest.raises(ValueError, match=re.escape(said)):
        hmm.sample(1, random_state=0)


def test_the_parameter_may_change_after_fit():
    X, y = data()
    hmm = HMM(covariance_type="full").fit(X, y)
    before = hmm.score_samples(X)
    hmm.set_params(covariance_type="tied")
    np.testing.assert_array_equal(hmm.score_samples(X), before)


@EVERY_TYPE
@pytest.mark.parametrize("other", TYPES)
def test_a_start_of_another_type(kind, other):
    X, y = data()
    first = HMM(covariance_type=kind, transition_smoothing=1).fit(X, y)
    hmm = HMM(covariance_type=other, tol=1e-3, transition_smoothing=1).fit(X, init=first)
    assert hmm.covariances_.shape == SHAPES[other]


@EVERY_TYPE
def test_files(tmp_path, kind):
    X, y = data()
    hmm = HMM(covariance_type=kind).fit(X, y)
    save(hmm, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.covariances_.tobytes() == hmm.covariances_.tobytes()
    np.testing.assert_array_equal(loaded.score_samples(X), hmm.score_samples(X))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_constraint_driven_models_have_covariances_too():
    X, y = data()
    model = ConstraintDrivenHMM().fit(X, [*y[:4], None, None, None, None])
    assert model.variances_ is model.covariances_
    assert model.covariances_.shape == (3, 2)
