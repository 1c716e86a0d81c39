"""Generated pictures of snakes: graphs in which only joint inference finds the labels."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_struct.containers.graph_array import GraphArray
from sklearn_struct.containers.sequence_array import SequenceArray

__all__ = ["COLOURS", "STEPS", "make_snakes"]

# what a cell looks like: no snake, or where its next cell is
COLOURS = ("none", "down", "left", "up", "right")
# rows and columns to the next cell, by colour
STEPS = np.array([[0, 0], [1, 0], [0, -1], [-1, 0], [0, 1]])
# the places whose colours a node sees; its own first
PLACES = {
    "here": (0, 0),
    "above": (-1, 0),
    "below": (1, 0),
    "left": (0, -1),
    "right": (0, 1),
    "above left": (-1, -1),
    "above right": (-1, 1),
    "below left": (1, -1),
    "below right": (1, 1),
}
NAMES = [f"{place}={colour}" for place in PLACES for colour in COLOURS]


def make_snakes(
    n_samples: int = 100,
    *,
    length: int = 10,
    edge_features: str = "directions",
    return_shapes: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> Any:
    """Generate pictures of snakes; the labels number the cells of a snake from tail to head.

    A picture is a small grid. A snake is a walk through `length` cells that visits no cell twice.
    Around it is a frame of background cells. The colour of a cell says where the next cell of the
    snake is; the colour of the head points at the background. So colours alone tell which cells are
    background. The number of a cell depends on all cells before it, as neighbours tell only how
    numbers differ. The rule is that of [1]_, whose snakes have ten cells.

    Read more in :doc:`/user_guide/graphs`.

    Parameters
    ----------
    n_samples : int, default=100
        Number of pictures.
    length : int, default=10
        Cells of a snake.
    edge_features : {"directions", "ends"}, default="directions"
        The features of edges. "directions": two columns, which say whether an edge leads to the
        right or down. "ends": the features of both nodes of the edge, in separate columns for each
        direction. With "ends" a model can tell whether one cell comes after another.
    return_shapes : bool, default=False
        Whether to return the shapes of the grids, too.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator; an int gives the same pictures in each call.

    Returns
    -------
    X : GraphArray of length n_samples
        Grids whose nodes are numbered row by row. Each node has edges to the right and down, in
        this order. Nodes have 45 features: the colours of a cell (columns 0 to 4) and of the eight
        around it, as indicators. Cells outside of the picture count as background.
    y : list of list of int
        1 to `length` along the snake, 0 for background.
    shapes : list of tuple (height, width)
        Only with `return_shapes`.

    Raises
    ------
    ValueError
        If `n_samples` or `length` is no integer or too small, or `edge_features` is none of the
        above.

    See Also
    --------
    sklearn_struct.GraphCRF : Learns from such graphs.

    References
    ----------
    .. [1] S. Nowozin, C. Rother, S. Bagon, T. Sharp, B. Yao and P. Kohli, "Decision tree fields",
       ICCV 2011, section 4.1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_struct.datasets import make_snakes
    >>> X, y, shapes = make_snakes(2, return_shapes=True, random_state=0)
    >>> X
    GraphArray(n_graphs=2, n_nodes=75, n_edges=125, n_edge_features=2)
    >>> print(np.reshape(y[0], shapes[0]))
    [[ 0  0  0  0  0  0  0  0]
     [ 0 10  9  0  0  0  1  0]
     [ 0  0  8  7  0  3  2  0]
     [ 0  0  0  6  5  4  0  0]
     [ 0  0  0  0  0  0  0  0]]
    """
    _check_integer(n_samples, "n_samples", 0)
    _check_integer(length, "length", 1)
    if edge_features not in ("directions", "ends"):
        raise ValueError(f"edge_features must be 'directions' or 'ends', got {edge_features!r}")
    rng = check_random_state(random_state)
    pictures = [_picture(length, rng) for _ in range(n_samples)]
    shapes = [labels.shape for labels, _ in pictures]
    nodes = [_around(colours) for _, colours in pictures]
    edges = [_edges(*shape) for shape in shapes]
    features = [
        _of_edges(table, part, edge_features) for table, part in zip(edges, nodes, strict=True)
    ]
    X = GraphArray(
        _packed(nodes, NAMES),
        _packed([table[:, :2] for table in edges], None, np.int64, 2),
        _packed(features, _names(edge_features)),
    )
    y = [labels.ravel().tolist() for labels, _ in pictures]
    return (X, y, shapes) if return_shapes else (X, y)


def _check_integer(value: object, name: str, least: int) -> None:
    if not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be an integer, at least {least}, got {value!r}")


def _picture(length: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Labels and colours (height, width) of a snake, with a frame of one cell around it."""
    cells, colours = _walk(length, rng)
    place = np.array(cells)
    place -= place.min(axis=0) - 1
    shape = place.max(axis=0) + 2
    labels = np.zeros(shape, dtype=int)
    labels[tuple(place.T)] = np.arange(1, length + 1)
    picture = np.zeros(shape, dtype=int)
    picture[tuple(place.T)] = colours
    return labels, picture


