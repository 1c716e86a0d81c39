"""Fits on partitions are those on all data."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from partitions import (
    CASES,
    TEMPLATED,
    TEMPLATES,
    TIGHT,
    as_lists,
    assert_same_pattern,
    cut,
    data_of,
    fit,
    in_memory,
    model_of,
    rows,
    sentences,
)
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_struct import (
    FeatureTemplates,
    LatentChainCRF,
    LinearChainCRF,
    SequenceArray,
    TokenTransformer,
)
from sklearn_struct.distributed.fitting import fit_partitions
from sklearn_struct.distributed.partitions import Partition
from sklearn_struct.distributed.shards import InMemory
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)
from sklearn_struct.persistence import load, save


@pytest.mark.parametrize("name", CASES)
def test_a_fit_on_partitions_is_that_on_all_data(name):
    estimator, X, y, weight = data_of(name)
    whole = fit(clone(estimator), X, y, weight)
    expected = model_of(whole)
    for n_parts in (1, 3, 8):
        fitted = fit_partitions(estimator, in_memory(n_parts, X, y, weight))
        model = model_of(fitted)
        np.testing.assert_array_equal(model.classes_, expected.classes_)
        assert_same_pattern(model._pattern, expected._pattern)
        if expected.__dict__.get("_names_in") is not None:
            np.testing.assert_array_equal(model.feature_names_in_, expected.feature_names_in_)
        assert model.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-10)
        np.testing.assert_allclose(model._w, expected._w, atol=1e-4)
        # nothing is missing of what a fit learns
        assert set(vars(model)) == set(vars(expected))
        # of two labels that are all but equally good, rounding decides which one is predicted
        for found, wanted in zip(fitted.predict_proba(X), whole.predict_proba(X), strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_a_loss_that_is_not_convex_has_the_same_objective():
    X, y = sentences()
    for n_parts in (1, 3):
        options = {"loss": "pointwise", "class_weight": "balanced", "max_iter": 3}
        estimator = LinearChainCRF(solver="gradient", verbose=0, **options)
        with pytest.warns(match="max_iter=3"):
            expected = clone(estimator).fit(as_lists(X), y)
        with pytest.warns(match="max_iter=3"):
            model = fit_partitions(estimator, in_memory(n_parts, as_lists(X), y))
        np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=1e-12)
        np.testing.assert_allclose(model._w, expected._w, rtol=1e-9, atol=1e-12)


def test_weights_of_tokens():
    X, y = sentences()
    weight = [np.random.default_rng(i).uniform(size=len(x)) for i, x in enumerate(X)]
    estimator = LinearChainCRF(loss="pointwise", max_iter=3, solver="gradient")
    with pytest.warns(match="max_iter=3"):
        expected = clone(estimator).fit(as_lists(X), y, weight)
    with pytest.warns(match="max_iter=3"):
        model = fit_partitions(estimator, in_memory(4, as_lists(X), y, weight))
    np.testing.assert_allclose(model.loss_curve_, expected.loss_curve_, rtol=1e-12)


def test_rows_of_numbers_are_sequences_of_one_token():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X @ [1, -2, 0.5] > 0).astype(int)
    for class_weight in (None, "balanced", {0: 2.0}):
        estimator = LinearChainCRF(class_weight=class_weight, **TIGHT)
        expected = clone(estimator).fit(X, y)
        model = fit_partitions(estimator, in_memory(3, X, y))
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-4)
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_float32():
    X, y = sentences()
    estimator = make_pipeline(
        FeatureTemplates(TEMPLATES, dtype=np.float32), LinearChainCRF(dtype="float32", tol=1e-4)
    )
    expected = clone(estimator).fit(X, y)
    model = fit_partitions(estimator, in_memory(3, X, y))
    assert model[-1].loss_curve_[-1] == pytest.approx(expected[-1].loss_curve_[-1], rel=1e-4)


def test_a_fit_begins_at_the_weights_of_another():
    X, y = sentences()
    first = fit_partitions(LinearChainCRF(**TIGHT), in_memory(3, as_lists(X), y))
    again = fit_partitions(LinearChainCRF(**TIGHT), in_memory(2, as_lists(X), y), init=first)
    assert again.n_iter_ <= 1 < first.n_iter_


def test_partitions_may_be_empty():
    X, y = sentences(20)
    expected = LinearChainCRF(**TIGHT).fit(as_lists(X) + [[]] * 3, y + [[]] * 3)
    parts = [
        Partition([], []),
        Partition(as_lists(X)[:9], y[:9]),
        Partition([[], [], []], [[], [], []]),
        Partition(as_lists(X)[9:], y[9:]),
    ]
    model = fit_partitions(LinearChainCRF(**TIGHT), InMemory(parts))
    assert model.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-8)
    np.testing.assert_allclose(model._w, expected._w, atol=1e-4)


def test_nothing_given_is_changed():
    X, y = sentences(20)
    estimator = clone(TEMPLATED)
    before = estimator.get_params()
    fitted = fit_partitions(estimator, in_memory(3, X, y))
    assert estimator.get_params() == before
    assert not hasattr(estimator[-1], "classes_")
    assert list(fitted.named_steps) == list(estimator.named_steps)


def test_what_cannot_be_fitted_on_partitions():
    X, y = sentences(20)
    shards = in_memory(2, as_lists(X), y)
    with pytest.raises(InputTypeError, match="LatentChainCRF cannot be fitted on partitions"):
        fit_partitions(LatentChainCRF(), shards)
    with pytest.raises(InputTypeError, match="and no TokenTransformer: apply that to each"):
        fit_partitions(make_pipeline(TokenTransformer(StandardScaler()), LinearChainCRF()), shards)


def test_data_that_teach_nothing():
    X, y = sentences(20)
    X = as_lists(X)
    with pytest.raises(EmptyDataError, match="there are no partitions"):
        fit_partitions(LinearChainCRF(), InMemory([]))
    with pytest.raises(EmptyDataError, match="no partition of X has tokens"):
        fit_partitions(LinearChainCRF(), in_memory(2, [[], []], [[], []]))
    with pytest.raises(EmptyDataError, match="y has no labels"):
        fit_partitions(LinearChainCRF(), in_memory(2, X, [None] * len(X)))
    with pytest.raises(EmptyDataError, match="no sequence has a positive weight"):
        fit_partitions(LinearChainCRF(), in_memory(2, X, y, np.zeros(len(X))))


def test_partitions_must_be_of_one_form():
    X, y = sentences(20)
    parts = [*cut(1, as_lists(X), y), Partition(rows(X), y)]
    with pytest.raises(InputTypeError, match=r"several forms \(arrays, attributes\)"):
        fit_partitions(LinearChainCRF(), InMemory(parts))
    parts = [Partition([np.ones((2, n))], [["a", "b"]]) for n in (2, 3)]
    with pytest.raises(LengthMismatchError, match="have 2 features, and those of another 3"):
        fit_partitions(LinearChainCRF(), InMemory(parts))
    parts = [
        Partition(SequenceArray(np.ones((2, 2)), [0, 2], names), [["a", "b"]])
        for names in (["a", "b"], ["b", "a"])
    ]
    with pytest.raises(ValueError, match="feature names of X are not those"):
        fit_partitions(LinearChainCRF(), InMemory(parts))


def test_errors_say_in_which_partition():
    X, y = sentences(20)
    y[13] = [float("nan")] * len(y[13])
    with pytest.raises(UnknownLabelError, match=r"y\[3\], token 0") as error:
        fit_partitions(LinearChainCRF(), in_memory(2, as_lists(X), y))
    assert error.value.__notes__ == ["in partition 1"]
    with pytest.raises(InputTypeError, match="a partition of X is a int"):
        fit_partitions(LinearChainCRF(), InMemory([Partition(3, [])]))


@pytest.mark.parametrize("name", ["templates", "dicts", "rare", "dense"])
def test_what_was_fitted_is_saved_and_goes_on_as_any_other(name, tmp_path):
    pytest.importorskip("safetensors")
    estimator, X, y, _ = data_of(name)
    fitted = fit_partitions(estimator, in_memory(3, X, y))
    save(fitted, tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    assert list(loaded.predict(X)) == list(fitted.predict(X))
    copy = pickle.loads(pickle.dumps(fitted))
    assert list(copy.predict(X)) == list(fitted.predict(X))
    # from these weights nothing is left to do
    model = model_of(fitted)
    tokens = fitted[:-1].transform(X) if hasattr(fitted, "steps") else X
    again = clone(model).fit(tokens, y, init=model)
    assert again.n_iter_ <= 1
