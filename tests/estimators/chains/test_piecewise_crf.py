"""Single factors are two problems with known solutions; small chains are tested with the other
windows.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from sklearn_struct import PiecewiseCRF


def test_transitions_alone_are_counted():
    """A table of single factors is the softmax that fits the counts of pairs; nothing else touches
    it.
    """
    rng = np.random.RandomState(0)
    y = [rng.randint(3, size=n).tolist() for n in (50, 1, 30, 40)]
    X = [rng.normal(size=(len(labels), 2)) for labels in y]
    counts = np.zeros((3, 3))
    for labels in y:
        np.add.at(counts, (labels[:-1], labels[1:]), 1)
    table = np.exp(PiecewiseCRF(C=np.inf, tol=1e-8).fit(X, y).transition_)
    np.testing.assert_allclose(table / table.sum(), counts / counts.sum(), atol=1e-6)


def test_single_factors_are_logistic_regression_of_tokens():
    rng = np.random.RandomState(0)
    X = [rng.normal(size=(n, 3)) for n in (9, 5, 20)]
    y = [rng.randint(3, size=n) for n in (9, 5, 20)]
    expected = LogisticRegression(tol=1e-12, max_iter=20_000).fit(
        np.concatenate(X), np.concatenate(y)
    )
    np.testing.assert_allclose(PiecewiseCRF(tol=1e-8).fit(X, y).coef_, expected.coef_, atol=1e-5)
