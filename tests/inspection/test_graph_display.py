"""GraphDisplay: what stands where, in what colour."""

from __future__ import annotations

import sys

import fitted
import fitted_graphs
import matplotlib as mpl
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from typed_graphs import typed_graphs

from sklearn_struct import GraphArray, GraphCRF
from sklearn_struct.datasets import make_snakes
from sklearn_struct.exceptions import (
    EmptyDataError,
    InputTypeError,
    LengthMismatchError,
    UnknownLabelError,
)
from sklearn_struct.inspection import GraphDisplay

mpl.use("Agg")

TRIANGLE = (np.ones((4, 2)), [[0, 1], [1, 2], [2, 0]])
PLACES = [[0.0, 0.0], [2.0, 0.0], [1.0, 1.5], [3.0, 1.0]]
NAMES = ["left", "right", "left", "above"]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def rendered(display):
    display.figure_.canvas.draw()
    picture = np.asarray(display.figure_.canvas.buffer_rgba())
    assert picture[..., :3].std() > 0
    return picture


def segments(display):
    """The ends of all lines."""
    points = np.column_stack(display.line_.get_data()).reshape(-1, 3, 2)
    assert np.all(np.isnan(points[:, 2]))
    return points[:, :2]


def colours(display):
    """The colour of each node, once it is drawn."""
    rendered(display)
    return display.nodes_.get_facecolors()


def test_nodes_and_edges_are_where_they_belong():
    display = GraphDisplay.from_predictions(TRIANGLE, NAMES, positions=PLACES)
    np.testing.assert_array_equal(display.nodes_.get_offsets(), PLACES)
    expected = [[PLACES[a], PLACES[b]] for a, b in TRIANGLE[1]]
    np.testing.assert_array_equal(segments(display), expected)
    assert display.classes_ == ["above", "left", "right"]
    np.testing.assert_allclose(
        colours(display), [mpl.colormaps["tab10"](k) for k in (1, 2, 1, 0)], atol=1e-6
    )
    # long labels stand in the legend alone
    assert display.text_ == []
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == display.classes_


def test_grids():
    X, y, shapes = make_snakes(1, return_shapes=True, random_state=0)
    display = GraphDisplay.from_predictions(X, y, positions=shapes[0])
    x, height = display.nodes_.get_offsets().T
    picture = np.zeros(shapes[0], int)
    picture[(shapes[0][0] - 1 - height).astype(int), x.astype(int)] = y[0]
    np.testing.assert_array_equal(picture, np.reshape(y[0], shapes[0]))
    lengths = np.abs(np.diff(segments(display), axis=1)).sum(axis=(1, 2))
    np.testing.assert_array_equal(lengths, 1.0)
    assert len(lengths) == len(X.edges.tokens)
    # numbers are short: they are written into the nodes, and there is no legend
    assert [text.get_text() for text in display.text_] == list(map(str, y[0]))
    assert display.ax_.get_legend() is None
    shades = colours(display)
    np.testing.assert_allclose(shades[y[0].index(10)], mpl.colormaps["viridis"](1.0), atol=1e-6)


def test_wrong_labels_have_a_rim():
    truth = ["left", "left", None, {"above", "left"}]
    display = GraphDisplay.from_predictions(TRIANGLE, NAMES, truth=truth, positions=PLACES)
    rendered(display)
    rims = display.nodes_.get_edgecolors()
    assert [len(rims), *(bool(alpha) for alpha in rims[:, 3])] == [4, False, True, False, False]


@pytest.mark.parametrize("kind", [kind for kind in fitted_graphs.KINDS if kind != "rows"])
def test_predictions_of_a_model(kind):
    case = fitted_graphs.case(kind)
    batch = case.x if isinstance(case.x, GraphArray) else [case.x]
    display = GraphDisplay.from_estimator(case.estimator, case.x)
    assert display.labels == case.estimator.predict(batch)[0]
    assert display.classes_ == fitted.LABELS
    assert set(display._rims()) == {"none"}
    wrong = GraphDisplay.from_estimator(case.estimator, batch, case.y)
    assert [rim == "tab:red" for rim in wrong._rims()] == [
        a != b for a, b in zip(display.labels, case.y)
    ]
    rendered(wrong)


