"""LatentStateDisplay: what stands where."""

from __future__ import annotations

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from sklearn_struct import EMLPCFG, PCFG
from sklearn_struct.datasets import make_treebank
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError
from sklearn_struct.inspection import LatentStateDisplay, latent_states

mpl.use("Agg")

X, Y = make_treebank(n_samples=100, random_state=0)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def parser():
    return EMLPCFG(n_states=3, n_grammars=2, max_iter=200, tol=1e-2, random_state=0).fit(X, Y)


def ticks(labels):
    return [tick.get_text() for tick in labels]


def rendered(display):
    display.figure_.canvas.draw()
    picture = np.asarray(display.figure_.canvas.buffer_rgba())
    assert picture[..., :3].std() > 0
    return picture


@pytest.mark.parametrize("grammar", [0, 1])
@pytest.mark.parametrize("symbol", ["N", "NP"])
def test_the_table_as_a_picture(parser, symbol, grammar):
    display = LatentStateDisplay.from_estimator(parser, symbol, n=3, grammar=grammar)
    items = ticks(display.ax_.get_xticklabels())
    shown = display.im_.get_array()
    assert set(items) == set(latent_states(parser, symbol, n=3, grammar=grammar)["item"])
    whole = latent_states(parser, symbol, n=None, grammar=grammar)
    found = {(state, item): p for state, item, p in whole.itertuples(index=False)}
    assert shown.shape == (3, len(items))
    for (state, column), p in np.ndenumerate(shown):
        assert p == found.get((state, items[column]), 0.0)
    best = shown.argmax(axis=0)
    assert np.all(np.diff(best) >= 0)  # those of state 0 first
    for state in range(3):
        assert np.all(np.diff(shown[state, best == state]) <= 0)
    assert display.ax_.get_ylabel() == f"state of {symbol}"
    assert len(display.figure_.axes) == 2
    rendered(display)


def test_by_number_and_options(parser):
    code = parser.symbols_.tolist().index("@NP")
    figure, axes = plt.subplots(1, 2)
    display = LatentStateDisplay.from_estimator(
        parser, code, n=None, ax=axes[1], colorbar=False, im_kw={"vmax": 1}
    )
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert display.symbol == "@NP"
    assert display.im_.get_clim() == (0, 1)
    rendered(display)


def test_plot_draws_again_elsewhere(parser):
    display = LatentStateDisplay.from_estimator(parser, "V")
    first = display.figure_
    picture = rendered(display)
    assert display.plot() is display
    assert display.figure_ is not first
    np.testing.assert_array_equal(rendered(display), picture)


def test_dollars_are_no_formulas():
    display = LatentStateDisplay(np.eye(2), ["$", "QP -> $ PRP$"], "A").plot()
    assert not any(label.get_parse_math() for label in display.ax_.get_xticklabels())
    assert ticks(display.ax_.get_xticklabels()) == ["$", "QP -> $ PRP$"]
    rendered(display)


def test_errors(parser, monkeypatch):
    with pytest.raises(LengthMismatchError, match=r"shape \(2, 2\) but there are 1 items"):
        LatentStateDisplay(np.eye(2), ["a"], "A").plot()
    with pytest.raises(UnknownLabelError, match="similar name are: 'NP'"):
        LatentStateDisplay.from_estimator(parser, "np")
    with pytest.raises(InputTypeError, match="PCFG has no states"):
        LatentStateDisplay.from_estimator(PCFG().fit(X, Y), "NP")
    with pytest.raises(ValueError, match="The 'n' parameter of LatentStateDisplay"):
        LatentStateDisplay.from_estimator(parser, "NP", n=0)
    with pytest.raises(ValueError, match="grammar must be from 0 to 1"):
        LatentStateDisplay.from_estimator(parser, "NP", grammar=2)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'LatentStateDisplay needs matplotlib: .*"plots"'):
        LatentStateDisplay.from_estimator(parser, "NP")
