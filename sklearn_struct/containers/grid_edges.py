"""Edges between neighbouring pixels, direction by direction, and how much pixels contrast there."""

from __future__ import annotations

from itertools import product

import numpy as np

__all__ = ["NEIGHBOURS", "contrasts", "directions", "edges"]

NEIGHBOURS = (4, 8, 6, 26)
# the words for a step along each axis, the last axis last
STEPS = ({1: "next", 0: ""}, {1: "down", -1: "up", 0: ""}, {1: "right", -1: "left", 0: ""})


def directions(neighbours: int) -> dict[str, tuple[int, ...]]:
    """The steps from a pixel to those neighbours that come after it, row by row, by their names."""
    n_axes = 2 if neighbours in (4, 8) else 3
    every = list(product((-1, 0, 1), repeat=n_axes))
    # half of all neighbours: each edge once
    later = [step for step in every if step > (0,) * n_axes]
    if neighbours in (4, 6):
        later = [step for step in later if sum(map(abs, step)) == 1]
    words = STEPS[-n_axes:]
    return {
        " ".join(filter(None, (names[way] for names, way in zip(words, step)))): step
        for step in later
    }


def edges(
    shape: tuple[int, ...], step: tuple[int, ...], kept: np.ndarray | None = None
) -> np.ndarray:
    """The edges (n, 2) of one direction: numbers of the nodes of a pixel and of its neighbour.

    ``kept`` are the flat numbers of the pixels that have nodes; None is all of them.
    """
    number = np.arange(int(np.prod(shape)), dtype=np.int64)
    if kept is not None:
        number = np.full(len(number), -1, np.int64)
        number[kept] = np.arange(len(kept))
    before, after = _sides(number.reshape(shape), step)
    table = np.column_stack([before.ravel(), after.ravel()])
    return table if kept is None else table[np.all(table >= 0, axis=1)]


def contrasts(rows: np.ndarray, tables: list[np.ndarray]) -> list[np.ndarray]:
    """exp(-|x_i - x_j|^2 / (2 m)) for the edges of each table, where m is the mean of |x_i - x_j|^2
    over the edges of all tables. It is 1 where pixels are alike, and everywhere if all are.
    """
    # all that counts are ratios of distances, and squares of these numbers are finite
    largest = float(np.abs(rows).max(initial=0))
    unit = rows / largest if largest > 0 else rows
    squares = [_squares(unit, table) for table in tables]
    n = sum(map(len, squares))
    mean = sum(float(part.sum()) for part in squares) / max(n, 1)
    if mean == 0.0:
        return [np.ones(len(part)) for part in squares]
    return [np.exp(-part / (2 * mean)) for part in squares]


def _squares(rows: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The squared distances of the pixels of each edge."""
    distance = np.zeros(len(table))
    # channel by channel: little memory beside the edges
    for channel in rows.T:
        values = channel.astype(np.float64)
        distance += (values[table[:, 0]] - values[table[:, 1]]) ** 2
    return distance


def _sides(array: np.ndarray, step: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The pixels that have a neighbour in this direction, and these neighbours."""
    before = []
    after = []
    for way, n in zip(step, array.shape):
        forward = slice(max(way, 0), n + min(way, 0))
        back = slice(max(-way, 0), n + min(-way, 0))
        before.append(back)
        after.append(forward)
    return array[tuple(before)], array[tuple(after)]