def test_a_pipeline():
    case = fitted_graphs.case("numbers")
    pipeline = make_pipeline("passthrough", GraphCRF()).fit([case.x], [case.y])
    assert GraphDisplay.from_estimator(pipeline, case.x).labels == case.y


def test_nodes_of_types_some_of_which_are_hidden():
    X, y = typed_graphs(np.random.default_rng(0), hidden=("c",))
    crf = GraphCRF(C=5.0, hidden={"c": 2}, max_iter=3, tol=1e9).fit(X, y)
    display = GraphDisplay.from_estimator(crf, X[0], y[0])
    assert display.labels == crf.predict(X)[0]
    assert None in display.classes_
    assert rendered(display) is not None


def test_forms_of_graphs():
    network = nx.Graph([("a", "b"), ("b", "c"), ("c", "a")])
    network.add_node("d")
    adjacency = sp.csr_array(nx.to_scipy_sparse_array(network))
    places = dict(zip("abcd", PLACES))
    for graph, positions in (
        (TRIANGLE, PLACES),
        (network, places),
        ([network], places),
        ((sp.csr_array(TRIANGLE[0]), adjacency), dict(enumerate(PLACES))),
        ((["w"] * 4, *TRIANGLE[1:]), np.array(PLACES)),
    ):
        display = GraphDisplay.from_predictions(graph, NAMES, positions=positions)
        np.testing.assert_array_equal(display.positions, PLACES)
        assert {frozenset(edge) for edge in display.edges.tolist()} == {
            frozenset(edge) for edge in TRIANGLE[1]
        }


def test_a_layout_by_networkx_or_a_circle(monkeypatch):
    found = GraphDisplay.from_predictions(TRIANGLE, NAMES)
    again = GraphDisplay.from_predictions(TRIANGLE, NAMES)
    np.testing.assert_array_equal(found.positions, again.positions)
    inside = [np.linalg.norm(np.subtract(*found.positions[edge])) for edge in TRIANGLE[1]]
    to_other = np.linalg.norm(found.positions[:3] - found.positions[3], axis=1)
    assert max(inside) < max(to_other)
    monkeypatch.setitem(sys.modules, "networkx", None)
    circle = GraphDisplay.from_predictions(TRIANGLE, NAMES)
    np.testing.assert_allclose(np.linalg.norm(circle.positions, axis=1), 1.0)
    assert len(np.unique(circle.positions.round(6), axis=0)) == 4


def test_colours_of_chosen_classes():
    options = {"positions": PLACES, "classes": ["right", "none", "left", "above"]}
    display = GraphDisplay.from_predictions(TRIANGLE, NAMES, cmap="Set1", **options)
    np.testing.assert_allclose(
        colours(display), [mpl.colormaps["Set1"](k) for k in (2, 0, 2, 3)], atol=1e-6
    )
    with pytest.raises(UnknownLabelError, match="node 3: 'above' is none of classes"):
        display.plot(classes=["left", "right"])


def test_names_labels_and_legends():
    display = GraphDisplay.from_predictions(TRIANGLE, NAMES, positions=PLACES, texts="abcd")
    assert [text.get_text() for text in display.text_] == ["a", "b", "c", "d"]
    display.plot(include_labels=True)
    assert [text.get_text() for text in display.text_] == [*NAMES, "a", "b", "c", "d"]
    assert display.ax_.get_legend() is None
    display.plot(include_labels=True, legend=True, text_kw={"fontsize": 5})
    assert display.ax_.get_legend() is not None
    assert {text.get_fontsize() for text in display.text_} == {5.0}
    display.plot(legend=False, node_kw={"s": 7}, line_kw={"color": "red"})
    assert display.ax_.get_legend() is None
    assert display.nodes_.get_sizes().tolist() == [7]
    assert display.line_.get_color() == "red"
    rendered(display)


