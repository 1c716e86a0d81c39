"""Hidden semi-Markov models with each kind of emissions: enumeration, EM, files."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest
from naive_durations import Lasting
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import HMM, HSMM
from sklearn_struct.exceptions import NonFiniteError
from sklearn_struct.persistence import load, save

MIXED = ["categorical", "poisson", "multinomial", "gaussian", "multinomial", "gaussian"]
KINDS = {
    "poisson": {"emissions": "poisson"},
    "multinomial": {"emissions": "multinomial"},
    "mixtures": {"n_mixtures": 2},
    "tied mixtures": {"n_mixtures": 2, "covariance_type": "tied"},
    "lags": {"autoregression": 2},
    "full lags": {"autoregression": 1, "covariance_type": "full"},
    "mixed": {"emissions": MIXED},
    "mixed mixtures": {"emissions": MIXED, "n_mixtures": 2, "covariance_type": "full"},
    "mixed lags": {"emissions": MIXED, "autoregression": 1},
}
EVERY_KIND = pytest.mark.parametrize("name", KINDS)


def data(name, seed=0, lengths=(12,) * 8):
    """Sequences for a model of this kind."""
    rng = np.random.RandomState(seed)
    y = [np.repeat(rng.permutation(3)[np.arange(n) % 3], 3)[:n] for n in lengths]
    X = []
    for k in y:
        counts = rng.poisson(2 + 2 * k, size=(3, len(k))).T
        numbers = rng.normal(3 * k * rng.choice([-1, 1], size=len(k)), size=(2, len(k))).T
        words = [("uvw"[(i + rng.randint(2)) % 3]) for i in k]
        if "mixed" in name:
            rows = zip(words, counts.tolist(), numbers.tolist(), strict=True)
            X.append([(w, c[0], c[1], x[0], c[2], x[1]) for w, c, x in rows])
        else:
            X.append(counts.astype(float) if name in ("poisson", "multinomial") else numbers)
    return X, [["ABC"[i] for i in k] for k in y]


def model(name, **options):
    return HSMM(max_length=4, random_state=0, **{"tol": 1e-3, **KINDS[name], **options})


def fitted(name, **options):
    return model(name, **options).fit(*data(name))


@pytest.mark.twins
@EVERY_KIND
@pytest.mark.parametrize("right_censored", [True, False])
def test_probabilities_are_those_of_all_labellings(name, right_censored):
    hsmm = fitted(name, right_censored=right_censored, transition_smoothing=0.1)
    X, _ = data(name, 1, [6, 1, 5, 3])
    every = [Lasting(hsmm, x) for x in X]
    expected = [twin.log_Z for twin in every]
    np.testing.assert_allclose(hsmm.score_samples(X), expected, rtol=1e-9, atol=1e-12)
    best = hsmm.predict(X)
    for twin, y, proba in zip(every, best, hsmm.predict_proba(X), strict=True):
        np.testing.assert_allclose(proba, twin.proba, atol=1e-9)
        codes = hsmm.classes_.searchsorted(y)
        assert tuple(codes) == twin.y[int(np.argmax(twin.log_p))]
    top = [twin.log_p.max() for twin in every]
    np.testing.assert_allclose(hsmm.log_joint(X, best), top, rtol=1e-9, atol=1e-12)


@EVERY_KIND
@pytest.mark.parametrize("known", ["nothing", "some", "all"])
def test_loss_never_rises(name, known):
    X, y = data(name)
    if known == "some":
        y = [[label if t % 4 == 0 else None for t, label in enumerate(labels)] for labels in y]
    hsmm = model(name, n_states=[*"ABC"], max_iter=8, tol=0, smoothing=0.5)
    # nobody knows the components of a mixture
    counted = known == "all" and "mixtures" not in name
    with nullcontext() if counted else pytest.warns(ConvergenceWarning):
        hsmm.fit(X, None if known == "nothing" else y)
    assert hsmm.n_iter_ == (1 if counted else 8)
    assert np.all(np.diff(hsmm.loss_curve_) <= 1e-8 * abs(hsmm.loss_curve_[0]))


@pytest.mark.parametrize("name", [name for name in KINDS if "mixtures" not in name])
def test_emissions_of_known_labels_are_those_of_a_plain_model(name):
    """Not of mixtures: EM learns their components, and stops elsewhere."""
    hsmm = fitted(name)
    hmm = HMM(stop=False, **KINDS[name]).fit(*data(name))
    for attribute in ("means_", "covariances_", "autoregression_", "rates_", "count_logprob_"):
        np.testing.assert_allclose(getattr(hsmm, attribute), getattr(hmm, attribute))
    assert hsmm.n_trials_ == hmm.n_trials_


@EVERY_KIND
@pytest.mark.parametrize("durations", ["categorical", "poisson", "negative-binomial"])
def test_files(name, durations, tmp_path):
    hsmm = fitted(name, durations=durations)
    X, _ = data(name, 1)
    save(hsmm, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.get_params() == hsmm.get_params()
    assert vars(loaded).keys() == vars(hsmm).keys() | {"_names_in"}
    np.testing.assert_array_equal(loaded.score_samples(X), hsmm.score_samples(X))
    assert loaded.predict(X).tolist() == hsmm.predict(X).tolist()
    assert repr(loaded.sample(2, 0, length=6)) == repr(hsmm.sample(2, 0, length=6))
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@EVERY_KIND
def test_samples_are_possible(name):
    hsmm = fitted(name)
    X, y = hsmm.sample(4, random_state=0, length=7)
    assert np.all(np.isfinite(hsmm.log_joint(X, y)))
    again = hsmm.sample(4, random_state=0, length=7)
    assert repr(again) == repr((X, y))


@EVERY_KIND
def test_a_plain_model_is_a_start(name):
    X, y = data(name)
    plain = HMM(stop=False, random_state=0, tol=1e-3, **KINDS[name]).fit(X, y)
    hsmm = model(name, max_iter=3, tol=0)
    with pytest.warns(ConvergenceWarning):
        hsmm.fit(X, init=plain)
    assert np.all(np.diff(hsmm.loss_curve_) <= 1e-8 * abs(hsmm.loss_curve_[0]))


def test_what_is_missing():
    """Counts and mixtures are summed over what is missing; regressions refuse it."""
    for name in ("poisson", "mixtures"):
        X, y = data(name)
        X[0][2, 1] = X[1][3] = np.nan
        hsmm = model(name).fit(X, y)
        short = [X[0][:5], X[1][1:6]]
        expected = [Lasting(hsmm, x).log_Z for x in short]
        np.testing.assert_allclose(hsmm.score_samples(short), expected, rtol=1e-9)
    X, y = data("lags")
    X[1][3, 0] = np.nan
    with pytest.raises(
        NonFiniteError, match=r"X\[1\], token 3, column 0: not finite \(nan\); with `autor"
    ):
        model("lags").fit(X, y)
