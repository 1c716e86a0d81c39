"""Log-likelihoods, criteria, and searches by held-out likelihood."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sklearn_struct import HMM, SequenceArray, TokenTransformer
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
