"""The edges of grids of pixels, as cliques of each direction or of all."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.grid_edges import contrasts, directions, edges
from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import n_columns
from sklearn_struct.encoding.graphs import EDGES, GivenCliques
from sklearn_struct.encoding.images import GivenImages
from sklearn_struct.exceptions import InputTypeError, NonFiniteError

__all__ = ["GridForm", "check_room", "grid_cliques"]

COPIES = 3  # of tables of single edges: scores, their exponentials, marginals


class GridForm(NamedTuple):
    """How many neighbours pixels have; the kind of their weights, "contrast" for features; whether
    directions have weights of their own; and whether channels are scores.
    """

    neighbours: int
    pairwise: str
    apart: bool
    scores: bool


def grid_cliques(given: GivenImages, form: GridForm) -> dict[str, GivenCliques]:
    """The edges of images, by the names of their directions, or all as one kind.

    Raises
    ------
    InputTypeError
        With the place, if an image has nothing by which pixels contrast.
    """
    names = list(directions(form.neighbours))
    tables = _tables(given, form)
    features = None
    # single pixels have no edges
    if form.pairwise == "contrast" and given.rows:
        features = [
            contrasts(_picture(given, i, form), of_image) for i, of_image in enumerate(tables)
        ]
    if not form.apart:
        names = [EDGES]
        tables = [[np.concatenate(of_image)] for of_image in tables]
        if features is not None:
            features = [[np.concatenate(of_image)] for of_image in features]
    kinds = form.pairwise == "symmetric", form.pairwise in ("potts", "contrast"), True
    cliques = {}
    for f, name in enumerate(names):
        packed = None if features is None else _packed([of_image[f] for of_image in features])
        cliques[name] = GivenCliques(2, [of_image[f] for of_image in tables], packed, *kinds)
    return cliques


def _tables(given: GivenImages, form: GridForm) -> list[list[np.ndarray]]:
    """For each image the edges of each direction."""
    steps = list(directions(form.neighbours).values())
    none = [np.zeros((0, 2), np.int64) for _ in steps]
    # of images of one shape, in which no pixel is masked, they are the same
    known: dict[tuple[int, ...], list[np.ndarray]] = {}
    tables = []
    for shape, kept in zip(given.layout.shapes, given.layout.kept, strict=True):
        if kept is not None:
            tables.append([edges(shape, step, kept) for step in steps])
            continue
        if shape not in known:
            single = len(shape) != len(steps[0])
            known[shape] = none if single else [edges(shape, step) for step in steps]
        tables.append(known[shape])
    return tables


def _picture(given: GivenImages, i: int, form: GridForm) -> np.ndarray:
    """What the pixels of image i are compared by: its picture, or else its channels."""
    picture = given.pictures[i]
    if picture is None:
        if form.scores:
            raise InputTypeError(
                f"X[{i}] has scores and no picture: with pairwise='contrast' an item of X is a "
                "tuple (scores, picture), or use pairwise='potts'"
            )
        return given.rows[i]
    kept = given.layout.kept[i]
    rows = picture if kept is None else picture[kept]
    wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(wrong):
        place = given.layout.place(int(given.layout.offsets[i]) + int(wrong[0]))
        raise NonFiniteError(f"{place}: its picture is not finite ({rows[wrong[0]]})")
    return rows


def _packed(parts: list[np.ndarray]) -> SequenceArray:
    rows = np.concatenate([np.zeros(0), *parts])[:, None]
    return SequenceArray(rows, np.cumsum([0, *map(len, parts)]))


def check_room(offsets: np.ndarray, n_labels: int) -> None:
    """Raise MemoryError if the tables of the edges of an image do not fit."""
    for i, (first, last) in enumerate(pairwise(offsets.tolist())):
        reserve(
            COPIES * 8 * (last - first) * n_columns(n_labels, 2),
            f"X[{i}] has {last - first:,} edges, and with pairwise='contrast' each has a table of "
            f"{n_labels} x {n_labels} labels (with 'potts' they share one), which",
        )
