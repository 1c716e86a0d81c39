"""What all displays have in common: they draw on given or new axes, from every kind of model."""

from __future__ import annotations

import sys

import fitted
import fitted_graphs
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.inspection import (
    FeatureWeightsDisplay,
    LossCurveDisplay,
    MarginalDisplay,
    TransitionDisplay,
)

mpl.use("Agg")

DISPLAYS = [TransitionDisplay, MarginalDisplay, FeatureWeightsDisplay, LossCurveDisplay]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def draw(display, case, **options):
    return display.from_estimator(
        case.estimator, *([case.x] if display is MarginalDisplay else []), **options
    )


def rendered(display):
    """The picture as numbers, after a check that it is not empty."""
    display.figure_.canvas.draw()
    picture = np.asarray(display.figure_.canvas.buffer_rgba())
    assert picture[..., :3].std() > 0
    return picture


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("kind", [*fitted.KINDS, "many labels"])
def test_draws_every_model(display, kind):
    case = fitted.many_labels() if kind == "many labels" else fitted.case(kind)
    found = draw(display, case)
    assert isinstance(found, display)
    rendered(found)


@pytest.mark.parametrize("display", [d for d in DISPLAYS if d is not MarginalDisplay])
@pytest.mark.parametrize("kind", ["numbers", "strings"])
def test_draws_models_of_graphs(display, kind):
    found = draw(display, fitted_graphs.case(kind))
    assert isinstance(found, display)
    rendered(found)


def test_transitions_of_graphs_lead_from_node_to_node():
    axes = draw(TransitionDisplay, fitted_graphs.case("numbers")).ax_
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("first node", "second node")


@pytest.mark.parametrize("display", [TransitionDisplay, MarginalDisplay, LossCurveDisplay])
def test_draws_on_given_axes(display):
    figure, axes = plt.subplots(1, 2)
    found = draw(display, fitted.case("attributes"), ax=axes[1])
    assert found.ax_ is axes[1]
    assert found.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    rendered(found)


@pytest.mark.parametrize("display", DISPLAYS)
def test_plot_draws_again_elsewhere(display):
    found = draw(display, fitted.case("numbers"))
    first = found.figure_
    picture = rendered(found)
    assert found.plot() is found
    assert found.figure_ is not first
    np.testing.assert_array_equal(rendered(found), picture)


@pytest.mark.parametrize("display", DISPLAYS)
def test_without_matplotlib(display, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=rf'{display.__name__} needs matplotlib: .*"plots"'):
        draw(display, fitted.case("numbers"))


@pytest.mark.parametrize("display", DISPLAYS)
def test_no_chain(display):
    with pytest.raises(InputTypeError, match="must be a chain"):
        draw(display, fitted.Case(3, [], []))
