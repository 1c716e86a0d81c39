"""TransitionDisplay: what stands where."""

from __future__ import annotations

import fitted
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from sklearn_struct.exceptions import LengthMismatchError
from sklearn_struct.inspection import TransitionDisplay

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_weights_and_labels():
    model = fitted.case("attributes").estimator
    display = TransitionDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.im_.get_array(), model.transition_)
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == fitted.LABELS
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == fitted.LABELS
    low, high = display.im_.get_clim()
    assert low == -high == -np.abs(model.transition_).max()  # 0 is white
    assert display.text_[0, 1].get_text() == f"{model.transition_[0, 1]:.1f}"
    assert display.text_[0, 1].get_position() == (1, 0)


def test_numbers_are_left_away_where_they_do_not_fit():
    many = fitted.many_labels().estimator
    assert TransitionDisplay.from_estimator(many).text_ is None
    few = fitted.case("numbers").estimator
    assert TransitionDisplay.from_estimator(few, include_values=False).text_ is None
    assert (
        TransitionDisplay.from_estimator(few, values_format=".3f").text_[0, 0].get_text()[-4] == "."
    )


def test_options():
    display = TransitionDisplay(np.eye(2), ["a", "b"]).plot(
        colorbar=False, im_kw={"cmap": "PuOr", "vmax": 7}
    )
    assert len(display.figure_.axes) == 1
    assert display.im_.get_cmap().name == "PuOr"
    assert display.im_.get_clim() == (-1, 7)
    assert len(TransitionDisplay(np.zeros((1, 1)), ["a"]).plot().figure_.axes) == 2


def test_shape():
    with pytest.raises(LengthMismatchError, match=r"shape \(2, 2\) but there are 1 labels"):
        TransitionDisplay(np.eye(2), ["a"]).plot()
