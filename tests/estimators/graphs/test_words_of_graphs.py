"""Errors speak of nodes and graphs, also where readers of sequences raise them."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import GraphCRF, LinearChainCRF
from sklearn_struct.estimators.graphs.words_of_graphs import in_words_of_graphs, of_graphs
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    NonFiniteError,
    UnknownLabelError,
)

X = [(np.ones((3, 2)), [[0, 1]]), (np.ones((2, 2)), [])]
Y = [["a", "b", "a"], ["a", "b"]]


def nodes(*values):
    """Two graphs, the second one with nodes of these values."""
    return [X[0], (np.array(values), [])]


def fit(X=X, y=Y, **options):
    return GraphCRF().fit(X, y, **options)


CASES = [
    (lambda: fit([], []), EmptyDataError, "X has no graphs"),
    (lambda: fit(y=Y[:1]), LengthMismatchError, "X has 2 graphs but y has 1"),
    (lambda: fit(y=[["a"], Y[1]]), LengthMismatchError, r"X\[0\] has 3 nodes but y\[0\] has 1"),
    (
        lambda: fit(y="ab"),
        InputTypeError,
        "y must be a list of lists of labels",
    ),
    (lambda: fit(y=["aba", "ab"]), InputTypeError, r"y\[0\] must be a list of labels, got str"),
    (lambda: fit(nodes([1, 2], [1, np.nan])), NonFiniteError, r"X\[1\], node 1, feature 1: not"),
    (lambda: fit(nodes([1, 2], [1, 1e80])), NonFiniteError, r"X\[1\], node 1, feature 1: 1e\+80"),
    (lambda: fit([(np.zeros((0, 2)), [])], [[]]), EmptyDataError, "X has no nodes"),
    (lambda: fit(y=[["a", np.nan, "b"], Y[1]]), UnknownLabelError, r"y\[0\], node 1: the label is"),
    (lambda: fit(sample_weight=[[1, 1, 1], [1, 1]]), ValueError, "for each node .* a whole$"),
    (
        lambda: fit(y=[None, ["a", "b"]], sample_weight=[1, 0]),
        EmptyDataError,
        "no graph with labels",
    ),
    (lambda: fit(init=5), InputTypeError, "a fitted chain estimator or GraphCRF; this int has"),
    (lambda: fit(5), InputTypeError, "X must be a list of graphs.*, got int"),
    (lambda: fit([np.ones((3, 2))], Y[:1]), InputTypeError, "X must be a list of graphs.* nodes$"),
    (lambda: fit([(["w"] * 3, []), X[1]]), InputTypeError, r"X\[1\]: nodes cannot be read as"),
    (lambda: fit([([{"f": 1}, {"f": len}], [])], [["a", "b"]]), InputTypeError, r"X\[0\], node 1"),
    (
        lambda: fit([(*X[0], [[np.inf]]), (*X[1], np.zeros((0, 1)))]),
        NonFiniteError,
        r"features of edges: X\[0\], edge 0, feature 0: not finite",
    ),
    (
        lambda: fit().predict(np.ones((3, 2))),
        InputTypeError,
        r"a graph of one node in each row, but GraphCRF was fitted on larger graphs; one graph is",
    ),
    (
        lambda: fit().log_proba(X, [["z"] * 3, Y[1]]),
        UnknownLabelError,
        r"y\[0\], node 0: label 'z'",
    ),
    (
        lambda: fit().score(X, [[None] * 3, [None] * 2]),
        EmptyDataError,
        "no nodes of positive weight",
    ),
    (
        lambda: fit().score(X, Y, sample_weight=[[1, 1], [1, 1]]),
        LengthMismatchError,
        r"X\[0\] has 3 nodes but sample_weight\[0\] has 2",
    ),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "error", "message"), CASES)
def test_errors_speak_of_graphs(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "token" not in str(caught.value)
    assert "sequence" not in str(caught.value)


def test_scores_that_are_too_large():
    crf = fit(nodes([1, 2], [2, -3]))
    crf._w = crf._w * 1e200
    crf._prepared = type(crf._prepared)()
    with pytest.raises(NonFiniteError, match=r"X\[1\], node 1: the score of the label"):
        crf.predict(nodes([1, 1], [1e200, 1e200]))


def test_what_users_call_so_stays():
    assert of_graphs("X[0], token 1, feature 'token'") == "X[0], node 1, feature 'token'"
    assert of_graphs('label "sequence" of sequences') == 'label "sequence" of graphs'
    assert of_graphs("the token's 'a', tokens", "edge") == "the edge's 'a', edges"
    assert of_graphs("subsequences, tokenised") == "subsequences, tokenised"
    y = [["token", "sequence", "a"], ["a", "a"]]
    with pytest.raises(UnknownLabelError, match="label 'token' was not seen in fit"):
        fit().log_proba(X, y)


def test_other_errors_pass():
    for error in (KeyError("token"), ValueError(3), ValueError(), KeyboardInterrupt("token")):
        with pytest.raises(type(error)) as caught, in_words_of_graphs():
            raise error
        assert caught.value is error
    assert str(KeyError("token")) == "'token'"


def test_sequences_are_sequences():
    with pytest.raises(NonFiniteError, match=r"X\[0\], token 0"):
        LinearChainCRF().fit([[[np.nan]]], [["a"]])
