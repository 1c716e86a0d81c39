"""What a fit does beside its solver: the scale of objectives, and where warnings point to."""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from sklearn_struct import HMM, LinearChainCRF, LogLinearClassifier, SequenceVectorizer, compat
from sklearn_struct.estimators.progress import Progress
from sklearn_struct.estimators.solving import solve

X, Y = [["a", "b", "a"], ["b", "a"]], [["A", "B", "B"], ["B", "A"]]
OPTIONS = {"max_iter": 1, "tol": 0}


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (LinearChainCRF(**OPTIONS), X, Y),
        (HMM(states=2, **OPTIONS), X, None),
        (LogLinearClassifier(**OPTIONS), [[1.0], [2.0]], [0, 1]),
        (make_pipeline(SequenceVectorizer(), LinearChainCRF(**OPTIONS)), X, Y),
        (compat.CRF(max_iterations=1, epsilon=0, delta=0), X, Y),
    ],
)
def test_warnings_point_at_the_line_that_calls_fit(model, X, y):
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations") as found:
        model.fit(X, y)
    line = inspect.currentframe().f_lineno - 1
    assert [(w.filename, w.lineno) for w in found] == [(__file__, line)]


class Parabola:
    """|w - 1|**2 / 2, as if it were a mean over weights of 8 in all."""

    size, n_free, total_weight = 2, 0, 8.0

    def value_and_grad(self, w):
        return float((w - 1) @ (w - 1)) / 2, w - 1


@pytest.mark.parametrize("solver", ["lbfgs", "gradient"])
@pytest.mark.parametrize(("scale", "factor"), [(None, 8.0), (1.0, 1.0), (0.5, 0.5)])
def test_the_scale_says_what_the_penalty_is_added_to(scale, factor, solver):
    """The minimum of factor * |w - 1|**2 / 2 + |w|**2 / (2 C) is at C factor / (C factor + 1)."""
    estimator = SimpleNamespace(C=3.0, solver=solver, max_iter=100, tol=1e-10, verbose=0)
    estimator._learned = lambda w: {"w": w.copy()}
    solve(estimator, solver, Parabola(), np.zeros(2), Progress(estimator, None, None, None), scale)
    w = 3 * factor / (3 * factor + 1)
    np.testing.assert_allclose(estimator.w, w, rtol=1e-9)
    assert estimator.loss_curve_[-1] == pytest.approx(factor * (w - 1) ** 2 + w**2 / 3, rel=1e-9)
    assert estimator.n_iter_ == len(estimator.loss_curve_)
