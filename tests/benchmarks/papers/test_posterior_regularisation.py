"""Posterior regularisation, against the enumeration of all labellings."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from sklearn_struct import SequenceVectorizer

TEXTS = [["a", "b"], ["b", "c", "a"], ["c"], ["a", "a"]]
LABELS = [["X", "Y"], None, None, None]
LABELED = {"a": "X", "c": "Y"}
SHARE = 0.8


def model(**options):
    from papers.posterior_regularisation import PosteriorRegularisedCRF

    return PosteriorRegularisedCRF(LABELED, share=SHARE, **options)


def data():
    X = SequenceVectorizer().fit_transform(TEXTS)
    given = model()
    given.classes_ = ["X", "Y"]
    return X, given._data(X, LABELS)


def distribution(given, w):
    """All labellings of all texts that known labels allow, and their probabilities under p."""
    W = given.potentials.expand(w)
    [block] = given.blocks
    theta = given.potentials.forward(W, block)
    labellings = []
    scores = []
    for codes in product(range(2), repeat=len(given.known)):
        codes = np.array(codes, np.int32)
        labellings.append(codes)
        scores.append(given.chain.scores(theta, block.structure, codes).sum())
    scores = np.array(scores)
    return np.array(labellings), np.exp(scores - np.logaddexp.reduce(scores))


def counts(given, labellings):
    fires = given.fires.toarray()
    return np.array([(labellings == k) @ fires[:, m] for m, k in enumerate(given.labels)], float).T


def test_the_nearest_distribution_is_that_of_an_enumeration():
    _, given = data()
    w = np.random.RandomState(0).normal(size=given.potentials.size)
    labellings, p = distribution(given, w)
    allowed = np.all((given.known < 0) | (labellings == given.known), axis=1)
    of_features = counts(given, labellings)[allowed]
    bound = SHARE * np.asarray(given.fires.sum(axis=0)).ravel()
    multipliers = given.nearest(w, np.zeros(2), SHARE)

    # the dual of the same problem, over whole labellings
    def dual(m):
        return np.log(p[allowed] @ np.exp(of_features @ m)) - m @ bound

    best = minimize(dual, np.zeros(2), bounds=[(0, 20)] * 2)
    np.testing.assert_allclose(multipliers, best.x, atol=1e-3)
    assert np.max(multipliers) > 0.1
    q = p[allowed] * np.exp(of_features @ multipliers)
    q /= q.sum()
    assert np.all(q @ of_features > bound - 1e-3)
    expected = given.expected(w, given.rewards(multipliers)).node
    marginal = np.array([q @ (labellings[allowed] == k) for k in range(2)]).T
    np.testing.assert_allclose(expected, marginal, atol=1e-8)
    # log-likelihood of what is known less the divergence
    kl = q @ np.log(q / p[allowed])
    assert given.objective(w, SHARE) == pytest.approx(-kl, abs=1e-4)


def test_gradients():
    from papers.posterior_regularisation import Fitted

    _, given = data()
    w = np.random.RandomState(1).normal(size=given.potentials.size)
    target = given.expected(np.zeros_like(w), given.rewards(np.ones(2))).features
    fitted = Fitted(given, target)
    assert (
        check_grad(lambda v: fitted.value_and_grad(v)[0], lambda v: fitted.value_and_grad(v)[1], w)
        < 1e-5
    )
    assert (
        check_grad(
            lambda m: given.dual(w, m, SHARE)[0], lambda m: given.dual(w, m, SHARE)[1], np.ones(2)
        )
        < 1e-4
    )


def test_rounds_never_make_it_worse_and_constraints_teach():
    X, _ = data()
    fitted = model(C=10.0, n_rounds=6).fit(X, LABELS, ["Y", "X"])
    steps = np.diff(fitted.objective_)
    assert np.all(steps > -1e-4)
    assert steps[0] > 1e-3
    assert fitted.predict(X) == [["X", "Y"], ["Y", "Y", "X"], ["Y"], ["X", "X"]]
    assert set(fitted.multipliers_) == set(LABELED)
