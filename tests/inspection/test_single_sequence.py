"""One sequence is the same whether it stands by itself or in a batch, as `predict` takes it."""

from __future__ import annotations

import fitted
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from nltk.tree import Tree
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline

from sklearn_struct import (
    PCFG,
    LinearChainCRF,
    MEstimatedCRF,
    PrototypeFeatures,
    SequenceArray,
    SequenceUnion,
    SequenceVectorizer,
)
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.exceptions import LengthMismatchError
from sklearn_struct.inspection import MarginalDisplay, TreeDisplay, explain
from sklearn_struct.persistence import load, save

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


KINDS = """attributes, strings, numbers, sparse, float32, pipeline, base"""
STRINGS = [["the", "cat", "barks"], ["a", "dog"]]
LISTS = [[["the", "first"], ["cat"], ["barks", "last", "long"]], [["a"], ["dog", "last"]]]
LABELS = [["D", "N", "V"], ["D", "N"]]


def batches(x):
    """The sequence in all forms of a batch of one."""
    yield [x]
    yield (x,)
    yield iter([x])
    yield object_array([x])
    yield pd.Series([x])
    if isinstance(x, np.ndarray):
        yield x[None]
        yield SequenceArray.from_sequences([x])


@pytest.mark.parametrize("kind", KINDS.split(", "))
def test_every_form_of_a_batch_of_one(kind):
    estimator, x, y = fitted.case(kind)
    alone = explain(estimator, x, y)
    for batch in batches(x):
        assert str(explain(estimator, batch, y)) == str(alone)
    for labels in ([y], object_array([y]), iter([y]), [tuple(y)]):
        assert str(explain(estimator, [x], labels)) == str(alone)
    predicted = estimator.predict([x])
    with_rival = explain(estimator, x, predicted[0], rival=y)
    assert str(explain(estimator, [x], predicted, rival=[y])) == str(with_rival)
    display = MarginalDisplay.from_estimator(
        estimator, [x], [y], tokens=[[str(t) for t in range(len(y))]]
    )
    np.testing.assert_array_equal(display.proba, MarginalDisplay.from_estimator(estimator, x).proba)
    assert display.tokens == [str(t) for t in range(len(y))]
    for wrong in ([x, x], []):
        with pytest.raises(LengthMismatchError, match=r"must be one sequence, got 2|but y"):
            explain(estimator, wrong, y)


def models(X):
    """Models of which the first, or a part of the first, has seen how tokens of X are written."""
    yield LinearChainCRF().fit(X, LABELS)
    yield make_pipeline("passthrough", SequenceVectorizer(), LinearChainCRF()).fit(X, LABELS)
    both = SequenceUnion(
        [("words", PrototypeFeatures(["the"], column=0)), ("all", SequenceVectorizer())]
    )
    yield make_pipeline(both, LinearChainCRF()).fit(X, LABELS)


def test_lists_of_strings_are_what_fit_saw(tmp_path):
    """[["the", "cat", "barks"]] is a sequence of three tokens, or one token of three attributes."""
    for of_strings, of_lists in zip(models(STRINGS), models(LISTS), strict=True):
        assert len(explain(of_strings, STRINGS[:1]).labels) == 3
        assert str(explain(of_strings, STRINGS[:1])) == str(explain(of_strings, STRINGS[0]))
        with pytest.raises(LengthMismatchError, match="x must be one sequence, got 2"):
            explain(of_strings, STRINGS)
        assert len(explain(of_lists, STRINGS[:1]).labels) == 1
        assert len(explain(of_lists, LISTS[0]).labels) == 3
        assert str(explain(of_lists, LISTS[:1])) == str(explain(of_lists, LISTS[0]))
    crf = LinearChainCRF().fit(STRINGS, LABELS)
    save(crf, tmp_path / "model")
    assert len(explain(load(tmp_path / "model"), STRINGS[:1]).labels) == 3


def test_predictions_warn_of_tokens_where_sequences_should_be():
    crf = LinearChainCRF().fit(LISTS, LABELS)
    with pytest.warns(
        UserWarning, match=r"strings, those that fit saw are lists.*one sequence of them is \[X\]"
    ):
        assert len(crf.predict(LISTS[0])) == 3
    assert len(crf.predict(LISTS[:1])) == 1
    mixed = LinearChainCRF().fit([*LISTS, *STRINGS], LABELS * 2)
    assert [len(labels) for labels in mixed.predict([*STRINGS, *LISTS])] == [3, 2, 3, 2]


def test_symbols_of_a_base_are_tokens():
    model = MEstimatedCRF().fit([[1, 2, 3], [3, 1]], LABELS)
    for x in ([1, 2, 3], [[1, 2, 3]], [np.array([1, 2, 3])]):
        assert len(explain(model, x).labels) == 3


def test_labels_that_are_tuples():
    y = [[("A", 1), ("B", 2)], [("A", 1)]]
    crf = LinearChainCRF().fit([["a", "b"], ["a"]], y)
    for labels in (y[1], y[1:], object_array([y[1]])):
        assert explain(crf, ["a"], labels).labels == [("A", 1)]
    assert explain(crf, [["a", "b"]], [y[0]]).labels == y[0]


def test_numbers_in_lists_and_matrices():
    X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 1.0]])]
    crf = LinearChainCRF().fit(X, [["A", "B"], ["A"]])
    for x in (X[0], X[0].tolist(), sp.csr_array(X[0]), pd.DataFrame(X[0]), pl.DataFrame(X[0])):
        for batch in (x, [x]):
            assert explain(crf, batch).token_scores.shape == (2,)
    rows = LinearChainCRF().fit(np.eye(2), ["A", "B"])
    for x, y in (
        (np.eye(2)[0], "A"),
        (np.eye(2)[:1], ["A"]),
        ([[1.0, 0.0]], ["A"]),
        (np.eye(2)[0], ["A"]),
    ):
        assert explain(rows, x, y).labels == ["A"]


class Words(TransformerMixin, BaseEstimator):
    """The words of tokens that are pairs."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return [[word for word, _ in sentence] for sentence in X]


def test_a_sentence_and_its_tree():
    sentence = ["the", "dog"]
    tree = "(NP (D the) (N dog))"
    parser = PCFG().fit([sentence], [tree])
    alone = TreeDisplay.from_estimator(parser, sentence)
    nltk_tree = Tree.fromstring(tree)
    for x in ([sentence], (sentence,), object_array([sentence]), iter([sentence])):
        assert TreeDisplay.from_estimator(parser, x).tree == alone.tree
    for y in (tree, [tree], nltk_tree, [nltk_tree], parser.predict([sentence])):
        display = TreeDisplay.from_estimator(parser, [sentence], y, tags=[["D", "N"]])
        np.testing.assert_array_equal(display.proba, alone.proba)
    with pytest.raises(LengthMismatchError, match="x must be one sequence, got 2"):
        TreeDisplay.from_estimator(parser, [sentence, sentence])
    with pytest.raises(LengthMismatchError, match="y must be one tree, got 2"):
        TreeDisplay.from_estimator(parser, sentence, [tree, tree])
    pairs = [["the", 1], ["dog", 2]]
    model = make_pipeline(Words(), parser).fit([pairs], [tree])
    for x in (pairs, [pairs]):
        assert TreeDisplay.from_estimator(model, x).tree == alone.tree
