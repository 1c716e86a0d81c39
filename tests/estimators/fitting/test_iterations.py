"""What a fit does beside its solver: the scale of objectives, and where warnings point to."""

from __future__ import annotations

import inspect
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from public_estimators import CHAINS, GRAPHS_OF_SEQUENCES, small
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from sklearn_struct import (
    HMM,
    LinearChainCRF,
    LogLinearClassifier,
    SequenceVectorizer,
)
from sklearn_struct.estimators.fitting.iterations import Iterations, IterationSettings
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.solving import SOLVERS, Minimisation, solve
from sklearn_struct.solvers.result import Result

X = [["a", "b", "a"], ["b", "a"]]
Y = [["A", "B", "B"], ["B", "A"]]
OPTIONS = {"max_iter": 1, "tol": 0}


@pytest.mark.parametrize(
    ("model", "X", "y"),
    [
        (LinearChainCRF(**OPTIONS), X, Y),
        (HMM(n_states=2, **OPTIONS), X, None),
        (LogLinearClassifier(**OPTIONS), [[1.0], [2.0]], [0, 1]),
        (make_pipeline(SequenceVectorizer(), LinearChainCRF(**OPTIONS)), X, Y),
    ],
)
def test_warnings_point_at_the_line_that_calls_fit(model, X, y):
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations") as found:
        model.fit(X, y)
    line = inspect.currentframe().f_lineno - 1
    assert [(w.filename, w.lineno) for w in found] == [(__file__, line)]


@pytest.mark.blas
@pytest.mark.filterwarnings("ignore:.* fits to training parts stopped")
@pytest.mark.parametrize("model", CHAINS + GRAPHS_OF_SEQUENCES)
def test_what_tol_means_in_float32(model):
    """The default is reached, without a warning. What float32 cannot tell is said, and what to do
    about it.
    """
    small(model, dtype="float32").fit(X, Y)
    with pytest.warns(
        ConvergenceWarning,
        match=r'tol=1e-14; float32 rounds the gradient by up to .* dtype="float64"',
    ):
        small(model, dtype="float32", tol=1e-14).fit(X, Y)


def test_advice():
    with pytest.warns(
        ConvergenceWarning,
        match=r"allow more iterations, scale numeric features \(TokenTransformer\)",
    ):
        LinearChainCRF(max_iter=1).fit(X, Y)
    with pytest.warns(
        ConvergenceWarning,
        match=r"allow more iterations, scale numeric features \(TokenTransformer\)",
    ):
        LinearChainCRF(max_iter=1, dtype="float32").fit(X, Y)
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter=20\) without .*; float32 rounds the gradient"
    ):
        LinearChainCRF(solver="sag", max_iter=20, tol=1e-14, dtype="float32").fit(X, Y)


def test_advice_where_no_line_leads_down(monkeypatch):
    """Whatever the reason, the solver stops where it began."""

    def stuck(objective, w0, **options):
        return Result(w0, 1.0, 0, False)

    monkeypatch.setitem(SOLVERS, "lbfgs", stuck)
    with pytest.warns(
        ConvergenceWarning, match="it finds nothing better, so scale numeric features"
    ):
        LinearChainCRF(solver="lbfgs").fit(X, Y)
    with pytest.warns(
        ConvergenceWarning,
        match='it finds nothing better in float32, so take dtype="float64", scale',
    ):
        LinearChainCRF(solver="lbfgs", dtype="float32").fit(X, Y)


class Parabola:
    """|w - 1|**2 / 2."""

    size = 2
    n_free = 0

    def value_and_grad(self, w):
        return float((w - 1) @ (w - 1)) / 2, w - 1


@pytest.mark.parametrize("solver", ["lbfgs", "gradient"])
@pytest.mark.parametrize("factor", [8.0, 1.0, 0.5])
def test_the_scale_says_what_the_penalty_is_added_to(factor, solver):
    """The minimum of factor * |w - 1|**2 / 2 + |w|**2 / (2 C) is at C factor / (C factor + 1)."""
    limits = IterationSettings(max_iter=100, tol=1e-10)
    progress = Progress(SimpleNamespace(), None, None, None)
    iterations = Iterations(lambda w: {"w": w.copy()}, progress, limits, factor)
    settings = Minimisation(solver, C=3.0, tol=1e-10, max_iter=100)
    learned = solve(settings, solver, Parabola(), np.zeros(2), iterations)
    w = 3 * factor / (3 * factor + 1)
    np.testing.assert_allclose(learned["w"], w, rtol=1e-9)
    assert learned["loss_curve_"][-1] == pytest.approx(factor * (w - 1) ** 2 + w**2 / 3, rel=1e-9)
    assert learned["n_iter_"] == len(learned["loss_curve_"])


@pytest.mark.parametrize("ends", [False, True])
def test_an_end_at_max_iter_is_no_warning_where_it_is_wanted(ends, capsys):
    """And lines have the name of the estimator."""
    crf = LinearChainCRF(verbose=1, **OPTIONS)
    crf._ends_at_max_iter = ends
    with warnings.catch_warnings(record=True, action="always") as given:
        crf.fit(X, Y)
    assert [w.category for w in given] == ([] if ends else [ConvergenceWarning])
    assert capsys.readouterr().out.startswith("[LinearChainCRF] iteration 1, objective ")
