"""A picture of a graph with the labels of its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.containers.networks import is_network
from sklearn_struct.containers.typing import Label, SequenceInput
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.exceptions import EmptyDataError, LengthMismatchError, UnknownLabelError
from sklearn_struct.inspection.fitted_model import graph_model_of
from sklearn_struct.inspection.graph_layout import graph_parts, layout_of, nearest
from sklearn_struct.inspection.optional_imports import add_legend, subplots
from sklearn_struct.inspection.single_sequence import only

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

__all__ = ["GraphDisplay"]

Positions: TypeAlias = Sequence[Any] | np.ndarray | Mapping[Any, Any] | None

INCHES = 0.4  # from a node to its nearest one in a new figure
LARGEST = 20.0  # inches of a new figure
LIGHT = np.array([0.299, 0.587, 0.114])  # how light red, green and blue are
POINTS = 72  # of an inch
NODE = 3.0, 24.0  # points: the smallest and the largest node
SHORT = 3  # letters of a label that fit into a node
MANY = 200  # nodes up to which labels are written
LEGEND = 20  # labels up to which colours are told apart, and a legend has them


class GraphDisplay:
    """A graph: edges as lines, nodes in the colours of their labels.

    Make it with `from_predictions` or `from_estimator`. `plot` draws it again on other axes.

    Read more in :doc:`/user_guide/inspection`.

    Parameters
    ----------
    edges : ndarray of shape (n_edges, 2)
        Numbers of nodes.
    labels : list
        The label of each node.
    positions : ndarray of shape (n_nodes, 2)
        Where nodes are, to the right and up.
    truth : list or None, default=None
        True labels. Nodes with another label get a red rim.
    texts : list of str or None, default=None
        Names, written beside the nodes.

    Attributes
    ----------
    figure_ : matplotlib Figure
    ax_ : matplotlib Axes
    nodes_ : matplotlib PathCollection
    line_ : matplotlib Line2D
        All edges.
    text_ : list of matplotlib Text
        Labels in nodes, then names.
    classes_ : list
        The labels that have colours.

    See Also
    --------
    sklearn_struct.GraphCRF : Predicts the labels of nodes.
    explain : Why a labelling has its score.

    Examples
    --------
    >>> from sklearn_struct import GraphCRF
    >>> from sklearn_struct.datasets import make_snakes
    >>> from sklearn_struct.inspection import GraphDisplay
    >>> X, y, shapes = make_snakes(20, return_shapes=True, random_state=0)
    >>> display = GraphDisplay.from_predictions(X[0], y[0], positions=shapes[0])
    >>> display.classes_
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    >>> edges = [[1, 0], [1, 2]]
    >>> crf = GraphCRF().fit([(["the", "dog", "barks"], edges)], [["DET", "NOUN", "VERB"]])
    >>> display = GraphDisplay.from_estimator(crf, (["the", "dog", "barks"], edges))
    >>> display.labels
    ['DET', 'NOUN', 'VERB']
    """

    def __init__(
        self,
        edges: np.ndarray,
        labels: list[Any],
        positions: np.ndarray,
        truth: list[Any] | None = None,
        texts: list[str] | None = None,
    ) -> None:
        self.edges = edges
        self.labels = labels
        self.positions = positions
        self.truth = truth
        self.texts = texts

    @classmethod
    def from_predictions(
        cls,
        graph: SequenceInput,
        labels: Iterable[Label],
        *,
        positions: Positions = None,
        truth: Iterable[Label] | None = None,
        texts: Iterable[str] | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw a graph with given labels.

        Parameters
        ----------
        graph : tuple (nodes, edges) or (nodes, edges, edge_features), or graph of networkx
            As `GraphCRF` takes it, also in a batch of one.
        labels : list of labels
            The label of each node: true labels, or those that `predict` returns.
        positions : array-like of shape (n_nodes, 2), tuple (height, width) or dict, default=None
            Where nodes are: their places to the right and up. Two whole numbers: nodes are on a
            grid of this size, row by row from the upper left corner. A dict: the place of each node
            of a graph of networkx. None: networkx finds the places; without networkx nodes are on a
            circle.
        truth : list of labels, default=None
            True labels. Nodes with another label get a red rim.
        texts : list of str, default=None
            Names, written beside the nodes.
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        **options
            As for `plot`.

        Returns
        -------
        GraphDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        LengthMismatchError, InputTypeError, EmptyDataError, ValueError
            If `graph` is not one graph or has no nodes, or the other arguments do not fit it.
        """
        n, edges = graph_parts(graph)
        if n == 0:
            raise EmptyDataError("the graph has no nodes to draw")
        return cls(
            edges,
            _column(labels, "labels", n),
            layout_of(positions, graph, n, edges),
            None if truth is None else _column(truth, "truth", n),
            None if texts is None else [str(text) for text in _column(texts, "texts", n)],
        ).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        x: SequenceInput,
        y: Iterable[Label] | None = None,
        **options: Any,
    ) -> Self:
        """Draw a graph with the labels that a model predicts.

        Parameters
        ----------
        estimator : fitted GraphCRF
            Also a pipeline or a search that ends in one.
        x : tuple (nodes, edges) or (nodes, edges, edge_features), or graph of networkx
            Also in a batch of one.
        y : list of labels, default=None
            True labels. Nodes with another predicted label get a red rim.
        **options
            As for `from_predictions`.

        Returns
        -------
        GraphDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        LengthMismatchError, InputTypeError, EmptyDataError, ValueError
            As from `from_predictions`.
        """
        model = graph_model_of(estimator)
        graph_parts(x)  # it is one graph
        [labels] = estimator.predict([x] if isinstance(x, tuple) or is_network(x) else x)
        # of nodes of several types these are pairs, and equal labels may be of two types
        if not hasattr(model, "type_classes_"):
            options = {"classes": model.classes_.tolist(), **options}
        return cls.from_predictions(x, labels, truth=y, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        classes: Sequence[Label] | None = None,
        include_labels: bool | None = None,
        legend: bool | None = None,
        cmap: str | Colormap | None = None,
        node_kw: dict[str, Any] | None = None,
        line_kw: dict[str, Any] | None = None,
        text_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.
        classes : list of labels, default=None
            The labels that have colours. Pass the same ones for several pictures, so that their
            colours agree. None: the labels of the nodes, sorted, or with `from_estimator` those of
            the model.
        include_labels : bool, default=None
            Whether to write the labels into the nodes. None: if there are at most 200 nodes, with
            labels of at most three letters.
        legend : bool, default=None
            Whether to draw a legend of the colours. None: if no labels are written and there are at
            most 20.
        cmap : str or matplotlib Colormap, default=None
            Colours of the labels, in their order; None: "viridis" for numbers and for more than 20
            labels, "tab10" or "tab20" for others.
        node_kw, line_kw, text_kw : dict, default=None
            For matplotlib's `scatter` of the nodes, such as ``{"s": 50}``, for `plot` of the edges,
            and for `text`.

        Returns
        -------
        GraphDisplay
            Itself.

        Raises
        ------
        UnknownLabelError
            If a node has a label that is not one of `classes`.
        """
        codes = self._codes(classes)
        step = nearest(self.positions)
        if ax is None:
            _, ax = subplots("GraphDisplay", figsize=_size(self.positions, step))
        room = min(ax.get_window_extent().size) / ax.figure.dpi * POINTS
        width = float(np.clip(0.6 * room * step, *NODE))
        ax.set_axis_off()
        ax.set_aspect("equal", adjustable="datalim")
        ax.margins(0.1)
        line: dict[str, Any] = {
            "color": "lightgray",
            "linewidth": 1.0,
            "zorder": 0,
            **(line_kw or {}),
        }
        self.line_ = ax.plot(*_lines(self.positions, self.edges), **line)[0]
        nodes: dict[str, Any] = {
            "s": width**2,
            "edgecolors": self._rims(),
            "linewidths": 1.5,
            "clip_on": False,
            **(node_kw or {}),
        }
        cmap = cmap or _cmap(self.classes_)
        x, y = self.positions.T
        self.nodes_ = ax.scatter(x, y, c=codes, cmap=cmap, **nodes)
        # each colour of a short list is one label's
        n_colours = self.nodes_.get_cmap().N
        last = n_colours if n_colours <= LEGEND else len(self.classes_)
        self.nodes_.set_clim(0, max(last - 1, 1))
        if include_labels is None:
            short = all(len(str(label)) <= SHORT for label in self.labels)
            include_labels = short and len(self.labels) <= MANY
        self.text_ = self._write(ax, include_labels, width, text_kw or {})
        if legend or (legend is None and not include_labels and len(self.classes_) <= LEGEND):
            self._add_legend(ax)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _codes(self, classes: Sequence[Label] | None) -> list[int]:
        """The place of each label among those that have colours."""
        self.classes_ = _sorted(self.labels) if classes is None else list(classes)
        place = {label: k for k, label in enumerate(self.classes_)}
        for t, label in enumerate(self.labels):
            if label not in place:
                raise UnknownLabelError(f"node {t}: {label!r} is none of classes")
        return [place[label] for label in self.labels]

    def _rims(self) -> list[str]:
        """Red where another label is right."""
        truth = [None] * len(self.labels) if self.truth is None else self.truth
        return [
            "tab:red" if _differs(label, right) else "none"
            for label, right in zip(self.labels, truth, strict=True)
        ]

    def _write(
        self, ax: Axes, include_labels: bool, width: float, text_kw: dict[str, Any]
    ) -> list[Any]:
        """Labels in nodes, and names beside them."""
        written: list[Any] = []
        if include_labels:
            colours = self.nodes_.to_rgba(np.asarray(self.nodes_.get_array()))
            for (x, y), label, colour in zip(self.positions, self.labels, colours, strict=True):
                # white letters on dark nodes
                font: dict[str, Any] = {"color": "white" if colour[:3] @ LIGHT < 0.55 else "black"}
                font |= {"fontsize": max(0.45 * width, 1.0), "ha": "center", "va": "center"}
                font["parse_math"] = False  # $ is a label
                written.append(ax.text(x, y, str(label), **{**font, **text_kw}))
        for (x, y), text in zip(self.positions, self.texts or (), strict=False):
            # below the node, as far as it is wide
            font = {"textcoords": "offset points", "xytext": (0.0, -0.6 * width)}
            font |= {"ha": "center", "va": "top", "fontsize": 9.0, "parse_math": False}
            written.append(ax.annotate(text, (x, y), **{**font, **text_kw}))
        return written

    def _add_legend(self, ax: Axes) -> None:
        colours = self.nodes_.to_rgba(np.arange(len(self.classes_)))
        handles = [
            ax.scatter([], [], color=colour, label=str(label))
            for label, colour in zip(self.classes_, colours, strict=True)
        ]
        add_legend(ax, handles, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _column(column: Any, name: str, n: int) -> list[Any]:
    """Something of each node as a list."""
    column = only(as_list(column))
    values = column.tolist() if isinstance(column, np.ndarray) else list(column)
    if len(values) != n:
        raise LengthMismatchError(f"{name} has {len(values)} items but the graph {n} nodes")
    return values


def _sorted(labels: list[Any]) -> list[Any]:
    """The labels that occur, in their order or, where they have none, in that of their texts."""
    distinct = set(labels)
    try:
        return sorted(distinct)
    except TypeError:
        return sorted(distinct, key=str)


def _differs(label: Label, right: Any) -> bool:
    """Whether a label is wrong; None says that nothing is known, a set that any of it is right."""
    if right is None:
        return False
    return label not in right if isinstance(right, set | frozenset) else bool(label != right)


def _cmap(classes: list[Any]) -> str:
    if len(classes) > LEGEND or all(isinstance(label, Real) for label in classes):
        return "viridis"
    return "tab10" if len(classes) <= 10 else "tab20"


def _lines(places: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All edges as one line with nan between."""
    none = np.full((len(edges), 2), np.nan)
    ends = np.stack([places[edges[:, 0]], places[edges[:, 1]], none], axis=1).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def _size(places: np.ndarray, step: float) -> tuple[float, float]:
    """Inches of a new figure in which nodes have room."""
    extent = np.ptp(places, axis=0)
    side = min(max(INCHES / max(step, 1e-3), 1.0), LARGEST)
    width, height = 2 * INCHES + side * extent / (extent.max() or 1.0)
    return max(float(width), 2.0), max(float(height), 2.0)
