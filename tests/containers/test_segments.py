"""Graphs of superpixels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_struct import GraphArray, GraphCRF
from sklearn_struct.exceptions import InputTypeError

IMAGE = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0]])
SEGMENTS = np.array([[7, 7, 3, 3], [7, 5, 5, 3], [7, 5, 5, 3]])


def test_nodes_and_edges():
    X = GraphArray.from_segments(IMAGE, SEGMENTS)
    nodes, edges, features = X[0]
    # in the order of the numbers 3, 5, 7: colour, size, row, column
    assert_allclose(nodes[:, 0], [1.0, 0.5, 0.0])
    assert_allclose(nodes[:, 1], 4 / 12)
    assert_allclose(nodes[1, 2:], [2 / 3, 0.5])
    assert edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    # borders of 3, 1 and 3 pixels; outlines of 4, 6 and 4
    assert_allclose(features[:, 0], [3 / 4, 1 / 4, 3 / 4])
    squares = np.array([0.25, 1.0, 0.25])
    assert_allclose(features[:, 1], np.exp(-squares / (2 * squares.mean())))


def test_labels_and_the_way_back():
    y = np.array([["a", "a", "b", "c"], ["b", "c", "c", "b"], ["a", "x", "x", "b"]])
    X, labels = GraphArray.from_segments([IMAGE], [SEGMENTS], [y])
    assert labels == [["b", "c", "a"]]  # of as many c and x the smaller
    assert len(X) == 1
    _, known = GraphArray.from_segments(IMAGE, SEGMENTS, y, ignore_label="c")
    assert known == [["b", "x", "a"]]
    masked = np.ma.array(y, mask=SEGMENTS == 5)
    assert GraphArray.from_segments(IMAGE, SEGMENTS, masked)[1] == [["b", None, "a"]]
    nones = np.where(SEGMENTS == 5, None, y)
    assert GraphArray.from_segments(IMAGE, SEGMENTS, nones)[1] == [["b", None, "a"]]
    node = np.unique(SEGMENTS, return_inverse=True)[1].reshape(SEGMENTS.shape)
    assert_array_equal(np.array(labels[0])[node] == "c", SEGMENTS == 5)


def test_several_images_and_volumes():
    rng = np.random.default_rng(0)
    images = [rng.normal(size=(4, 4, 3)), rng.normal(size=(2, 3, 4))]
    segments = [rng.integers(5, size=(4, 4)), rng.integers(3, size=(2, 3))]
    with pytest.raises(ValueError, match="there are 2 images, 1 arrays of segments"):
        GraphArray.from_segments([images[0], images[1][..., :3]], segments[:1])
    X = GraphArray.from_segments([images[0], images[1][..., :3]], segments)
    assert [len(nodes) for nodes, *_ in X] == [len(np.unique(part)) for part in segments]
    volume = rng.normal(size=(2, 3, 4))
    of_volume = GraphArray.from_segments(volume, np.arange(24).reshape(2, 3, 4))
    nodes, edges, _ = of_volume[0]
    assert nodes.shape == (24, 1 + 1 + 3)
    assert len(edges) == 12 + 2 * 2 * 4 + 2 * 3 * 3


def test_a_graph_that_learns():
    rng = np.random.default_rng(1)
    y = [np.repeat(rng.integers(2, size=(3, 3)), 2, axis=1) for _ in range(20)]
    images = [labels + rng.normal(scale=0.2, size=labels.shape) for labels in y]
    segments = [np.arange(9).reshape(3, 3).repeat(2, axis=1)] * 20
    X, labels = GraphArray.from_segments(images, segments, y)
    assert GraphCRF(C=10).fit(X[:10], labels[:10]).score(X[10:], labels[10:]) > 0.9


def test_errors():
    for wrong, match in [
        ((IMAGE[:2], SEGMENTS), r"images\[0\] has the shape \(2, 4\), but segments\[0\]"),
        ((IMAGE, SEGMENTS + 0.5), r"segments\[0\] must be whole numbers"),
        ((IMAGE.astype(str), SEGMENTS), "must hold real numbers"),
        ((IMAGE * np.nan, SEGMENTS), "not finite"),
        ((IMAGE, SEGMENTS, SEGMENTS[:2]), r"y\[0\] has the shape"),
    ]:
        with pytest.raises(ValueError, match=match):
            GraphArray.from_segments(*wrong)


def test_what_is_masked_or_no_label():
    hole = np.ma.array(IMAGE, mask=SEGMENTS == 5)
    with pytest.raises(ValueError, match=r"images\[0\] has masked pixels.*filled"):
        GraphArray.from_segments(hole, SEGMENTS)
    holes = [SEGMENTS, np.ma.masked_equal(SEGMENTS, 5)]
    with pytest.raises(ValueError, match=r"segments\[1\] has masked pixels"):
        GraphArray.from_segments([IMAGE, IMAGE], holes)
    with pytest.raises(InputTypeError, match="ignore_label='5' is a string, but y has integers"):
        GraphArray.from_segments(IMAGE, SEGMENTS, SEGMENTS, ignore_label="5")
    with pytest.raises(InputTypeError, match=r"y\[0\] has dtype float64.*y.astype\(int\)"):
        GraphArray.from_segments(IMAGE, SEGMENTS, np.where(SEGMENTS == 5, np.nan, 1.0))
    # a mask that hides nothing is none
    whole = GraphArray.from_segments(np.ma.array(IMAGE), SEGMENTS)
    assert whole == GraphArray.from_segments(IMAGE, SEGMENTS)
