"""Scores that are not finite, or too large for sums, are errors with a place; no probability is
ever NaN.
"""

from __future__ import annotations

import contextlib
import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
from public_estimators import CHAINS, GRAPHS_OF_SEQUENCES, small
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import FunctionTransformer

from sklearn_struct import (
    HMM,
    MEMM,
    LinearChainCRF,
    LogLinearClassifier,
    MEstimatedCRF,
    MEstimatedPCFG,
    SkipChainCRF,
)
from sklearn_struct.exceptions import ModelFileError, NonFiniteError
from sklearn_struct.persistence import load, save

LENGTHS = [2, 3, 1, 9]
LABELS = np.array(["A", "B"])
OF_X = [
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_nbest",
    "predict_edge_proba",
    "sample",
    "score_samples",
]
OF_X_AND_Y = ["score", "log_proba", "log_joint"]

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"
)


def data(container=list):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)) for n in LENGTHS]
    y = [LABELS[(rows[:, 0] > 0).astype(int)].tolist() for rows in X]
    return [sp.csr_array(rows) if container is sp.csr_array else rows for rows in X], y


def fitted(cls=LinearChainCRF, container=list, **options):
    return small(cls, max_iter=5, **options).fit(*data(container))


def numbers(value):
    """All numbers in a result."""
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype == object):
        return [number for item in value for number in numbers(item)]
    return (
        np.ravel(value).tolist()
        if not isinstance(value, str) and np.asarray(value).dtype.kind == "f"
        else []
    )


def results(model, X, y):
    """What each prediction gives, or its NonFiniteError."""
    for method in OF_X + OF_X_AND_Y:
        if hasattr(model, method) and not (isinstance(model, HMM) and method == "sample"):
            try:
                yield method, getattr(model, method)(X, *[y] * (method in OF_X_AND_Y))
            except NonFiniteError as error:
                yield method, error


# ---- predictions


@pytest.mark.parametrize("container", [list, sp.csr_array])
@pytest.mark.parametrize("cls", [*CHAINS, SkipChainCRF])
def test_what_overflows_with_x_has_a_place(cls, container):
    model = fitted(cls, container)
    X, y = data()
    X[1][1:] = np.sign(X[1][1:]) * 1e308
    X = [sp.csr_array(rows) if container is sp.csr_array else rows for rows in X]
    found = dict(results(model, X, y))
    assert len(found) >= (7 if cls in CHAINS else 6)
    for error in found.values():
        assert isinstance(error, NonFiniteError)
        assert re.match(
            r"X\[1\], token 1: the score of the label '[AB]' is .*scale numeric features",
            str(error),
        )


@pytest.mark.parametrize("scale", [1e30, 1e100, 1e154, 1e155, 1e300, 1e306, 3e306, 1e307, 1e308])
@pytest.mark.parametrize(
    "model",
    [
        LinearChainCRF(max_iter=5),
        LinearChainCRF(max_iter=5, dtype="float32"),
        LinearChainCRF(max_iter=3, edge_features="all", order=2),
        MEMM(max_iter=5, decoder="beam"),
        MEstimatedCRF(max_iter=5, tol=1.0),
        HMM(),
        HMM(order=2),
    ],
    ids=repr,
)
def test_predictions_are_numbers_or_errors(model, scale):
    X, y = data()
    if not hasattr(model, "classes_"):
        model.fit(X, y)
    with np.errstate(over="ignore"):
        huge = [np.clip(rows * scale, -1.7e308, 1.7e308) for rows in X]
    for method, found in results(model, huge, y):
        if isinstance(found, NonFiniteError):
            assert scale > (1e36 if getattr(model, "dtype", "") == "float32" else 1e305), method
        else:
            assert not any(number != number or number == np.inf for number in numbers(found)), (
                method
            )


def test_scores_of_transitions():
    model = fitted(edge_features=[0])
    X, _ = data()
    X[3][4, 0] = 1e308
    model._w = model._w * np.concatenate([np.zeros(6), np.full(len(model._w) - 6, 1e3)])
    with pytest.raises(NonFiniteError, match=r"X\[3\], token 4: the score of a transition is"):
        model.predict(X)


def test_weights_of_transitions():
    model = fitted()
    model._w = np.where(np.arange(len(model._w)) == 7, 1.5e308, model._w)
    with pytest.raises(
        NonFiniteError, match=r"the weights of transitions are too large: a score is 1\.5e"
    ):
        model.predict(data()[0])


def test_large_scores_of_short_sequences():
    """What can be added up is let through, however large."""
    model = fitted()
    model._w = np.where(np.arange(len(model._w)) < 6, model._w * 1e307, 0)
    assert len(model.predict([np.ones((1, 3))])) == 1
    with pytest.raises(NonFiniteError, match="the score of the label"):
        model.predict([np.ones((30, 3))])


def test_a_sum_over_many_tokens():
    model = fitted()
    X = [np.full((1000, 3), 1e305)]
    model._w = np.abs(model._w) + 1.0
    assert np.isfinite(model.predict_proba(X)[0]).all()
    with pytest.raises(NonFiniteError, match=r"X\[0\]: its scores, summed over all tokens"):
        model.log_proba(X, [["A"] * 1000])


