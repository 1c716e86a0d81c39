"""Encodings side by side: words beside embeddings."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import set_config
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_struct import (
    FeatureTemplates,
    LinearChainCRF,
    SequenceArray,
    SequenceUnion,
    SequenceVectorizer,
)
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

X = [["a", "b", "a"], [], ["c"], ["b", "c"]]
Y = [["A", "B", "A"], [], ["B"], ["B", "A"]]
VECTORS = {"a": [0.1, 0.9], "b": [0.5, 0.2], "c": [0.0, -1.0]}


def embed(X):
    return [np.array([VECTORS[word] for word in words]).reshape(-1, 2) for words in X]


def union():
    return SequenceUnion([("word", SequenceVectorizer()), ("vector", FunctionTransformer(embed))])


def test_features_side_by_side():
    found = union().fit_transform(X)
    assert sp.issparse(found.tokens)
    np.testing.assert_array_equal(found.lengths, [3, 0, 1, 2])
    expected = [[word == name for name in "abc"] + VECTORS[word] for words in X for word in words]
    np.testing.assert_array_equal(found.tokens.toarray(), np.array(expected, dtype=float))
    assert found.feature_names.tolist() == [
        "word__a",
        "word__b",
        "word__c",
        "vector__0",
        "vector__1",
    ]


@pytest.mark.parametrize("container", [list, tuple, iter, object_array])
def test_forms_of_X(container):
    model = union()
    assert model.fit_transform(container(X)) == union().fit(container(X)).transform(container(X))


def test_dense_stays_dense():
    both = SequenceUnion([("one", FunctionTransformer(embed)), ("two", FunctionTransformer(embed))])
    found = both.fit_transform(X)
    np.testing.assert_array_equal(found.tokens, np.hstack([np.vstack(embed(X))] * 2))


def test_passthrough_and_drop():
    numbers = embed(X)
    both = SequenceUnion(
        [("none", "drop"), ("same", "passthrough"), ("twice", FunctionTransformer(twice))]
    )
    found = both.fit_transform(numbers)
    np.testing.assert_array_equal(
        found.tokens, np.hstack([np.vstack(numbers), 2 * np.vstack(numbers)])
    )
    assert found.feature_names.tolist() == ["same__0", "same__1", "twice__0", "twice__1"]


def twice(X):
    return [2 * tokens for tokens in X]


def test_in_a_model():
    crf = LinearChainCRF(C=10, edge_features=[re.compile("vector__.*")])
    model = Pipeline([("features", union()), ("crf", crf)]).fit(X, Y)
    assert model.predict(X).tolist() == Y
    assert (
        model["crf"].feature_names_in_.tolist() == union().fit_transform(X).feature_names.tolist()
    )
    assert model["crf"].edge_features_.tolist() == [3, 4]
    assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == Y
    search = GridSearchCV(
        model, {"features__word__min_frequency": [1, 2], "crf__C": [1.0]}, cv=2
    ).fit(X, Y)
    assert search.best_estimator_.predict(X).shape == (4,)


def test_names_are_compared_unspelt(monkeypatch):
    """Prediction asks whether names are those of fit, which need not be spelt out for it."""
    templates = FeatureTemplates(["w:%x[0,0]"])
    both = SequenceUnion(
        [("w", templates), ("v", FunctionTransformer(lambda X: [np.ones((len(s), 1)) for s in X]))]
    )
    rows = [[(word,) for word in words] for words in X]
    model = LinearChainCRF().fit(both.fit_transform(rows), Y)
    expected = model.predict(both.transform(rows)).tolist()
    monkeypatch.setattr(
        "sklearn_struct.encoding.features.union._Names.__call__",
        lambda names: pytest.fail("spelt out"),
    )
    assert model.predict(both.transform(rows)).tolist() == expected


def test_names_of_other_features_differ():
    model = LinearChainCRF().fit(union().fit_transform(X), Y)
    model.predict(union().fit_transform(X))
    other = SequenceUnion([("w", SequenceVectorizer()), ("vector", FunctionTransformer(embed))])
    for found in (other.fit_transform(X), union().fit_transform([["b", "a", "c"]])):
        with pytest.raises(ValueError, match="names of X are not those"):
            model.predict(found)
    names = union().fit_transform(X).names
    assert names == copy.deepcopy(names)
    assert names != union().fit_transform(X[:1]).names


def test_a_matter_of_configuration():
    """A SequenceArray is no data frame, whatever output is asked for."""
    set_config(transform_output="pandas")
    try:
        both = SequenceUnion([("one", SequenceVectorizer()), ("two", SequenceVectorizer())])
        assert isinstance(both.fit(X).transform(X), SequenceArray)
    finally:
        set_config(transform_output="default")


def test_parameters():
    model = clone(union()).set_params(word__min_frequency=2)
    assert model.fit_transform(X).shape == (4,)
    assert model.get_params()["word__min_frequency"] == 2
    assert {"transformer_list", "n_jobs", "verbose"} <= set(model.get_params())


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (
            lambda X: [np.ones((len(s) + (i == 2), 1)) for i, s in enumerate(X)],
            r"X\[2\]: 'word' gives 1 tokens but 'v' 2",
        ),
        (lambda X: [np.ones((len(s), 1)) for s in X[1:]], "'word' gives 4 sequences but 'v' 3"),
    ],
)
def test_transformers_that_disagree(wrong, match):
    model = SequenceUnion([("word", SequenceVectorizer()), ("v", FunctionTransformer(wrong))])
    with pytest.raises(LengthMismatchError, match=match):
        model.fit_transform(X)


@pytest.mark.parametrize("broken", ["too long", "an error"])
def test_a_failed_fit_changes_nothing(broken):
    state = "whole"

    def embed(X):
        if state == "an error":
            raise RuntimeError("broken")
        return [np.ones((len(words) + (state == "too long"), 1)) for words in X]

    union = SequenceUnion([("word", SequenceVectorizer()), ("vector", FunctionTransformer(embed))])
    X = [["a", "b"], ["c"]]
    before = union.fit_transform(X)
    steps = list(union.transformer_list)
    state = broken
    with pytest.raises((LengthMismatchError, RuntimeError)):
        union.fit_transform([["q", "r"]])
    assert union.transformer_list == steps
    state = "whole"
    assert union.transform(X) == before


@pytest.mark.parametrize(
    ("steps", "match"),
    [
        ([], "transformer_list has no transformer"),
        ([("a", "drop")], "transformer_list has no transformer"),
        ([("a",)], "must be a list of pairs"),
        (
            [("a", FunctionTransformer(lambda X: None))],
            "'a' must give a SequenceArray or a list of matrices",
        ),
    ],
    ids=["empty", "dropped", "no pair", "None"],
)
def test_unions_of_nothing(steps, match):
    with pytest.raises((TypeError, ValueError), match=match):
        SequenceUnion(steps).fit_transform([["a"]])


@pytest.mark.parametrize("n_jobs", [0, 2**54, -(2**54), 1025, 1.5])
def test_numbers_of_jobs_for_which_there_are_no_processes(n_jobs):
    union = SequenceUnion([("a", SequenceVectorizer())]).fit([["x"]])
    with pytest.raises(ValueError, match="The 'n_jobs' parameter of SequenceUnion"):
        union.set_params(n_jobs=n_jobs).transform([["x"]])


@pytest.mark.parametrize("nothing", [(), [], [("a", "drop")]])
def test_no_transformer_is_left_after_fit(nothing):
    model = union().fit([["x"]]).set_params(transformer_list=nothing)
    for method in (lambda: model.transform([["x"]]), model.get_feature_names_out):
        with pytest.raises(ValueError, match="transformer_list has no transformer"):
            method()


@pytest.mark.parametrize(
    "wrong",
    [
        [[["a"]]],
        [("a",)],
        1.0,
        [1.0],
        SequenceVectorizer(),
        [("a", np.eye(2))],
        [("a", pd.DataFrame())],
    ],
)
def test_lists_that_are_none_of_pairs_are_refused_before_anything_is_changed(wrong):
    model = union()
    before = model.transformer_list
    with pytest.raises(InputTypeError, match="list of pairs"):
        model.set_params(transformer_list=wrong)
    assert model.transformer_list is before
