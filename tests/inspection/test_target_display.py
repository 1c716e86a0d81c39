"""The picture of labelled features: what they ask for, and what a model expects."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_struct import GECRF
from sklearn_struct.exceptions import EmptyDataError, LengthMismatchError
from sklearn_struct.inspection import TargetDisplay

X = [
    [{"w": "$", "up": 1.0}, {"w": "9"}, {"w": "month"}],
    [{"w": "room"}],
    [{"w": "$"}, {"w": "room", "up": 1.0}],
    [],
]
GIVEN = {
    "w:$": "RENT",
    "up": {"RENT": 0.25, "SIZE": 0.75},
    "w:room": ("RENT", "SIZE"),
    "w:month": {"RENT": 3, "SIZE": 1},
}
CLASSES = ["RENT", "SIZE"]


def test_the_picture_shows_both():
    crf = GECRF(GIVEN, classes=CLASSES, tol=1e-3).fit(X, [None] * 4)
    display = TargetDisplay.from_estimator(crf, X)
    assert display.features == ["w:$", "up", "w:month"]  # not the one of pairs
    np.testing.assert_allclose(display.im_[0].get_array(), display.target)
    np.testing.assert_allclose(display.im_[1].get_array(), display.expected)
    np.testing.assert_allclose(display.target.sum(axis=1), 1)
    np.testing.assert_allclose(display.expected.sum(axis=1), 1)
    labels = [tick.get_text() for tick in display.axes_[0].get_xticklabels()]
    assert labels == CLASSES
    again = display.plot(display.axes_, colorbar=False, im_kw={"cmap": "Greens"})
    assert again.im_[0].get_cmap().name == "Greens"


def test_tables_of_another_shape_are_refused():
    with pytest.raises(LengthMismatchError, match="must have the shape"):
        TargetDisplay(np.ones((1, 2)), np.ones((1, 3)), ["f"], ["a", "b"]).plot()


def test_nothing_to_draw():
    with pytest.raises(NotFittedError):
        TargetDisplay.from_estimator(GECRF(GIVEN, classes=CLASSES), X)
    empty = GECRF(classes=CLASSES).fit(X, [["RENT", "RENT", "SIZE"], None, None, None])
    with pytest.raises(EmptyDataError, match="no labelled features to draw"):
        TargetDisplay.from_estimator(empty, X)
