"""First and last tokens far from all labels, beside sums of probabilities alone."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from sklearn_struct import HMM
from sklearn_struct.containers.structures import chain
from sklearn_struct.hidden_markov.far_ends import lower_far_ends

pytestmark = pytest.mark.twins
START = np.array([0.3, 0.7])
TRANSITION = np.array([[0.7, 0.1], [0.2, 0.5]])
STOP = np.array([0.2, 0.3])


def model(stop):
    """Both labels emit the same, so that the chain alone tells them apart."""
    rows = TRANSITION if stop else TRANSITION / TRANSITION.sum(axis=1, keepdims=True)
    return HMM.from_parameters(
        ["A", "B"],
        start=START,
        transition=rows,
        stop=STOP if stop else None,
        means=[[0.0], [0.0]],
        covariances=[[1.0], [1.0]],
    ), rows


def enumerated(n, rows, stop):
    """Probabilities of labels, of all labellings of n tokens one by one."""
    proba = np.zeros((n, 2))
    for labels in product(range(2), repeat=n):
        p = START[labels[0]] * (STOP[labels[-1]] if stop else 1.0)
        p *= np.prod([rows[a, b] for a, b in pairwise(labels)])
        proba[np.arange(n), labels] += p
    return proba / proba.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("far", [0.0, 1e2, 1e4, 1e7, 1e10])
def test_an_outlier_at_an_end_does_not_hide_the_chain(stop, far):
    hmm, rows = model(stop)
    for numbers in ([far], [far, 0.5], [0.5, far], [far, 0.1, -far], [0.1, far, 0.3]):
        X = [np.reshape(numbers, (-1, 1)), np.zeros((0, 1)), np.ones((2, 1))]
        proba = hmm.predict_proba(X)
        expected = enumerated(len(numbers), rows, stop)
        np.testing.assert_allclose(proba[0], expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(proba[2], enumerated(2, rows, stop), rtol=0, atol=1e-14)


def test_only_far_ends_are_lowered():
    scores = np.array([[-5e13, -5e13 + 2], [-9e9, -8e9], [-2.0, -3.0], [-5e5, -np.inf]])
    scores = np.vstack([scores, [[-np.inf, -np.inf], [0.5, -1e9]]])
    given = scores.copy()
    lower_far_ends(scores, chain(np.array([0, 3, 3, 5, 6]), 1))
    np.testing.assert_array_equal(scores[0], [-2, 0])
    np.testing.assert_array_equal(scores[3], [0, -np.inf])
    np.testing.assert_array_equal(scores[[1, 2, 4, 5]], given[[1, 2, 4, 5]])
    nothing = np.empty((0, 2))
    lower_far_ends(nothing, chain(np.array([0, 0]), 1))
    assert nothing.shape == (0, 2)
