"""FeatureWeightsDisplay: what stands where."""

from __future__ import annotations

import fitted
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from sklearn_struct.exceptions import LengthMismatchError, UnknownLabelError
from sklearn_struct.inspection import FeatureWeightsDisplay, feature_weights

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_bars_are_the_weights():
    model = fitted.case("attributes").estimator
    display = FeatureWeightsDisplay.from_estimator(model, n=4)
    frame = feature_weights(model, n=4)
    assert [ax.get_title() for ax in display.ax_] == fitted.LABELS
    for label, ax, bars in zip(fitted.LABELS, display.ax_, display.bars_, strict=True):
        expected = frame[frame["label"] == label]
        assert [tick.get_text() for tick in ax.get_yticklabels()] == expected["feature"].tolist()
        assert [bar.get_width() for bar in bars] == expected["weight"].tolist()
        assert ax.yaxis_inverted()  # the largest on top


def test_axes_for_chosen_labels():
    model = fitted.case("numbers").estimator
    figure, axes = plt.subplots(1, 2)
    display = FeatureWeightsDisplay.from_estimator(
        model, labels=["z", "x"], ax=axes, bar_kw={"color": "black"}
    )
    assert [ax.get_title() for ax in axes] == ["z", "x"]
    assert display.figure_ is figure
    assert display.bars_[0][0].get_facecolor() == (0, 0, 0, 1)
    one = FeatureWeightsDisplay.from_estimator(model, labels=["y"], ax=axes[0])
    assert one.ax_.tolist() == [axes[0]]
    with pytest.raises(LengthMismatchError, match="3 labels to draw, but ax has 2"):
        FeatureWeightsDisplay.from_estimator(model, ax=axes)


def test_spare_axes_of_the_grid_are_removed():
    weights = [(k, np.array(["f"]), np.array([1.0])) for k in range(6)]
    display = FeatureWeightsDisplay(weights).plot()
    assert len(display.figure_.axes) == len(display.ax_) == 6


def test_parameters_are_checked():
    model = fitted.case("numbers").estimator
    with pytest.raises(ValueError, match="The 'n' parameter of FeatureWeightsDisplay"):
        FeatureWeightsDisplay.from_estimator(model, n=0)
    with pytest.raises(UnknownLabelError, match="'w' was not seen"):
        FeatureWeightsDisplay.from_estimator(model, labels=["w"])
    with pytest.raises(ValueError, match="labels is empty"):
        FeatureWeightsDisplay.from_estimator(model, labels=[])
