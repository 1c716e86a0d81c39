"""Searches over penalties in files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from sklearn_struct import LinearChainCRFCV
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.metrics import span_f1_scorer
from sklearn_struct.persistence import load, save
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Arrays
from sklearn_struct.persistence.registry import estimator, put_estimator

X = [["in", "Rome"], ["to", "New", "York"], ["I", "left"], ["in", "York"]] * 2
Y = [["O", "B-LOC"], ["O", "B-LOC", "I-LOC"], ["O", "O"], ["O", "B-LOC"]] * 2
SEARCH = LinearChainCRFCV(Cs=[0.01, 1.0], l1_ratios=[0.0, 0.5], cv=2, tol=1e-2)


@pytest.mark.parametrize(
    "options",
    [{}, {"cv": KFold(3, shuffle=True, random_state=0)}, {"cv": 4, "scoring": span_f1_scorer}],
    ids=str,
)
def test_an_equal_search_comes_back(tmp_path, options):
    model = LinearChainCRFCV(Cs=[0.01, 1.0], l1_ratios=[0.0, 0.5], tol=1e-2).set_params(
        **{"cv": 2} | options
    )
    save(model.fit(X, Y), tmp_path / "model")
    loaded = load(tmp_path / "model")
    for name in ("Cs_", "l1_ratios_", "scores_", "path_iterations_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    chosen = loaded.C_, loaded.l1_ratio_
    assert chosen == (model.C_, model.l1_ratio_)
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert repr(loaded) == repr(model)
    again = loaded.fit(X, Y)
    np.testing.assert_array_equal(again.scores_, model.scores_)


def test_without_a_final_fit_there_is_nothing_to_save(tmp_path):
    model = LinearChainCRFCV(Cs=[1.0], cv=2, refit=False).fit(X, Y)
    with pytest.raises(NotFittedError):
        save(model, tmp_path / "model")


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("Cs", np.zeros(2), "positive Cs"),
        ("Cs", np.full(2, np.nan), "positive Cs"),
        ("Cs", np.zeros(0), "positive Cs"),
        ("Cs", np.ones(3), "one score and one number of iterations in each fold"),
        ("l1_ratios", np.array([0.0, 1.5]), r"l1_ratios in \[0, 1\]"),
        ("scores", np.zeros(0), "one score and one number"),
        ("scores", np.ones(12), "one score and one number"),
        ("scores", np.full(8, np.inf), "scores must be finite"),
        ("path_iterations", np.full(8, -1), "no numbers of iterations negative"),
    ],
)
def test_damaged_searches_are_refused(name, array, said):
    shared = Shared(Arrays())
    stored = put_estimator(SEARCH.fit(X, Y), "", shared)
    shared.arrays[name] = array
    with pytest.raises(ModelFileError, match=said):
        estimator(stored, "", shared)
