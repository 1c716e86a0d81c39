"""Hidden Markov models in which labels have mixtures of normal distributions."""

from __future__ import annotations

import re

import naive
import numpy as np
import pytest
from hmmlearn.hmm import GMMHMM
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from sklearn_struct import HMM, MEstimatedCRF, SequenceArray
from sklearn_struct.persistence import load, save

TYPES = ["diag", "full", "tied", "spherical"]
EVERY_TYPE = pytest.mark.parametrize("kind", TYPES)
UNSETTLED = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SHAPES = {"diag": (2, 3, 2), "full": (2, 3, 2, 2), "tied": (2, 2, 2), "spherical": (2, 3)}
CENTRES = np.array([[[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]], [[4.0, 4.0], [-6.0, 2.0], [9.0, 9.0]]])


def data(seed=0, n=10, length=12, gaps=0.0):
    """Sequences of two numbers around three centres of each of two labels, and labels."""
    rng = np.random.RandomState(seed)
    y = [np.repeat(rng.randint(2, size=length // 3), 3) for _ in range(n)]
    X = [rng.normal(size=(len(s), 2)) + CENTRES[s, rng.randint(3, size=len(s))] for s in y]
    X = [np.where(rng.uniform(size=x.shape) < gaps, np.nan, x) for x in X]
    return X, [s.tolist() for s in y]


def fitted(kind, X, y, **options):
    settings = {"transition_smoothing": 0.5, "random_state": 0, "n_mixtures": 3, **options}
    return HMM(covariance_type=kind, **settings).fit(X, y)


@pytest.mark.twins
@EVERY_TYPE
@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("order", [1, 2])
def test_probabilities_are_those_of_all_labellings(kind, gaps, order):
    X, y = data(gaps=gaps)
    hmm = fitted(kind, X, y, order=order)
    assert hmm.means_.shape == (2, 3, 2)
    assert hmm.covariances_.shape == SHAPES[kind]
    assert hmm.variances_.shape == (2, 3, 2)
    test = [X[0][:3], X[1][2:6], X[2][:1]]
    for x, log_p, proba in zip(test, hmm.score_samples(test), hmm.predict_proba(test), strict=True):
        twin = naive.Hidden(hmm, x.tolist())
        assert log_p == pytest.approx(np.logaddexp.reduce(twin.log_p), abs=1e-9)
        np.testing.assert_allclose(proba, twin.marginals(), atol=1e-9)


class Corrected(GMMHMM):
    """hmmlearn's model, but with covariances about the new means. Its own are about the old ones,
    which is no step of EM.
    """

    def _do_mstep(self, stats):
        before = self.means_.copy()
        super()._do_mstep(stats)
        away = self.means_ - before
        if self.covariance_type == "diag":
            self.covars_ = self.covars_ - away**2
        elif self.covariance_type == "spherical":
            self.covars_ = self.covars_ - (away**2).mean(axis=2)
        else:
            products = away[..., :, None] * away[..., None, :]
            if self.covariance_type == "tied":
                products = (self.weights_[:, :, None, None] * products).sum(axis=1)
            self.covars_ = self.covars_ - products


@UNSETTLED
@EVERY_TYPE
def test_hmmlearn_agrees(kind):
    X, _ = data(n=20, length=30)
    flat = np.vstack(X)
    lengths = [30] * 20
    packed = SequenceArray.from_flat(flat, lengths)
    options = {
        "stop": False,
        "n_states": 2,
        "covariance_type": kind,
        "min_variance": 1e-12,
        "n_mixtures": 3,
    }
    start = HMM(max_iter=1, random_state=0, **options).fit(packed)
    d = 2
    # the modes of hmmlearn's priors are moved so that these are flat
    flat_priors = {
        "diag": (-1.5, 0.0),
        "spherical": (-(d + 2) / 2, 0.0),
        "full": (0.0, -(d + 2.0)),
        "tied": (0.0, -(d + 4.0)),
    }[kind]
    theirs = Corrected(
        2,
        3,
        covariance_type=kind,
        n_iter=15,
        tol=-np.inf,
        init_params="",
        min_covar=0,
        covars_prior=np.full(SHAPES[kind], flat_priors[0]),
        covars_weight=np.full(
            {"tied": (2,)}.get(kind, (2, 3) if kind == "full" else SHAPES[kind]), flat_priors[1]
        ),
    )
    theirs.startprob_ = np.exp(start.start_logprob_)
    theirs.transmat_ = np.exp(start.transition_logprob_)
    theirs.weights_ = np.exp(start.mixture_logprob_)
    theirs.means_ = start.means_
    theirs.covars_ = start.covariances_
    assert start.score_samples(packed).sum() == pytest.approx(theirs.score(flat, lengths))
    theirs.fit(flat, lengths)
    ours = HMM(max_iter=15, tol=0, **options).fit(packed, init=start)
    np.testing.assert_allclose(np.exp(ours.transition_logprob_), theirs.transmat_, atol=1e-6)
    np.testing.assert_allclose(np.exp(ours.mixture_logprob_), theirs.weights_, atol=1e-6)
    np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-6)
    np.testing.assert_allclose(ours.covariances_, theirs.covars_, atol=1e-6)


@UNSETTLED
@EVERY_TYPE
def test_one_label_is_a_mixture_of_gaussians(kind):
    X, _ = data(n=20)
    x = np.vstack(X)
    options = {"stop": False, "n_states": 1, "n_mixtures": 3, "covariance_type": kind}
    hmm = HMM(random_state=0, tol=1e-12, max_iter=5000, min_variance=1e-12, **options).fit(X)
    covariances = hmm.covariances_[0]
    mixture = GaussianMixture(
        3,
        covariance_type=kind,
        means_init=hmm.means_[0],
        weights_init=np.exp(hmm.mixture_logprob_[0]),
        precisions_init=1 / covariances
        if covariances.ndim == 1 or kind == "diag"
        else np.linalg.inv(covariances),
        tol=1e-12,
        reg_covar=0,
        max_iter=5000,
    ).fit(x)
    np.testing.assert_allclose(hmm.means_[0], mixture.means_, atol=1e-3)
    np.testing.assert_allclose(hmm.covariances_[0], mixture.covariances_, atol=1e-3)
    assert hmm.score_samples(X).sum() == pytest.approx(mixture.score_samples(x).sum(), rel=1e-6)


@UNSETTLED
@EVERY_TYPE
@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("known", ["none", "some", "all"])
@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_em_never_lowers_the_likelihood(kind, gaps, known, init):
    X, y = data(gaps=gaps)
    labels = {"none": None, "some": [*y[:3], *[None] * 7], "all": y}[known]
    hmm = fitted(
        kind, X, labels, n_states=2, init=init, tol=0, max_iter=30, transition_smoothing=0.0
    )
    assert np.all(np.diff(hmm.loss_curve_) <= 1e-8)
    assert hmm.n_iter_ > 1
    if known == "all":
        assert -hmm.loss_curve_[-1] == pytest.approx(hmm.log_joint(X, y).sum())
    elif known == "none":
        assert -hmm.loss_curve_[-1] == pytest.approx(hmm.score_samples(X).sum())


def test_mixtures_tell_labels_that_single_distributions_do_not():
    X, y = data(n=40, length=30)
    test, truth = data(seed=1, n=40, length=30)
    single = HMM(covariance_type="full").fit(X, y).score(test, truth)
    hmm = fitted("diag", X, y)
    assert hmm.score(test, truth) > 0.97 > single
    for k in range(2):
        for centre in CENTRES[k]:
            assert np.min(np.linalg.norm(hmm.means_[k] - centre, axis=1)) < 0.3
    np.testing.assert_allclose(np.exp(hmm.mixture_logprob_), 1 / 3, atol=0.06)


@EVERY_TYPE
def test_samples_have_these_distributions(kind):
    X, y = data(n=40)
    hmm = fitted(kind, X, y, stop=False)
    [x], [labels] = hmm.sample(1, random_state=0, length=40_000)
    labels = np.array(labels)
    weight = np.exp(hmm.mixture_logprob_)
    gaussians = hmm._gaussians()
    for k in range(2):
        here = x[labels == k]
        mean = weight[k] @ hmm.means_[k]
        np.testing.assert_allclose(here.mean(axis=0), mean, atol=0.15)
        second = weight[k] @ (hmm.variances_[k] + hmm.means_[k] ** 2)
        np.testing.assert_allclose(here.var(axis=0), second - mean**2, rtol=0.05)
        np.testing.assert_allclose(gaussians.mean[k], mean)
        np.testing.assert_allclose(gaussians.total_variance[k], second - mean**2)


@UNSETTLED
@EVERY_TYPE
def test_weights_are_repetitions(kind):
    X, y = data(n=4, length=30)
    start = fitted(kind, X, y, max_iter=1)
    hmm = clone(start).set_params(max_iter=10, tol=0)
    weighted = clone(hmm).fit(X, y, [2, 1, 0, 1], init=start)
    chosen = (0, 0, 1, 3)
    repeated = clone(hmm).fit([X[i] for i in chosen], [y[i] for i in chosen], init=start)
    np.testing.assert_allclose(weighted.means_, repeated.means_)
    np.testing.assert_allclose(weighted.covariances_, repeated.covariances_)


@EVERY_TYPE
def test_labels_and_values_that_are_few(kind):
    X, y = data()
    hmm = fitted(kind, X, y, n_states=[0, 1, 2])
    assert np.all(np.isfinite(hmm.means_))
    assert np.all(np.isfinite(hmm.score_samples(X)))
    # a label of one value has no three clusters
    X[0][:] = 1.0
    few = HMM(n_mixtures=3, covariance_type=kind, transition_smoothing=1, random_state=0).fit(
        X, [[5] * 12, *y[1:]]
    )
    np.testing.assert_allclose(few.means_[2], 1.0)
    assert np.all(np.isfinite(few.score_samples(X)))


@EVERY_TYPE
@UNSETTLED
def test_floors(kind):
    rng = np.random.RandomState(0)
    x = rng.normal(size=(60, 1))
    X = [np.hstack([x, 10 * x])]
    hmm = fitted(kind, X, [["A"] * 60], min_variance=0.1, max_iter=20)
    floor = 0.1 * x.var() * np.array([1, 100])
    twin = naive.Hidden(hmm, [[0.0, 0.0]])
    for m in range(3):
        scaled = twin.covariance(0, m) / np.sqrt(floor[:, None] * floor)
        assert np.linalg.eigvalsh(scaled).min() >= 1 - 1e-9


@EVERY_TYPE
@pytest.mark.parametrize("other", TYPES)
@UNSETTLED
def test_a_start_of_another_type(kind, other):
    X, y = data()
    first = fitted(kind, X, y)
    hmm = HMM(covariance_type=other, n_mixtures=3, max_iter=3, transition_smoothing=1)
    assert hmm.fit(X, init=first).covariances_.shape == SHAPES[other]
    with pytest.raises(ValueError, match="init has n_mixtures=3, not 1"):
        HMM().fit(X, y=None, init=first)


@EVERY_TYPE
def test_files(tmp_path, kind):
    X, y = data()
    hmm = fitted(kind, X, y)
    save(hmm, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.covariances_.tobytes() == hmm.covariances_.tobytes()
    assert loaded.mixture_logprob_.tobytes() == hmm.mixture_logprob_.tobytes()
    assert vars(loaded).keys() == vars(hmm).keys() | {"_names_in"}
    np.testing.assert_array_equal(loaded.score_samples(X), hmm.score_samples(X))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_a_base_with_mixtures():
    X, y = data(n=30)
    base = HMM(n_mixtures=3, random_state=0)
    assert MEstimatedCRF(base=base).fit(X, y).score(X, y) > 0.7


def test_what_is_refused():
    X, y = data()
    with pytest.raises(ValueError, match="n_mixtures=2 needs a stream of measurements"):
        HMM(n_mixtures=2).fit([["a", "b"]], [["A", "B"]])
    with pytest.raises(ValueError, match="'n_mixtures' parameter"):
        HMM(n_mixtures=0).fit(X, y)
    hmm = fitted("full", X, y)
    wrong = {
        "mixture_logprob_": (np.zeros((2, 2)), "for 2 labels and n_mixtures=3 it must be (2, 3)"),
        "covariances_": (np.ones((2, 2, 2)), "n_mixtures=3, 2 labels and 2 numeric streams it"),
    }
    for name, (value, said) in wrong.items():
        other = fitted("full", X, y)
        setattr(other, name, value)
        with pytest.raises(ValueError, match=re.escape(said)):
            other.predict(X)
    hmm.covariances_[1, 2] = -np.eye(2)
    with pytest.raises(ValueError, match=re.escape("covariances_[1, 2] is not positive definite")):
        hmm.predict(X)
    hmm = fitted("full", X, y)
    hmm.mixture_logprob_ = np.zeros((2, 3))
    with pytest.raises(ValueError, match="weights that sum to 1 in each row"):
        hmm.predict(X)


@UNSETTLED
def test_threads_change_no_bit():
    X, _ = data(n=40)
    one, two = (fitted("full", X, None, n_states=2, n_jobs=n, max_iter=20) for n in (1, 2))
    assert one.means_.tobytes() == two.means_.tobytes()
