"""Log-likelihoods, criteria, and searches by held-out likelihood."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hmmlearn.hmm import PoissonHMM
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sklearn_struct import HMM, HSMM, NonHomogeneousHMM, SequenceArray, TokenTransformer
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.metrics import log_likelihood_scorer
from sklearn_struct.persistence import load, save

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def drawn(n_states=3, n=12, length=60, seed=0):
    """Sequences of numbers from states that are easy to tell apart."""
    rng = np.random.RandomState(seed)
    X = []
    for _ in range(n):
        states = np.repeat(rng.randint(n_states, size=length // 5), 5)
        X.append(rng.normal(4.0 * states)[:, None])
    return X


@pytest.mark.parametrize("model", [HMM, HSMM, NonHomogeneousHMM])
@pytest.mark.parametrize("method", ["aic", "bic", "log_likelihood"])
def test_a_model_that_is_not_fitted_says_so(model, method):
    with pytest.raises(NotFittedError):
        getattr(model(n_states=2), method)(drawn())


def test_one_state_is_a_normal_distribution():
    X = drawn()
    rows = np.concatenate(X)
    for kind in ("diag", "full", "tied", "spherical"):
        hmm = HMM(n_states=1, stop=False, covariance_type=kind, min_variance=1e-9).fit(X)
        mixture = GaussianMixture(covariance_type=kind, reg_covar=0.0).fit(rows)
        assert hmm.n_parameters_ == 2
        assert hmm.aic(X) == pytest.approx(mixture.aic(rows), rel=1e-8)
        assert hmm.bic(X) == pytest.approx(mixture.bic(rows), rel=1e-8)
    assert hmm.log_likelihood(X) == pytest.approx(hmm.score_samples(X).sum())


@pytest.mark.parametrize(("kind", "n"), [("diag", 9), ("full", 18), ("tied", 6), ("spherical", 3)])
def test_free_parameters_of_each_kind(kind, n):
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(20, 3)) for _ in range(3)]
    y = [rng.randint(3, size=20) for _ in range(3)]
    for stop in (False, True):
        hmm = HMM(covariance_type=kind, stop=stop).fit(X, y)
        assert hmm.n_parameters_ == 2 + 3 * (2 + stop) + 9 + n
        second = HMM(order=2, covariance_type=kind, stop=stop).fit(X, y)
        # three labels, and nine pairs
        assert second.n_parameters_ == 2 + 12 * (2 + stop) + 9 + n


def test_free_parameters_of_tables_and_in_files(tmp_path):
    X = [["a", "b", "a", "b"], ["b", "a", "a"]]
    hmm = HMM(oov="smoothing").fit(X, [["A", "B", "A", "B"], ["B", "A", "A"]])
    assert hmm.n_parameters_ == 1 + 2 * 2 + 2 * 2  # one column more than values
    save(hmm, tmp_path / "hmm")
    loaded = load(tmp_path / "hmm")
    assert loaded.n_parameters_ == 9
    assert loaded.bic(X) == hmm.bic(X) == pytest.approx(9 * np.log(7) - 2 * hmm.log_likelihood(X))
    del loaded.n_parameters_  # as in files of earlier versions
    assert loaded.bic(X) == hmm.bic(X)


TYPES = ("diag", "full", "tied", "spherical")
MIXED = ["categorical", "poisson", "multinomial", "gaussian", "multinomial", "gaussian"]


def drawn_rows(seed=0):
    """Rows of a symbol, three counts and two numbers, and labels of three kinds."""
    rng = np.random.RandomState(seed)
    y = [np.repeat(rng.permutation(3), 5) for _ in range(6)]
    rows = [
        [
            ("uv"[rng.randint(2)], rng.poisson(3 + k), 1 + rng.poisson(k), a, rng.poisson(2), b)
            for k, (a, b) in zip(labels, rng.normal(size=(15, 2)), strict=True)
        ]
        for labels in y
    ]
    return rows, [labels.tolist() for labels in y]


@pytest.mark.parametrize(
    ("options", "n"),
    [
        # of three labels: the table has two values and all others
        ({}, 3 * 2 + 3 * 1 + 3 * 1 + 3 * (2 + 2)),
        ({"covariance_type": "full"}, 12 + 3 * (2 + 3)),
        ({"covariance_type": "tied"}, 12 + 3 * 2 + 3),
        ({"covariance_type": "spherical"}, 12 + 3 * (2 + 1)),
        ({"n_mixtures": 2}, 12 + 3 * (1 + 2 * (2 + 2))),
        ({"n_mixtures": 3, "covariance_type": "full"}, 12 + 3 * (2 + 3 * (2 + 3))),
        ({"n_mixtures": 2, "covariance_type": "tied"}, 12 + 3 * (1 + 2 * 2 + 3)),
        ({"n_mixtures": 2, "covariance_type": "spherical"}, 12 + 3 * (1 + 2 * (2 + 1))),
        ({"autoregression": 1}, 12 + 3 * (2 + 2 + 4)),
        ({"autoregression": 2, "covariance_type": "tied"}, 12 + 3 * (2 + 8) + 3),
    ],
)
def test_bic_of_each_kind_of_emissions(options, n):
    X, y = drawn_rows()
    hmm = HMM(stop=False, emissions=MIXED, random_state=0, oov="smoothing", **options).fit(X, y)
    assert hmm.n_parameters_ == 2 + 3 * 2 + n
    bic = np.log(6 * 15) * hmm.n_parameters_ - 2 * hmm.score_samples(X).sum()
    assert hmm.bic(X) == pytest.approx(bic)
    del hmm.n_parameters_  # as in files of earlier versions
    assert hmm.bic(X) == pytest.approx(bic)


def test_criteria_of_counts_are_those_of_hmmlearn():
    rng = np.random.RandomState(0)
    x = rng.poisson(np.repeat([2, 9, 2, 5], 20)[:, None] + np.array([0, 3]))
    packed = SequenceArray.from_flat(x, [50, 30])
    ours = HMM(n_states=3, stop=False, emissions="poisson", random_state=0, tol=1e-3).fit(packed)
    theirs = PoissonHMM(3)
    theirs.startprob_ = np.exp(ours.start_logprob_)
    theirs.transmat_ = np.exp(ours.transition_logprob_)
    theirs.lambdas_ = ours.rates_
    theirs.n_features = 2
    assert ours.aic(packed) == pytest.approx(theirs.aic(x, [50, 30]), rel=1e-9)
    assert ours.bic(packed) == pytest.approx(theirs.bic(x, [50, 30]), rel=1e-9)


def test_a_search_chooses_the_kind_of_covariances():
    rng = np.random.RandomState(0)
    root = np.array([[1.0, 0.0], [0.95, 0.3]])
    X = [
        np.repeat(rng.choice([-1, 1], size=8), 5)[:, None] * [2.0, -2.0]
        + rng.normal(size=(40, 2)) @ root.T
        for _ in range(8)
    ]
    grid = {"covariance_type": ["diag", "full", "tied", "spherical"]}
    hmm = HMM(n_states=2, stop=False, random_state=0, tol=1e-4)
    search = GridSearchCV(hmm, grid, scoring=log_likelihood_scorer, cv=4).fit(X)
    assert search.best_params_["covariance_type"] in ("full", "tied")
    bic = {kind: clone(hmm).set_params(covariance_type=kind).fit(X).bic(X) for kind in TYPES}
    assert min(bic, key=bic.get) == "tied"


def test_a_search_chooses_the_number_of_components():
    rng = np.random.RandomState(0)
    X = []
    for _ in range(8):
        states = np.repeat(rng.randint(2, size=10), 6)
        # one of the labels has numbers on both sides
        side = np.where(states == 1, rng.choice([-1, 1], size=60), 0)
        X.append(rng.normal(8.0 * side)[:, None])
    grid = {"n_mixtures": [1, 2]}
    hmm = HMM(n_states=2, stop=False, random_state=0, n_init=4, tol=1e-4)
    search = GridSearchCV(hmm, grid, scoring=log_likelihood_scorer, cv=4).fit(X)
    assert search.best_params_ == {"n_mixtures": 2}
    bic = [clone(hmm).set_params(n_mixtures=n).fit(X).bic(X) for n in (1, 2)]
    assert bic[1] < bic[0]


@pytest.mark.parametrize("packed", [False, True])
def test_a_search_without_labels_chooses_the_true_number_of_states(packed):
    X = drawn()
    X = SequenceArray.from_sequences(X) if packed else X
    grid = {"n_states": [1, 2, 3, 4]}
    hmm = HMM(stop=False, random_state=0)
    search = GridSearchCV(hmm, grid, scoring=log_likelihood_scorer, cv=3).fit(X)
    assert search.best_params_ == {"n_states": 3}
    assert log_likelihood_scorer(search, X) == pytest.approx(
        search.best_estimator_.score_samples(X).sum() / 720
    )
    bic = [HMM(n_states=n, stop=False, random_state=0).fit(X).bic(X) for n in (1, 2, 3, 4)]
    assert np.argmin(bic) == 2


def test_the_scorer_in_pipelines_and_files(tmp_path):
    from sklearn.preprocessing import StandardScaler

    X = drawn(2, 6, 30)
    pipeline = make_pipeline(TokenTransformer(StandardScaler()), HMM(n_states=2, random_state=0))
    scores = cross_val_score(pipeline, X, scoring=log_likelihood_scorer, cv=3)
    assert np.all(np.isfinite(scores))
    grid = {"hmm__n_states": [1, 2]}
    search = GridSearchCV(pipeline, grid, scoring=log_likelihood_scorer, cv=3).fit(X)
    assert search.best_params_ == {"hmm__n_states": 2}
    save(search, tmp_path / "search")
    assert load(tmp_path / "search").scoring is log_likelihood_scorer
    assert pickle.loads(pickle.dumps(log_likelihood_scorer)) is log_likelihood_scorer


def test_forms_of_the_scorer():
    X = [["a", "b"], ["b"], []]
    hmm = HMM(oov="smoothing").fit(X, [["A", "B"], ["B"], []])
    expected = hmm.log_likelihood(X) / 3
    assert log_likelihood_scorer(hmm, X) == pytest.approx(expected)
    assert log_likelihood_scorer(hmm, iter(X), "anything") == pytest.approx(expected)
    table = np.arange(6.0).reshape(3, 2)
    rows = HMM().fit(table, ["A", "B", "A"])
    assert log_likelihood_scorer(rows, table) == pytest.approx(rows.log_likelihood(table) / 3)
    with pytest.raises(EmptyDataError, match="no tokens whose"):
        log_likelihood_scorer(hmm, [[]])
