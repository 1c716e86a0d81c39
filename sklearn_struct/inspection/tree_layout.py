"""Where the nodes of a tree stand in a picture: each above the middle of its children."""

from __future__ import annotations

from typing import NamedTuple
from unicodedata import east_asian_width

import numpy as np

from sklearn_struct.encoding.trees.brackets import Tree

__all__ = ["Layout", "layout", "spans"]

# inches, of text of 10 points
LETTER = 0.085
GAP = 0.17


class Layout(NamedTuple):
    """Places of the nodes and words of a tree, in pre-order, and the size of all.

    ``x`` is in inches, ``y`` the number of levels above the words; ``parent`` are numbers of nodes,
    -1 at the root.
    """

    x: np.ndarray
    y: np.ndarray
    parent: np.ndarray
    width: float


def layout(tree: Tree) -> Layout:
    """Place each node a level above its children and over its own words, so that no texts overlap.

    The column of a word is as wide as the longest text that stands over it alone. The columns below
    a phrase grow if its text is longer.
    """
    children, start, stop = _nodes(tree)
    n = len(children)
    needed = [_width(label) for label in tree.labels]
    columns = np.zeros(stop[0])
    y = np.zeros(n, dtype=int)
    parent = np.full(n, -1)
    for i in reversed(range(n)):
        # a view; nodes come after their children here, whose columns are as wide as they need
        room = columns[start[i] : stop[i]]
        room += max(needed[i] - room.sum(), 0.0) / len(room)
        y[i] = 1 + max((y[child] for child in children[i]), default=-1)
        parent[children[i]] = i
    bounds = np.concatenate([[0.0], np.cumsum(columns)])
    x = np.zeros(n)
    for i in reversed(range(n)):
        left = bounds[start[i]]
        right = bounds[stop[i]]
        middle = np.mean(x[children[i]][[0, -1]]) if children[i] else (left + right) / 2
        # the middle of the outer children may be too near to an end of the columns for the text
        x[i] = np.clip(middle, left + needed[i] / 2, right - needed[i] / 2)
    return Layout(x, y, parent, float(bounds[-1]))


def spans(tree: Tree) -> list[tuple[int, int]]:
    """The words below each node, as ``start, stop``."""
    _, start, stop = _nodes(tree)
    return list(zip(start, stop))


def _nodes(tree: Tree) -> tuple[list[list[int]], list[int], list[int]]:
    """The children of each node, its first word, and the one after its last."""
    n = len(tree.arity)
    children: list[list[int]] = [[] for _ in range(n)]
    start = [0] * n
    stop = [0] * n
    subtrees: list[int] = []  # nodes without a parent yet, the leftmost on top
    word = tree.arity.count(0)
    for i in reversed(range(n)):
        below = tree.arity[i]
        if below:
            children[i] = subtrees[: -below - 1 : -1]
            del subtrees[-below:]
            start[i] = start[children[i][0]]
            stop[i] = stop[children[i][-1]]
        else:
            word -= 1
            start[i] = word
            stop[i] = word + 1
        subtrees.append(i)
    return children, start, stop


def _width(text: str) -> float:
    """Inches, roughly: wide letters of East Asia count twice."""
    return GAP + LETTER * sum(1 + (east_asian_width(letter) in "WF") for letter in text)
