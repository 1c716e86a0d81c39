"""Hidden Markov models without stops, and hmmlearn's: the same iterations of EM, and the same
predictions.
"""

from __future__ import annotations

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM, GaussianHMM
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import HMM, SequenceArray


def both(kind, X, K, **options):
    """Our model without stops and hmmlearn's, with the same parameters before EM."""
    gaussian = kind is GaussianHMM
    theirs = kind(K, n_iter=10, tol=-np.inf, init_params="", **options)
    rng = np.random.RandomState(0)
    theirs.startprob_ = rng.dirichlet(np.ones(K))
    theirs.transmat_ = rng.dirichlet(np.ones(K), size=K)
    settings = {} if gaussian else {"emissions": "categorical", "oov": None}
    ours = HMM(
        stop=False, n_states=K, smoothing=0, max_iter=10, tol=0, min_variance=1e-12, **settings
    )
    with pytest.warns(ConvergenceWarning):
        start = clone(ours).set_params(max_iter=1).fit(X)
    start.start_logprob_ = np.log(theirs.startprob_)
    start.transition_logprob_ = np.log(theirs.transmat_)
    if gaussian:
        theirs.means_ = start.means_
        theirs.covars_ = start.variances_
    else:
        theirs.emissionprob_ = np.exp(start.emission_logprob_[0])
    return ours, start, theirs


@pytest.mark.parametrize("kind", [GaussianHMM, CategoricalHMM])
def test_hmmlearn_agrees(kind):
    rng = np.random.RandomState(1)
    lengths = [20, 1, 35, 12]
    z = np.repeat(rng.randint(3, size=34), 2)
    X = (
        rng.normal(size=(68, 2)) + z[:, None]
        if kind is GaussianHMM
        else (z + rng.randint(2, size=68))[:, None]
    )
    packed = SequenceArray.from_flat(X, lengths)
    priors = (
        {"covars_prior": 0, "covars_weight": 0, "means_weight": 0, "min_covar": 0}
        if kind is GaussianHMM
        else {}
    )
    ours, start, theirs = both(kind, packed, 3, **priors)
    assert start.score_samples(packed).sum() == pytest.approx(theirs.score(X, lengths), rel=1e-10)
    np.testing.assert_allclose(
        np.concatenate(start.predict_proba(packed)), theirs.predict_proba(X, lengths), atol=1e-8
    )
    decoded = SequenceArray.from_flat(theirs.predict(X, lengths), lengths)  # there are ties
    np.testing.assert_allclose(
        start.log_joint(packed, start.predict(packed)), start.log_joint(packed, decoded)
    )
    with pytest.warns(ConvergenceWarning):
        ours.fit(packed, init=start)
    theirs.fit(X, lengths)
    np.testing.assert_allclose(np.exp(ours.start_logprob_), theirs.startprob_, atol=1e-8)
    np.testing.assert_allclose(np.exp(ours.transition_logprob_), theirs.transmat_, atol=1e-8)
    assert -ours.loss_curve_[-1] == pytest.approx(theirs.score(X, lengths), rel=1e-9)
    if kind is GaussianHMM:
        np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-7)
        np.testing.assert_allclose(
            ours.variances_, np.diagonal(theirs.covars_, axis1=1, axis2=2), atol=1e-7
        )
    else:
        np.testing.assert_allclose(
            np.exp(ours.emission_logprob_[0]), theirs.emissionprob_, atol=1e-8
        )


@pytest.mark.parametrize("kind", ["diag", "full", "tied", "spherical"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_hmmlearn_agrees_on_each_type_of_covariances(kind):
    K = 3
    d = 3
    rng = np.random.RandomState(1)
    lengths = [200, 1, 350, 120]
    z = np.repeat(rng.randint(K, size=sum(lengths)), 2)[: sum(lengths)]
    X = rng.normal(size=(sum(lengths), d)) @ rng.normal(size=(d, d)) + 3 * z[:, None]
    packed = SequenceArray.from_flat(X, lengths)
    options = {"stop": False, "n_states": K, "covariance_type": kind, "min_variance": 1e-12}
    start = HMM(max_iter=1, random_state=0, **options).fit(packed)
    theirs = GaussianHMM(
        K,
        covariance_type=kind,
        n_iter=15,
        tol=-np.inf,
        init_params="",
        min_covar=1e-12,
        covars_prior=0,
        covars_weight=0,
        means_weight=0,
    )
    theirs.startprob_ = np.exp(start.start_logprob_)
    theirs.transmat_ = np.exp(start.transition_logprob_)
    theirs.means_ = start.means_
    theirs.covars_ = start.covariances_
    assert start.score_samples(packed).sum() == pytest.approx(theirs.score(X, lengths), rel=1e-9)
    ours = HMM(max_iter=15, tol=0, **options).fit(packed, init=start)
    theirs.fit(X, lengths)
    np.testing.assert_allclose(np.exp(ours.transition_logprob_), theirs.transmat_, atol=1e-6)
    np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-6)
    covariances = theirs._covars_[:, 0] if kind == "spherical" else theirs._covars_
    np.testing.assert_allclose(ours.covariances_, covariances, atol=1e-6)


@pytest.mark.parametrize("kind", ["diag", "full"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_hmmlearn_agrees_on_priors_and_criteria(kind):
    """Its weights of covariances are degrees of freedom, and its prior is their sum of squares."""
    K = 3
    d = 2
    rng = np.random.RandomState(2)
    lengths = [80, 1, 90]
    z = np.repeat(rng.randint(K, size=sum(lengths)), 3)[: sum(lengths)]
    X = rng.normal(size=(sum(lengths), d)) + 2 * z[:, None]
    packed = SequenceArray.from_flat(X, lengths)
    options = {"stop": False, "n_states": K, "covariance_type": kind, "min_variance": 1e-12}
    start = HMM(max_iter=1, random_state=0, **options).fit(packed)
    more = rng.uniform(0, 5, size=(K, K))
    k = 4.0
    r = 7.0
    S = np.cov(X.T, bias=True)
    theirs = GaussianHMM(
        K,
        covariance_type=kind,
        n_iter=10,
        tol=-np.inf,
        init_params="",
        min_covar=1e-12,
        transmat_prior=1 + more,
        means_prior=X.mean(axis=0),
        means_weight=k,
        covars_prior=r * (np.diag(S) if kind == "diag" else S),
        covars_weight=r + (1 if kind == "diag" else d),
    )
    theirs.startprob_ = np.exp(start.start_logprob_)
    theirs.transmat_ = np.exp(start.transition_logprob_)
    theirs.means_ = start.means_
    theirs.covars_ = start.covariances_
    priors = {"transition_smoothing": more, "mean_smoothing": k, "covariance_smoothing": r}
    ours = HMM(max_iter=10, tol=0, **priors, **options).fit(packed, init=start)
    theirs.fit(X, lengths)
    np.testing.assert_allclose(np.exp(ours.transition_logprob_), theirs.transmat_, atol=1e-6)
    np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-6)
    np.testing.assert_allclose(ours.covariances_, theirs._covars_, atol=1e-6)
    assert ours.aic(packed) == pytest.approx(theirs.aic(X, lengths), rel=1e-9)
    assert ours.bic(packed) == pytest.approx(theirs.bic(X, lengths), rel=1e-9)