def test_weights_that_are_not_finite_in_single_precision():
    """They were, when they were learned."""
    model = fitted()
    model._w = model._w * 1e50
    assert len(model.predict(data()[0])) == 4
    with pytest.raises(NonFiniteError, match="the weights are not finite in float32"):
        model.set_params(dtype="float32").predict(data()[0])


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_log_linear_models(method):
    X, y = map(np.concatenate, data())
    model = LogLinearClassifier(max_iter=5).fit(X, y)
    X[3] *= 1e308 / np.abs(X[3]).max()
    X[3] *= np.sign(model.coef_[0])
    model._w = model._w * 10
    with pytest.raises(NonFiniteError, match=r"X\[3\]: the score of a label is not finite"):
        getattr(model, method)(X)


def test_log_linear_models_with_functions():
    model = LogLinearClassifier(lambda x, y: {f"{y}": x}, lambda x: ["A", "B"][: 1 + (x > 2)]).fit(
        [1.0, 2.0, 3.0], ["A", "A", "B"]
    )
    assert model.predict_proba([1.0, 5.0])[0].tolist() == [1.0, 0.0]
    model._w = model._w * 10
    with pytest.raises(NonFiniteError, match=r"X\[1\]: the score of a label is not finite"):
        model.predict([1.0, 1.7e308])


def test_a_base_that_gives_what_cannot_be_added_up():
    class Base(BaseEstimator):
        classes_ = LABELS
        height = 0.0

        def chain_scores(self, X):
            return [
                (np.full((len(x), 2), self.height), np.zeros((max(len(x) - 1, 0), 2, 2))) for x in X
            ]

        def fit(self, X, y):
            return self

        def sample(self, n_samples, random_state):
            return [np.zeros((2, 3))] * n_samples, [["A", "B"]] * n_samples

    X, y = data()
    model = MEstimatedCRF(
        FunctionTransformer(), base=Base(), expectations="sampled", n_samples=2, max_iter=2
    )
    model.fit(X, y)
    model.base_.height = 1e305
    with pytest.raises(
        NonFiniteError, match=r"X\[0\]: the base gives scores that are NaN, inf or beyond"
    ):
        model.predict(X)


@pytest.mark.parametrize("value", [1e308, -np.inf, np.nan])
def test_weights_of_trees(value):
    words = [["the", "cat"], ["a", "dog"]]
    model = MEstimatedPCFG().fit(words, ["(S (D the) (N cat))", "(S (D a) (N dog))"])
    model.coef_[0] = value
    for method in (model.predict, model.score_samples, model.marginals):
        with pytest.raises(NonFiniteError, match="coef_ or constant_ has a weight"):
            method(words)


# ---- fits


@pytest.mark.parametrize("cls", [*CHAINS, *GRAPHS_OF_SEQUENCES, MEstimatedCRF])
def test_x_that_nothing_can_be_learned_from(cls):
    model = fitted(cls)
    before = pickle.dumps(model)
    X, y = data()
    X[3][7, 2] = -1e100
    with pytest.raises(
        NonFiniteError, match=r"X\[3\], token 7, feature 2: -1e\+100 is too large to learn from"
    ):
        model.fit(X, y)
    assert pickle.dumps(model) == before


def test_tables_that_nothing_can_be_learned_from():
    with pytest.raises(
        NonFiniteError, match=r"X\[1\], token 0, feature 0: 1e\+80 is too large to learn from"
    ):
        LogLinearClassifier().fit([[1.0], [1e80]], ["A", "B"])


@pytest.mark.parametrize("solver", ["lbfgs", "sag", "sgd", "pa"])
def test_training_data_whose_scores_overflow(solver):
    """The error comes from the fit, not from a prediction; and no RuntimeWarning before it."""
    X, y = data()
    model = LinearChainCRF(dtype="float32", solver=solver, max_iter=5, random_state=0)
    for scale in (1e30, 1e37, 1e38):
        huge = [rows * scale for rows in X]
        with contextlib.suppress(NonFiniteError):
            model.fit(huge, y)
            assert np.isfinite(np.concatenate(list(model.predict_proba(huge)))).all()


def test_weights_to_start_from():
    model = fitted()
    model._w = model._w * 1e308
    with pytest.raises(NonFiniteError):
        LinearChainCRF(max_iter=1, solver="sgd", random_state=0).fit(*data(), init=model)


def test_batches():
    X, y = data()
    model = LinearChainCRF(solver="pa", random_state=0).partial_fit(X, y, classes=["A", "B"])
    before = pickle.dumps(model)
    with pytest.raises(NonFiniteError, match="is too large to learn from"):
        model.partial_fit([rows * 1e90 for rows in X], y)
    assert pickle.dumps(model) == before


# ---- files


def test_a_file_of_weights_that_its_type_cannot_hold(tmp_path):
    model = fitted()
    model._w = model._w * 1e50
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").predict(data()[0]).tolist() == model.predict(data()[0]).tolist()
    with pytest.raises(ModelFileError, match="w must have weights that are finite in float32"):
        save(model.set_params(dtype="float32"), tmp_path / "model")


def test_a_file_of_huge_weights(tmp_path):
    model = fitted(MEMM, decoder="beam")
    model._w = np.where(np.arange(len(model._w)) % 2, 1e308, -1e308)
    save(model, tmp_path / "model")
    with pytest.raises(
        NonFiniteError, match=r"the score of (the label|a transition) .*is (-?[0-9.]+e|-?inf|nan)"
    ):
        load(tmp_path / "model").predict(data()[0])