def test_names_are_no_mathematics():
    odd = [r"$\a$", "_b", r"$\c$", "d"]
    display = GraphDisplay.from_predictions(TRIANGLE, odd, positions=PLACES, texts=odd)
    display.plot(include_labels=True, legend=True)
    assert {text.get_text() for text in display.ax_.get_legend().get_texts()} == set(odd)
    rendered(display)


@pytest.mark.parametrize("labels", [["a", 1, (2, 3), "a"], [0.5, 1, 2, 3], [True, False] * 2])
def test_any_labels(labels):
    display = GraphDisplay.from_predictions(TRIANGLE, labels, positions=PLACES)
    assert len(display.classes_) == len(set(labels))
    rendered(display)


def test_many_labels_and_nodes():
    n = 300
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    graph = (np.ones((n, 1)), edges)
    display = GraphDisplay.from_predictions(graph, list(range(n)), positions=(15, 20))
    assert display.text_ == []
    assert display.ax_.get_legend() is None
    assert display.figure_.get_size_inches().max() < 22
    assert len(np.unique(colours(display), axis=0)) > 200
    rendered(GraphDisplay.from_predictions((np.ones((1, 1)), []), ["a"]))
    rendered(
        GraphDisplay.from_predictions((np.ones((2, 1)), []), ["a", "b"], positions=[[0, 0]] * 2)
    )


def test_draws_on_given_axes_and_again_elsewhere():
    figure, axes = plt.subplots(1, 2)
    display = GraphDisplay.from_predictions(TRIANGLE, NAMES, positions=PLACES, ax=axes[1])
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert display.plot() is display
    assert display.figure_ is not figure
    picture = rendered(display)
    np.testing.assert_array_equal(rendered(display.plot()), picture)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"labels": ["a"]}, LengthMismatchError, "labels has 1 items but the graph 4 nodes"),
        ({"truth": ["a"] * 5}, LengthMismatchError, "truth has 5 items"),
        ({"texts": "abc"}, LengthMismatchError, "texts has 3 items"),
        ({"positions": (2, 3)}, LengthMismatchError, "2 rows and 3 columns has 6 nodes"),
        ({"positions": np.ones((4, 3))}, LengthMismatchError, r"positions has the shape \(4, 3\)"),
        ({"positions": {0: (0, 0)}}, LengthMismatchError, "no place of node 1"),
        ({"graph": np.ones((3, 2))}, InputTypeError, "graph must be a tuple .*, got ndarray"),
        ({"graph": [TRIANGLE] * 2}, LengthMismatchError, "graph must be one graph, got 2"),
        ({"graph": (np.ones((2, 1)), [[0, 2]])}, ValueError, "node 2 is not one of"),
        ({"graph": (np.ones((0, 1)), []), "labels": []}, EmptyDataError, "no nodes to draw"),
    ],
)
def test_what_is_refused(options, error, message):
    options = {"graph": TRIANGLE, "labels": NAMES, **options}
    with pytest.raises(error, match=message):
        GraphDisplay.from_predictions(**options)


def test_no_model_of_graphs(monkeypatch):
    case = fitted.case("numbers")
    with pytest.raises(InputTypeError, match="must be a model of graphs such as GraphCRF, got L"):
        GraphDisplay.from_estimator(case.estimator, TRIANGLE)
    with pytest.raises(NotFittedError):
        GraphDisplay.from_estimator(GraphCRF(), TRIANGLE)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'GraphDisplay needs matplotlib: .*"plots"'):
        GraphDisplay.from_predictions(TRIANGLE, NAMES)
