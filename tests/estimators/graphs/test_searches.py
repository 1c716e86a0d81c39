"""Searches, pipelines and copies of models of graphs, with all of their parameters."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sklearn_struct import FactorialCRF, GraphArray, GraphCRF, SkipChainCRF

WORDS = ("Ann", "Bob", "sees", "and")


def whole(graph):
    """One block."""
    nodes = graph[0] if isinstance(graph, tuple) else graph
    return np.zeros(len(nodes), int)


def whole_rows(words):
    """One block of two labels of each word."""
    return np.zeros((len(words), 2), int)


OTHER = {
    "C": 2.0,
    "block_size": 2,
    "blocks": whole,
    "cost": None,  # others are of loss="hinge" alone
    "decoder": "marginal",
    "dtype": "float32",
    "feature_pairs": "all",
    "fit_intercept": False,
    "hidden": {},
    "inference": "trw",
    "inference_tol": 1e-3,
    "init": "random",
    "key": "capitalized",
    "l1_ratio": 0.5,
    "learning_rate": "optimal",
    "loss": "composite",
    "max_iter": 7,
    "max_pairs": 1,
    "max_sweeps": 9,
    "n_init": 2,
    "n_jobs": 2,
    "n_rounds": 0,
    "n_states": 1,
    "n_steps": 3,
    "pieces": "trees",
    "random_state": 0,
    "reach": 1,
    "shared_states": {},
    "skip_features": "either",
    "solver": "owlqn",
    "symmetric": True,
    "tol": 0.5,
    "verbose": 1,
    "warm_start": True,
}


def data(cls):
    rng = np.random.default_rng(0)
    words = [[WORDS[k] for k in rng.integers(4, size=rng.integers(2, 6))] for _ in range(12)]
    y = [["AB"[word in ("Ann", "sees")] for word in row] for row in words]
    if cls is FactorialCRF:
        y = [[(label, len(word)) for label, word in zip(*pair)] for pair in zip(y, words)]
    if cls is GraphCRF:
        nodes = [np.array([[len(w), w[0].isupper()] for w in row], float) for row in words]
        edges = [[[i, i + 1] for i in range(len(row) - 1)] for row in words]
        return GraphArray(nodes, edges, [np.ones((len(table), 1)) for table in edges]), y
    return words, y


@pytest.mark.parametrize("cls", [GraphCRF, SkipChainCRF, FactorialCRF])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn_struct.exceptions.InferenceWarning")
def test_all_parameters_are_set_copied_and_used(cls, capsys):
    names = set(cls().get_params())
    assert names <= set(OTHER) | {"callbacks"}, "a new parameter: give it a value above"
    settings = {name: value for name, value in OTHER.items() if name in names}
    if cls is FactorialCRF:
        settings["blocks"] = whole_rows
    crf = cls().set_params(**settings)
    X, y = data(cls)
    for copy in (clone(crf), pickle.loads(pickle.dumps(crf)), cls(**settings)):
        assert {k: v for k, v in copy.get_params().items() if k in settings} == settings
    fitted = crf.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.get_params() == fitted.get_params()
    assert again.predict(X).tolist() == fitted.predict(X).tolist()
    # nothing is learned by a clone
    assert not hasattr(clone(fitted), "classes_")
    assert not fitted.intercept_.any()


@pytest.mark.parametrize(
    ("cls", "grid"),
    [
        (GraphCRF, {"n_states": [None, 2], "decoder": ["marginal", "states"]}),
        (GraphCRF, {"loss": ["pseudo", "piecewise"], "symmetric": [True, False]}),
        (SkipChainCRF, {"key": [None, "capitalized"], "max_pairs": [None, 1]}),
        (FactorialCRF, {"inference": ["exact", "bp"], "reach": [0, 1]}),
    ],
)
def test_searches_and_pipelines(cls, grid):
    X, y = data(cls)
    search = GridSearchCV(cls(), grid, cv=3).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    best = cross_val_score(cls(**search.best_params_), X, y, cv=3)
    assert scores.max() == search.best_score_ == pytest.approx(best.mean())
    inside = {f"{cls.__name__.lower()}__{name}": values for name, values in grid.items()}
    same = GridSearchCV(make_pipeline(cls()), inside, cv=3).fit(X, y)
    np.testing.assert_array_equal(same.cv_results_["mean_test_score"], scores)
    copy = pickle.loads(pickle.dumps(search))
    assert copy.predict(X).tolist() == search.predict(X).tolist()
