"""The snakes: their form, the rule of their colours, and that they want joint inference."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_struct import GraphCRF
from sklearn_struct.datasets import make_snakes
from sklearn_struct.datasets.generated_snakes import COLOURS

NEXT = {"down": (1, 0), "left": (0, -1), "up": (-1, 0), "right": (0, 1)}


def colours_of(nodes, shape):
    return np.array(COLOURS)[nodes[:, :5].argmax(axis=1)].reshape(shape)


def decoded(colours):
    """The numbers of cells, by following colours from the cell that no other one points at."""
    ahead = {}
    for row, column in np.argwhere(colours != "none").tolist():
        down, right = NEXT[colours[row, column]]
        ahead[row, column] = row + down, column + right
    [cell] = set(ahead) - set(ahead.values())
    labels = np.zeros(colours.shape, int)
    number = 0
    while cell in ahead:
        number += 1
        labels[cell] = number
        cell = ahead[cell]
    return labels


@pytest.fixture(scope="module")
def snakes():
    return make_snakes(60, edge_features="ends", return_shapes=True, random_state=0)


def test_labels_follow_from_colours(snakes):
    X, y, shapes = snakes
    for (nodes, _, _), labels, shape in zip(X, y, shapes, strict=True):
        np.testing.assert_array_equal(
            decoded(colours_of(nodes, shape)).ravel(), labels, strict=True
        )
        assert sorted(k for k in labels if k) == list(range(1, 11))
        assert all(type(k) is int for k in labels)


def test_a_frame_without_snake(snakes):
    _, y, shapes = snakes
    for labels, shape in zip(y, shapes, strict=True):
        picture = np.reshape(labels, shape)
        assert not picture[[0, -1]].any()
        assert not picture[:, [0, -1]].any()
        # no larger than it must be
        assert picture[1].any()
        assert picture[-2].any()
        assert picture[:, 1].any()
        assert picture[:, -2].any()


def test_nodes_see_the_cells_around_them(snakes):
    X, _, shapes = snakes
    names = X.nodes.names.tolist()
    for (nodes, _, _), shape in zip(X[:5], shapes, strict=False):
        padded = np.pad(colours_of(nodes, shape), 1, constant_values="none")
        assert nodes.shape == (np.prod(shape), 45)
        for (row, column), seen in zip(np.ndindex(shape), nodes, strict=True):
            expected = {
                f"here={padded[row + 1, column + 1]}",
                f"above={padded[row, column + 1]}",
                f"below={padded[row + 2, column + 1]}",
                f"left={padded[row + 1, column]}",
                f"right={padded[row + 1, column + 2]}",
                f"above left={padded[row, column]}",
                f"above right={padded[row, column + 2]}",
                f"below left={padded[row + 2, column]}",
                f"below right={padded[row + 2, column + 2]}",
            }
            assert {names[f] for f in np.flatnonzero(seen)} == expected
            assert seen.sum() == 9


def test_edges_join_neighbours(snakes):
    X, _, shapes = snakes
    same, _ = make_snakes(60, random_state=0)
    assert X.edge_features.names[[0, 90]].tolist() == [
        "right: from here=none",
        "down: from here=none",
    ]
    for (nodes, edges, ends), (_, also, directions), (height, width) in zip(X, same, shapes):
        np.testing.assert_array_equal(edges, also)
        a, b = edges.T
        assert len(edges) == len(set(map(tuple, edges.tolist())))
        assert len(edges) == height * (width - 1) + (height - 1) * width
        down = directions[:, 1] == 1
        np.testing.assert_array_equal(b - a, np.where(down, width, 1))
        assert np.all(down | (a % width < width - 1))
        np.testing.assert_array_equal(directions, np.column_stack([~down, down]))
        for here, rows in ((0, ~down), (90, down)):
            np.testing.assert_array_equal(ends[rows, here : here + 45], nodes[a[rows]])
            np.testing.assert_array_equal(ends[rows, here + 45 : here + 90], nodes[b[rows]])
            assert not ends[~rows, here : here + 90].any()


def test_random_state_reproduces():
    first = make_snakes(5, random_state=3)
    assert first == make_snakes(5, random_state=np.random.RandomState(3))
    assert first != make_snakes(5, random_state=4)
    assert [part[:2] for part in first] == list(make_snakes(2, random_state=3))
    X, y = make_snakes(0, edge_features="ends")
    assert y == []
    assert X.edge_features.tokens.shape == (0, 180)
    assert len(make_snakes()[0]) == 100


@pytest.mark.parametrize("length", [1, 2, 25])
def test_other_lengths(length):
    X, y, shapes = make_snakes(10, length=length, return_shapes=True, random_state=0)
    for (nodes, *_), labels, shape in zip(X, y, shapes, strict=True):
        assert decoded(colours_of(nodes, shape)).ravel().tolist() == labels
        assert max(labels) == length


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": -1}, "n_samples must be an integer, at least 0, got -1"),
        ({"n_samples": 2.5}, "n_samples must be an integer"),
        ({"length": 0}, "length must be an integer, at least 1, got 0"),
        ({"edge_features": "all"}, "edge_features must be 'directions' or 'ends', got 'all'"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        make_snakes(**options)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_joint_inference_beats_single_cells():
    """Seen: 0.90 of the cells right without edges, 0.95 with directions, 0.99 with both ends."""
    right = []
    for kind in ("directions", "ends"):
        X, y = make_snakes(60, length=6, edge_features=kind, random_state=0)
        X_new, y_new = make_snakes(60, length=6, edge_features=kind, random_state=1)
        crf = GraphCRF(C=10, max_iter=30, tol=1e-3, inference="bp", inference_tol=1e-3).fit(X, y)
        right.append(crf.score(X_new, y_new))
    alone = GraphCRF(C=10, max_iter=30).fit([(nodes, []) for nodes, *_ in X], y)
    assert right[0] > alone.score([(nodes, []) for nodes, *_ in X_new], y_new) + 0.02
    assert right[1] > max(right[0], 0.97)
