"""Softmax-margin on the chunks of CoNLL-2000: its objective by enumeration, and what costs do."""

from __future__ import annotations

import numpy as np
import pytest
from naive import labellings
from real_data import real

from sklearn_struct import FeatureTemplates, LinearChainCRF, metrics
from sklearn_struct.datasets import fetch_conll2000

pytestmark = pytest.mark.corpus


def encoded(kind, n):
    """`n` sentences to learn from and 500 others, with chunks of one kind, or of all."""
    X, y = real(fetch_conll2000, chunks=kind, return_X_y=True)
    X_test, y_test = real(fetch_conll2000, subset="test", chunks=kind, return_X_y=True)
    templates = FeatureTemplates("chunking")
    X = templates.fit_transform(X[:n])
    return X, y[:n], templates.transform(X_test[:500]), y_test[:500]


def costs(miss, alarm):
    """Among the labels B, I and O of one kind: of O in the place of B or I, and the other way
    round.
    """
    cost = 1.0 - np.eye(3)
    cost[:2, 2] = miss
    cost[2, :2] = alarm
    return cost


def objective(crf, X, y, cost):
    """The sum of losses and penalty / C, from all labellings of each sentence."""
    total = 0.0
    for x, labels in zip(X, y, strict=True):
        node = x @ crf.coef_.T.toarray() + crf.intercept_
        tokens = np.arange(len(labels))
        every = np.array(labellings(len(labels), len(crf.classes_)))
        scores = node[tokens, every].sum(axis=1)
        scores += crf.transition_[every[:, :-1], every[:, 1:]].sum(axis=1)
        right = np.searchsorted(crf.classes_, labels)
        raised = scores + cost[right, every].sum(axis=1)
        total += np.logaddexp.reduce(raised) - scores[np.all(every == right, axis=1)].item()
    weights = np.concatenate([crf.coef_.data, crf.transition_.ravel()])
    return total + weights @ weights / (2 * crf.C)


@pytest.mark.parametrize("cost", [None, costs(3.0, 0.5)], ids=["hamming", "matrix"])
def test_the_objective_of_short_sentences_is_enumerated(cost):
    X, y, _, _ = encoded("NP", 2000)
    short = [i for i, labels in enumerate(y) if len(labels) <= 7]
    assert len(short) > 50
    X = X[short]
    y = [y[i] for i in short]
    settings = {"C": 2.0, "solver": "lbfgs", "tol": 1e-6}
    crf = LinearChainCRF(loss="softmax_margin", cost=cost, **settings).fit(X, y)
    table = 1.0 - np.eye(3) if cost is None else cost
    lowest = objective(crf, X, y, table)
    assert crf.loss_curve_[-1] == pytest.approx(lowest, rel=1e-9)
    likelihood = LinearChainCRF(**settings).fit(X, y)
    assert objective(likelihood, X, y, table) > lowest * 1.001
    assert objective(likelihood, X, y, np.zeros((3, 3))) < objective(crf, X, y, np.zeros((3, 3)))


def test_costs_of_zero_are_the_likelihood():
    X, y, X_test, _ = encoded("NP", 400)
    settings = {"C": 1.0, "solver": "lbfgs", "tol": 1e-6}
    likelihood = LinearChainCRF(**settings).fit(X, y)
    free = LinearChainCRF(loss="softmax_margin", cost=np.zeros((3, 3)), **settings).fit(X, y)
    np.testing.assert_allclose(free.coef_.data, likelihood.coef_.data, atol=1e-4)
    np.testing.assert_allclose(free.transition_, likelihood.transition_, atol=1e-4)
    for a, b in zip(free.predict_proba(X_test), likelihood.predict_proba(X_test), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.mark.parametrize("kind", ["NP", None], ids=["noun phrases", "all"])
def test_hamming_costs_chunk_as_well_as_the_likelihood(kind):
    """Seen: F1 of 0.914 and 0.913 for noun phrases, 0.899 and 0.897 for all chunks."""
    X, y, X_test, y_test = encoded(kind, 400)
    f1 = {
        loss: metrics.span_f1_score(
            y_test, LinearChainCRF(loss=loss, solver="lbfgs", tol=1e-3).fit(X, y).predict(X_test)
        )
        for loss in ("softmax_margin", "log_likelihood")
    }
    assert f1["softmax_margin"] > 0.88
    assert f1["softmax_margin"] > f1["log_likelihood"] - 0.01


@pytest.mark.parametrize("kind", ["NP", "VP", "PP"])
def test_dear_misses_are_rarer_and_false_alarms_more(kind):
    """Of tokens. Recall of whole chunks rises with the costs of misses where chunks stand alone;
    noun phrases swallow what stands between them.
    """
    X, y, X_test, y_test = encoded(kind, 400)
    truth = np.concatenate(y_test)
    misses = []
    alarms = []
    recall = []
    for cost in (costs(1.0, 5.0), costs(1.0, 1.0), costs(5.0, 1.0)):
        crf = LinearChainCRF(loss="softmax_margin", cost=cost, C=0.1, solver="lbfgs", tol=1e-3)
        predicted = crf.fit(X, y).predict(X_test)
        tokens = np.concatenate(predicted)
        misses.append(np.sum((truth != "O") & (tokens == "O")))
        alarms.append(np.sum((truth == "O") & (tokens != "O")))
        recall.append(metrics.span_recall_score(y_test, predicted))
    assert misses[0] > 1.2 * misses[1] > 1.2 * 1.2 * misses[2]
    assert alarms[2] > 1.2 * alarms[1] > 1.2 * 1.2 * alarms[0]
    if kind != "NP":
        assert recall[0] < recall[1] < recall[2]
