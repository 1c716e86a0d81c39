"""Weights as data frames."""

from __future__ import annotations

import sys

import fitted
import fitted_graphs
import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_struct import LinearChainCRF
from sklearn_struct.exceptions import InputTypeError, UnknownLabelError
from sklearn_struct.inspection import feature_weights, transition_weights


def model_of(estimator):
    return estimator[-1] if hasattr(estimator, "steps") else estimator


@pytest.mark.parametrize("kind", fitted.KINDS)
def test_all_weights_are_those_of_coef(kind):
    estimator = fitted.case(kind).estimator
    frame = feature_weights(estimator, n=None)
    model = model_of(estimator)
    names = getattr(model, "feature_names_in_", np.array(["x0", "x1", "x2"])).tolist()
    coef = model.coef_.toarray() if sp.issparse(model.coef_) else model.coef_
    found = np.zeros(coef.shape)
    for label, feature, weight in frame.itertuples(index=False):
        found[fitted.LABELS.index(label), names.index(feature)] = weight
    np.testing.assert_array_equal(found, coef)
    assert len(frame) == np.count_nonzero(coef)


@pytest.mark.parametrize("kind", ["attributes edges", "numbers edges"])
def test_weights_of_edge_features(kind):
    model = fitted.case(kind).estimator
    frame = feature_weights(model, n=None, transitions=True)
    assert list(frame.columns) == ["previous", "label", "feature", "weight"]
    edge_coef = model.edge_coef_.toarray() if sp.issparse(model.edge_coef_) else model.edge_coef_
    names = getattr(model, "feature_names_in_", np.array(["x0", "x1", "x2"]))[
        model.edge_features_
    ].tolist()
    found = np.zeros(edge_coef.shape)
    for previous, label, feature, weight in frame.itertuples(index=False):
        found[
            fitted.LABELS.index(previous) * 3 + fitted.LABELS.index(label), names.index(feature)
        ] = weight
    np.testing.assert_array_equal(found, edge_coef)


def test_without_edge_features_there_are_none_of_their_weights():
    frame = feature_weights(fitted.case("strings").estimator, transitions=True)
    assert len(frame) == 0
    assert list(frame.columns) == ["previous", "label", "feature", "weight"]


@pytest.fixture
def known():
    """A model of two labels with weights set by hand."""
    model = LinearChainCRF().fit([np.ones((2, 4))], [["a", "b"]])
    model._w[:] = 0.0
    model._w[:8] = np.array([[3.0, -5.0, 0.0, 1.0], [-3.0, 4.0, 0.0, -1.0]]).T.ravel()
    return model


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"n": 2}, [("a", "x0", 3), ("a", "x1", -5), ("b", "x1", 4), ("b", "x0", -3)]),
        ({"n": 1, "sign": "positive"}, [("a", "x0", 3), ("b", "x1", 4)]),
        ({"n": None, "sign": "negative"}, [("a", "x1", -5), ("b", "x3", -1), ("b", "x0", -3)]),
        ({"n": 1, "labels": ["b"]}, [("b", "x1", 4)]),
        ({"n": 1, "labels": np.array(["b", "a"])}, [("b", "x1", 4), ("a", "x1", -5)]),
    ],
)
def test_the_largest(known, options, expected):
    assert list(feature_weights(known, **options).itertuples(index=False, name=None)) == expected


@pytest.mark.parametrize(
    "options", [{"n": 0}, {"n": 1.5}, {"sign": "+"}, {"labels": 3}, {"transitions": "yes"}]
)
def test_parameters_are_checked(known, options):
    with pytest.raises(
        ValueError, match=f"The '{next(iter(options))}' parameter of feature_weights"
    ):
        feature_weights(known, **options)


def test_unknown_label_and_no_chain(known):
    with pytest.raises(UnknownLabelError, match="labels: 'c' was not seen in fit"):
        feature_weights(known, labels=["a", "c"])
    with pytest.raises(InputTypeError, match="got str"):
        transition_weights("crf")


@pytest.mark.parametrize("kind", ["attributes", "rows", "pipeline"])
def test_transitions(kind):
    estimator = fitted.case(kind).estimator
    frame = transition_weights(estimator)
    model = model_of(estimator)
    assert frame.index.tolist() == frame.columns.tolist() == model.classes_.tolist()
    assert (frame.index.name, frame.columns.name) == ("label", "next")
    np.testing.assert_array_equal(frame.to_numpy(), model.transition_)


def test_without_pandas(known, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for table in (feature_weights, transition_weights):
        with pytest.raises(ImportError, match=f"{table.__name__} needs pandas"):
            table(known)


def test_weights_of_graphs():
    model = fitted_graphs.case("strings").estimator
    coef = model.coef_.toarray()
    frame = feature_weights(model, n=None)
    assert len(frame) == np.count_nonzero(coef)
    for label, feature, weight in frame.itertuples(index=False):
        f = model.feature_names_in_.tolist().index(feature)
        assert coef[fitted.LABELS.index(label), f] == weight
    edges = feature_weights(model, n=None, transitions=True)
    names = model.edge_vectorizer_.get_feature_names_out().tolist()
    edge_coef = model.edge_coef_.toarray()
    assert len(edges) == np.count_nonzero(edge_coef) > 0
    for first, second, feature, weight in edges.itertuples(index=False):
        row = fitted.LABELS.index(first) * 3 + fitted.LABELS.index(second)
        assert edge_coef[row, names.index(feature)] == weight
    table = transition_weights(model)
    np.testing.assert_array_equal(table.to_numpy(), model.transition_)
    assert (table.index.name, table.columns.name) == ("first", "second")
    numbers = fitted_graphs.case("numbers").estimator
    assert set(feature_weights(numbers, transitions=True)["feature"]) == {"z0", "z1"}
