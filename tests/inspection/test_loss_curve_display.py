"""LossCurveDisplay: what stands where."""

from __future__ import annotations

import fitted
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from sklearn_struct import LinearChainCRF
from sklearn_struct.exceptions import EmptyDataError, InputTypeError
from sklearn_struct.inspection import LossCurveDisplay

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_one_several_and_named():
    models = [fitted.case(kind).estimator for kind in ("numbers", "attributes")]
    display = LossCurveDisplay.from_estimator(models[0])
    assert display.lines_[0].get_ydata().tolist() == models[0].loss_curve_
    assert display.lines_[0].get_xdata()[0] == 1
    assert display.ax_.get_legend() is None
    display = LossCurveDisplay.from_estimator(models)
    assert [line.get_label() for line in display.lines_] == ["LinearChainCRF 1", "LinearChainCRF 2"]
    display = LossCurveDisplay.from_estimator(dict(zip("ab", models)), line_kw={"marker": "."})
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["a", "b"]
    assert display.lines_[1].get_marker() == "."


def test_gap():
    display = LossCurveDisplay({"a": [9.0, 5.0, 4.5], "b": [8.0, 4.0]}).plot(gap=True)
    np.testing.assert_allclose(display.lines_[0].get_ydata(), [1.25, 0.25, 0.125])
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), [1.0, np.nan])
    assert display.ax_.get_yscale() == "log"


def test_no_curve():
    model = LinearChainCRF(solver="ap", feature_pairs="all").partial_fit(
        [np.ones((1, 2))], [["a"]], classes=["a", "b"]
    )
    with pytest.raises(InputTypeError, match="LinearChainCRF: no loss_curve_"):
        LossCurveDisplay.from_estimator(model)


@pytest.mark.parametrize("nothing", [{}, []])
def test_no_estimators(nothing):
    with pytest.raises(EmptyDataError, match="no estimator"):
        LossCurveDisplay.from_estimator(nothing)