def _walk(length: int, rng: np.random.RandomState) -> tuple[list[tuple[int, int]], list[int]]:
    """Cells of a snake and their colours, begun again where the way is blocked."""
    while True:
        cells = [(0, 0)]
        colours: list[int] = []
        while True:
            row, column = cells[-1]
            ahead = [(row + down, column + right) for down, right in STEPS[1:].tolist()]
            free = [k for k, cell in enumerate(ahead) if cell not in cells]
            if not free:
                break
            chosen = free[rng.randint(len(free))]
            colours.append(chosen + 1)
            if len(cells) == length:
                # the colour of the head is a step that it does not make
                return cells, colours
            cells.append(ahead[chosen])


def _around(colours: np.ndarray) -> np.ndarray:
    """Indicators (n_cells, 45) of the colours of each cell and of those around it."""
    height, width = colours.shape
    padded = np.pad(colours, 1)
    seen = [
        padded[1 + down : 1 + down + height, 1 + right : 1 + right + width].ravel()
        for down, right in PLACES.values()
    ]
    table: np.ndarray = np.eye(len(COLOURS))[np.column_stack(seen)].reshape(height * width, -1)
    return table


def _edges(height: int, width: int) -> np.ndarray:
    """Edges to the right, then down: the first node, the second one, and whether it leads down."""
    number = np.arange(height * width).reshape(height, width)
    right = number[:, :-1].ravel(), number[:, 1:].ravel()
    down = number[:-1].ravel(), number[1:].ravel()
    ends = np.concatenate([np.column_stack(right), np.column_stack(down)])
    return np.column_stack([ends, np.arange(len(ends)) >= len(right[0])])


def _of_edges(edges: np.ndarray, nodes: np.ndarray, kind: str) -> np.ndarray:
    """The features of edges: their directions, or by direction those of both ends."""
    direction: np.ndarray = np.eye(2)[edges[:, 2]]
    if kind == "directions":
        return direction
    ends = np.concatenate([nodes[edges[:, 0]], nodes[edges[:, 1]]], axis=1)
    by_direction: np.ndarray = direction[:, :, None] * ends[:, None, :]
    return by_direction.reshape(len(edges), -1)


def _names(kind: str) -> list[str]:
    if kind == "directions":
        return ["right", "down"]
    return [
        f"{direction}: {end} {name}"
        for direction in ("right", "down")
        for end in ("from", "to")
        for name in NAMES
    ]


def _packed(
    parts: list[np.ndarray], names: list[str] | None, dtype: Any = np.float64, width: int = 0
) -> SequenceArray:
    """Tables one after the other, also none at all."""
    width = len(names) if names else width
    table: np.ndarray = np.concatenate([np.zeros((0, width)), *parts]).astype(dtype)
    return SequenceArray(table, np.cumsum([0, *map(len, parts)]), names)
