"""Labellings of given scores, by enumeration, in all forms of scores."""

from __future__ import annotations

import naive
import numpy as np
import pytest
from scored_chains import CASES, NO_LABELLING, case, in_form

from sklearn_struct import potentials
from sklearn_struct.exceptions import ForbiddenLabelError


@pytest.mark.twins
@pytest.mark.parametrize("name", CASES)
def test_viterbi_is_the_best_of_all_labellings(name):
    given = case(name)
    labels, scores = potentials.viterbi(*given.arrays, **given.ends)
    assert labels.dtype == np.int32
    for i, twin in enumerate(given.twins()):
        y = tuple(labels[given.tokens(i)].tolist())
        assert scores[i] == pytest.approx(float(twin.scores.max()), rel=1e-5)
        assert float(twin.scores[twin.y.index(y)]) == pytest.approx(scores[i], rel=1e-5)


@pytest.mark.twins
@pytest.mark.parametrize("name", CASES)
def test_nbest_has_the_best_labellings_in_their_order(name):
    given = case(name)
    labels, scores = potentials.nbest(*given.arrays, n=4, **given.ends)
    for i, twin in enumerate(given.twins()):
        expected = twin.nbest(4).astype(float)
        np.testing.assert_allclose(scores[i, : len(expected)], expected, rtol=1e-5)
        assert np.all(scores[i, len(expected) :] == -np.inf)
        assert np.all(labels[given.tokens(i), len(expected) :] == -1)
        of_columns = labels[given.tokens(i), : len(expected)].T
        for y, score in zip(of_columns.tolist(), expected):
            assert float(twin.scores[twin.y.index(tuple(y))]) == pytest.approx(score, rel=1e-5)


@pytest.mark.twins
@pytest.mark.parametrize("name", CASES)
def test_samples_are_those_of_their_random_numbers(name):
    given = case(name)
    labels, scores = potentials.sample(*given.arrays, n_samples=2, random_state=3, **given.ends)
    uniform = np.random.RandomState(3).random_sample((2, len(labels)))
    for i, twin in enumerate(given.twins()):
        for r in range(2):
            y = tuple(labels[given.tokens(i), r].tolist())
            assert y == (twin.draw(uniform[r, given.tokens(i)]) if y else ())
            assert float(twin.scores[twin.y.index(y)]) == pytest.approx(scores[i, r], rel=1e-5)


@pytest.mark.parametrize("form", ["list", "padded", "SequenceArray"])
@pytest.mark.parametrize("name", ["shared", "tables"])
@pytest.mark.parametrize("function", ["viterbi", "nbest", "sample"])
def test_labels_have_the_form_of_the_scores(function, name, form):
    given = case(name)
    arguments = {"sample": {"random_state": 0}}.get(function, {})
    call = getattr(potentials, function)
    flat, scores = call(*given.arrays, **arguments)
    unary, pairwise, lengths = in_form(given, form)
    labels, same_scores = call(unary, pairwise, lengths, **arguments)
    np.testing.assert_array_equal(same_scores, scores)
    assert type(labels) is (np.ndarray if form == "padded" else type(unary))
    assert len(labels) == len(unary)
    for i, row in enumerate(labels):
        n = given.lengths[i]
        np.testing.assert_array_equal(row[:n], flat[given.tokens(i)])
        assert np.all(row[n:] == -1)


@pytest.mark.twins
@pytest.mark.parametrize("function", ["viterbi", "nbest", "sample", "marginals"])
@pytest.mark.parametrize("name", NO_LABELLING)
def test_a_sequence_without_a_labelling_is_named(name, function):
    arguments, place = NO_LABELLING[name]
    with pytest.raises(ForbiddenLabelError, match=f"sequence 1, token {place}: scores of -inf"):
        getattr(potentials, function)(**arguments)


@pytest.mark.parametrize("name", ["shared", "tables"])
@pytest.mark.parametrize("function", ["viterbi", "nbest", "sample"])
def test_threads_change_no_bit(function, name):
    given = case(name, n_sequences=700)
    arguments = {"sample": {"random_state": 0}}.get(function, {})
    call = getattr(potentials, function)
    labels, scores = call(*given.arrays, **arguments)
    threaded, same_scores = call(*given.arrays, n_jobs=3, **arguments)
    np.testing.assert_array_equal(labels, threaded)
    np.testing.assert_array_equal(scores, same_scores)


def test_without_lengths_an_array_is_one_sequence():
    unary = np.random.RandomState(0).randn(5, 3)
    labels, scores = potentials.viterbi(unary, np.eye(3))
    twin = naive.Chain(unary, np.eye(3).reshape(1, 9))
    assert tuple(labels.tolist()) == twin.y[int(np.argmax(twin.scores))]
    assert scores.shape == (1,)


def test_a_sequence_of_no_tokens_has_one_labelling_of_score_0():
    labels, scores = potentials.nbest(np.zeros((0, 3)), np.eye(3), [0, 0], n=2)
    assert labels.shape == (0, 2)
    np.testing.assert_array_equal(scores, [[0, -np.inf]] * 2)
    labels, scores = potentials.viterbi([], np.eye(3))
    assert labels == []
    assert scores.shape == (0,)
