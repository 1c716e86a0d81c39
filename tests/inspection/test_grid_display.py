"""Images beside their labels."""

from __future__ import annotations

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from sklearn_struct import GraphCRF, GridCRF
from sklearn_struct.inspection import GridDisplay

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def data(n_channels=1, shape=(4, 5), n=6):
    rng = np.random.default_rng(0)
    y = [rng.integers(2, size=shape) for _ in range(n)]
    X = [labels[..., None] + rng.normal(scale=0.3, size=(*shape, n_channels)) for labels in y]
    return X, y


def colours(display, panel):
    return np.asarray(display.images_[panel].get_array())


def test_three_panels():
    X, y = data()
    crf = GridCRF().fit(X, y)
    display = GridDisplay.from_estimator(crf, X[0], y[0])
    display.figure_.canvas.draw()
    assert [ax.get_title() for ax in display.axes_] == ["image", "truth", "prediction"]
    np.testing.assert_array_equal(colours(display, 0), X[0][..., 0])
    [predicted] = crf.predict(X[:1])
    # the same label has the same colour
    same = np.all(colours(display, 1) == colours(display, 2), axis=-1)
    np.testing.assert_array_equal(same, predicted == y[0])
    texts = display.axes_[-1].get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["0", "1"]
    without = GridDisplay.from_estimator(crf, X[0])
    assert [ax.get_title() for ax in without.axes_] == ["image", "prediction"]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_channels(n):
    X, y = data(n)
    crf = GridCRF().fit(X, y)
    shown = colours(GridDisplay.from_estimator(crf, X[0]), 0)
    assert shown.shape == ((4, 5, 3) if n == 3 else (4, 5))
    if n == 3:
        assert shown.min() >= 0
        assert shown.max() <= 1
    if n == 2:
        np.testing.assert_allclose(shown, X[0].mean(axis=-1))


def test_pictures_and_volumes():
    X, y = data(2)
    pictures = [np.full((4, 5, 3), 100, np.uint8)] * 6
    crf = GridCRF(unary="scores", pairwise="contrast").fit(list(zip(X, pictures, strict=True)), y)
    display = GridDisplay.from_estimator(crf, (X[0], pictures[0]), y[0])
    np.testing.assert_array_equal(colours(display, 0), pictures[0])
    X, y = data(1, (3, 4, 5))
    volumes = GridCRF(neighbours=6).fit(X, y)
    display = GridDisplay.from_estimator(volumes, X[0], y[0])
    np.testing.assert_array_equal(colours(display, 0), X[0][1, ..., 0])
    assert display.prediction.shape == (4, 5)


def test_unknown_and_masked_pixels_stay_white():
    X, y = data()
    crf = GridCRF(ignore_label=255).fit(X, y)
    truth = y[0].copy()
    truth[0, 0] = 255
    mask = np.zeros(X[0].shape, bool)
    mask[1] = True
    display = GridDisplay.from_estimator(crf, np.ma.array(X[0], mask=mask), truth)
    assert np.array_equal(colours(display, 1)[..., 3] == 0, truth == 255)
    assert np.array_equal(colours(display, 2)[..., 3] == 0, mask[..., 0])
    nones = np.where(truth == 255, None, truth)
    display = GridDisplay.from_estimator(crf, X[0], nones)
    assert np.array_equal(colours(display, 1)[..., 3] == 0, truth == 255)
    display = GridDisplay(None, y[0], nones).plot()
    assert np.array_equal(colours(display, 0)[..., 3] == 0, truth == 255)


def test_own_axes_and_labels_alone():
    X, y = data()
    search = GridSearchCV(GridCRF(), {"C": [1.0]}, cv=2).fit(X, y)
    figure, axes = plt.subplots(1, 3)
    display = GridDisplay.from_estimator(search, X[0], y[0], axes=axes, legend=False)
    assert display.figure_ is figure
    assert display.axes_[2].get_legend() is None
    alone = GridDisplay(None, np.array([["a", "b"]])).plot(cmap="viridis")
    assert [ax.get_title() for ax in alone.axes_] == ["prediction"]
    many = GridDisplay(None, np.arange(30).reshape(5, 6)).plot()
    assert many.axes_[0].get_legend() is None
    assert len(np.unique(colours(many, 0).reshape(-1, 4), axis=0)) == 30


def test_errors(monkeypatch):
    X, y = data()
    crf = GridCRF().fit(X, y)
    with pytest.raises(ValueError, match=r"the image has pixels \(4, 5\) but y has \(5, 4\)"):
        GridDisplay.from_estimator(crf, X[0], y[0].T)
    with pytest.raises(ValueError, match="there are 2 panels but 1 axes"):
        GridDisplay.from_estimator(crf, X[0], axes=[plt.gca()])
    graph = GraphCRF().fit([(np.eye(2), [[0, 1]])], [["a", "b"]])
    with pytest.raises(TypeError, match="estimator must be a GridCRF, got GraphCRF"):
        GridDisplay.from_estimator(graph, X[0])
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="GridDisplay needs matplotlib"):
        GridDisplay.from_estimator(crf, X[0])
