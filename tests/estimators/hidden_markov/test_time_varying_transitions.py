"""Markov switching models with time-varying transition probabilities, against statsmodels and the
table of Filardo (1994): industrial production, whose phases a leading indicator drives.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_struct import NonHomogeneousHMM

switching = pytest.importorskip("statsmodels.tsa.regime_switching.markov_regression")
results = pytest.importorskip("statsmodels.tsa.regime_switching.tests.results")


def production():
    """Growth of industrial production, and the change of the indicator one month before."""
    path = Path(results.__file__).parent / "mar_filardo.csv"
    table = np.genfromtxt(path, delimiter=",", skip_header=1)
    return np.column_stack([table[1:, 0], table[:-1, 1]])


class Switching(switching.MarkovRegression):
    """One whose first regime has the initial probabilities. statsmodels takes two steps before
    that, both with the inputs of the first month.
    """

    def regime_transition_matrix(self, params, exog_tvtp=None):
        proba = super().regime_transition_matrix(params, exog_tvtp)
        proba[..., 0] = np.eye(len(proba))
        return proba


def of_statsmodels(X, K, cls=switching.MarkovRegression):
    inputs = np.column_stack([np.ones(len(X)), X[:, 1:]])
    return cls(X[:, 0], k_regimes=K, exog_tvtp=inputs, switching_variance=True)


def with_parameters(params, start, K, p):
    """The hidden Markov model of statsmodels' parameters: scores of the last regime are 0."""
    X = [np.zeros((K, p + 1))]
    model = NonHomogeneousHMM(transition_inputs=range(1, p + 1)).fit(X, [list(range(K))])
    n = K * (K - 1) * (p + 1)
    scores = np.zeros((K, K, p + 1))
    scores[:, :-1] = params[:n].reshape(K - 1, p + 1, K).transpose(2, 0, 1)
    model.transition_logprob_ = scores[..., 0]
    model.transition_coef_ = scores[..., 1:]
    model.means_ = params[n : n + K, None]
    model.covariances_ = params[n + K :, None]
    model.start_logprob_ = np.log(start)
    return model


@pytest.mark.parametrize(("K", "p"), [(2, 1), (2, 2), (3, 2)])
def test_likelihood_of_given_parameters(K, p):
    rng = np.random.default_rng(K + p)
    X = rng.normal(size=(200, 1 + p))
    other = of_statsmodels(X, K)
    start = rng.dirichlet(np.ones(K))
    other.initialize_known(start)
    params = rng.normal(size=len(other.param_names))
    params[-K:] = rng.uniform(0.5, 2, size=K)
    # the inputs of a month act on the step to it; two steps come before the first month
    proba = other.regime_transition_matrix(params)
    model = with_parameters(params, proba[..., 0] @ proba[..., 0] @ start, K, p)
    assert model.score_samples([X])[0] == pytest.approx(other.loglike(params), abs=1e-8)
    np.testing.assert_allclose(model.transition_proba([X])[0], proba.transpose(2, 1, 0), atol=1e-12)
    smoothed = other.smooth(params).smoothed_marginal_probabilities
    np.testing.assert_allclose(model.predict_proba([X])[0], smoothed, atol=1e-8)


def test_the_same_optimum():
    X = production()
    options = {"transition_penalty": 0, "transition_smoothing": 0, "tol": 1e-12, "max_iter": 5000}
    model = NonHomogeneousHMM(n_states=2, transition_inputs=[1], random_state=0, **options).fit([X])
    other = of_statsmodels(X, 2, Switching)
    other.initialize_known(np.exp(model.start_logprob_))
    # from the parameters of EM, and from others
    scores = np.concatenate([model.transition_logprob_[..., None], model.transition_coef_], axis=-1)
    relative = scores[:, 0] - scores[:, 1]
    ours = np.concatenate([relative.T.ravel(), model.means_.ravel(), model.covariances_.ravel()])
    log_p = model.log_likelihood([X])
    assert other.loglike(ours) == pytest.approx(log_p, abs=1e-8)
    best = other.fit(ours + 0.05, disp=False, maxiter=500, gtol=1e-9)
    assert best.llf == pytest.approx(log_p, abs=1e-5)
    np.testing.assert_allclose(best.params, ours, atol=2e-3)
    assert best.bic == pytest.approx(model.bic([X]) - np.log(len(X)), abs=1e-4)  # of the start


def filardo(X):
    """His model as a hidden Markov model: a label is a tuple of the last five regimes, and only
    those may follow each other that have four in common.
    """
    scores = np.array([[4.35941747, 1.7702123], [-1.6493936, 0.9945672]])  # of regime 0, by regime
    level = np.array([0.517298, -0.865888])
    variance = np.exp(-0.362469) ** 2
    lags = np.array([0.189474, 0.079344, 0.110944, 0.122251])
    labels = np.array(list(product(range(2), repeat=5)))  # the latest regime first
    with pytest.warns(ConvergenceWarning):
        model = NonHomogeneousHMM(
            n_states=32, transition_inputs=[1], autoregression=4, max_iter=1, random_state=0
        ).fit([X])
    follows = (labels[:, None, :-1] == labels[None, :, 1:]).all(axis=-1)
    to_first = labels[None, :, 0] == 0
    of_before = scores[labels[:, 0]][:, None]
    model.transition_coef_ = np.where(to_first[..., None], of_before[..., 1:], 0.0)
    constant = np.where(to_first, of_before[..., 0], 0.0)
    model.transition_logprob_ = np.where(follows, constant, -np.inf)
    # the regime of the first month follows one of the long run under its inputs
    first = np.exp(scores @ np.array([1.0, X[0, 1]]))
    proba = np.column_stack([first, np.ones(2)]) / (1 + first)[:, None]
    long_run = np.linalg.matrix_power(proba, 5000)[0]
    start = np.zeros(32)
    start[[0, 16]] = long_run @ proba
    with np.errstate(divide="ignore"):
        model.start_logprob_ = np.log(start)
    means = level[labels]
    model.means_ = (means[:, 0] - means[:, 1:] @ lags)[:, None]
    model.autoregression_ = np.tile(lags.reshape(4, 1, 1), (32, 1, 1, 1))
    model.covariances_ = np.full((32, 1), variance)
    return model


def test_filardos_table():
    X = production()
    model = filardo(X)
    assert model.score_samples([X])[0] == pytest.approx(-586.5718, abs=5e-5)
    # a boom has regime 0 now; his probabilities of that
    table = np.genfromtxt(
        Path(results.__file__).parent / "mar_filardo.csv", delimiter=",", skip_header=1
    )
    boom = model.predict_proba([X])[0][4:, :16].sum(axis=1)
    np.testing.assert_allclose(boom, table[5:, 5], atol=1e-4)
