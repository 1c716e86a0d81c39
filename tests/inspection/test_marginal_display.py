"""MarginalDisplay: what stands where."""

from __future__ import annotations

import fitted
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from sklearn_struct.exceptions import EmptyDataError, LengthMismatchError
from sklearn_struct.inspection import MarginalDisplay

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def ticks(labels):
    return [tick.get_text() for tick in labels]


def cells(display):
    """Row and column of each frame."""
    return [(frame.get_x() + 0.5, frame.get_y() + 0.5) for frame in display.path_]


@pytest.mark.parametrize("kind", ["strings", "base"])
def test_marginals_tokens_and_the_predicted_labelling(kind):
    estimator, x, _ = fitted.case(kind)
    display = MarginalDisplay.from_estimator(estimator, x)
    np.testing.assert_array_equal(display.im_.get_array(), estimator.predict_proba([x])[0].T)
    assert ticks(display.ax_.get_xticklabels()) == x
    assert ticks(display.ax_.get_yticklabels()) == fitted.LABELS
    assert cells(display) == [
        (t, fitted.LABELS.index(k)) for t, k in enumerate(estimator.predict([x])[0])
    ]


def test_given_labelling_and_names():
    estimator, x, y = fitted.case("attributes")
    display = MarginalDisplay.from_estimator(estimator, x, y, tokens="abcd")
    assert ticks(display.ax_.get_xticklabels()) == ["a", "b", "c", "d"]
    assert cells(display) == [(t, fitted.LABELS.index(k)) for t, k in enumerate(y)]


def test_few_of_many_labels():
    proba = np.array([[0.1, 0.2, 0.7, 0.0], [0.2, 0.4, 0.4, 0.0]])
    display = MarginalDisplay(proba, ["a", "b", "c", "d"], ["s", "t"], np.array([3, 2])).plot(
        n_labels=3
    )
    # d is in the labelling, c and b are probable
    assert ticks(display.ax_.get_yticklabels()) == ["b", "c", "d"]
    np.testing.assert_array_equal(display.im_.get_array(), proba[:, 1:].T)
    assert cells(display) == [(0, 2), (1, 1)]
    display.plot(n_labels=1)
    assert cells(display) == [(1, 0)]
    assert MarginalDisplay(proba, ["a", "b", "c", "d"], ["s", "t"]).plot(colorbar=False).path_ == []


def test_errors():
    estimator, x, y = fitted.case("strings")
    with pytest.raises(LengthMismatchError, match=r"shape \(4, 3\) but there are 2 tokens"):
        MarginalDisplay.from_estimator(estimator, x, tokens=["a", "b"])
    with pytest.raises(LengthMismatchError, match="has 3 labels"):
        MarginalDisplay.from_estimator(estimator, x, y[1:])
    with pytest.raises(EmptyDataError, match="no tokens to draw"):
        MarginalDisplay.from_estimator(estimator, [])
    with pytest.raises(ValueError, match="n_labels must be at least 1"):
        MarginalDisplay.from_estimator(estimator, x, n_labels=0)
