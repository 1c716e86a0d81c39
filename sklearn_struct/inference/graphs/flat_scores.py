"""Scores of all families of cliques in one array, for kernels that take any number of them."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.threads import in_parts
from sklearn_struct.containers.structures import Potentials, Structure

__all__ = [
    "Cliques",
    "FlatScores",
    "add_to",
    "by_example",
    "cliques_of",
    "cliques_of_example",
    "first_score",
    "flat_scores",
    "have_forbidden",
    "scaled",
]


class Cliques(NamedTuple):
    """Cliques of all families, one after the other.

    Clique c has nodes ``members[bounds[c] : bounds[c + 1]]``. It is number ``row[c]`` of family
    ``family[c]``. Those of example i are ``ranges[i, f, 0]`` to before ``ranges[i, f, 1]`` in each
    family f.
    """

    bounds: np.ndarray
    members: np.ndarray
    family: np.ndarray
    row: np.ndarray
    ranges: np.ndarray


class FlatScores(NamedTuple):
    """Scores, or sums in their form: of nodes (n, K), and of the cliques of all families in one
    array.

    Those of family f begin at ``starts[f]``. From clique to clique it is ``steps[f]`` numbers, 0
    where all share one row.
    """

    node: np.ndarray
    tables: np.ndarray
    starts: np.ndarray
    steps: np.ndarray


def cliques_of(structure: Structure) -> Cliques:
    """The cliques of a structure."""
    families = structure.families
    none = np.empty(0, np.int64)
    counts = [len(family.nodes) for family in families]
    sizes = np.repeat([family.nodes.shape[1] for family in families], counts)
    firsts = np.cumsum([0, *counts])
    ranges = np.empty((structure.n_examples, len(families), 2), np.int64)
    for f, family in enumerate(families):
        ranges[:, f, 0] = firsts[f] + family.offsets[:-1]
        ranges[:, f, 1] = firsts[f] + family.offsets[1:]
    return Cliques(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([none, *(family.nodes.ravel() for family in families)]),
        np.repeat(np.arange(len(counts)), counts),
        np.concatenate([none, *map(np.arange, counts)]),
        ranges,
    )


@kernel
def cliques_of_example(cliques: Cliques, i: int) -> np.ndarray:
    """The numbers of the cliques of example i."""
    n = 0
    for f in range(cliques.ranges.shape[1]):
        n += cliques.ranges[i, f, 1] - cliques.ranges[i, f, 0]
    chosen = np.empty(n, np.int64)
    n = 0
    for f in range(cliques.ranges.shape[1]):
        for c in range(cliques.ranges[i, f, 0], cliques.ranges[i, f, 1]):
            chosen[n] = c
            n += 1
    return chosen


def flat_scores(potentials: Potentials, empty: bool = False) -> FlatScores:
    """Copies of potentials, real ones in double precision; or zeros in their form."""
    node, cliques = potentials
    dtype = np.result_type(node, *cliques, np.float64)
    starts = [0, *accumulate(table.size for table in cliques)]
    steps = [table.shape[1] if len(table) > 1 else 0 for table in cliques]
    if empty:
        copies = np.zeros(node.shape, dtype), np.zeros(starts[-1], dtype)
    else:
        tables = np.concatenate([np.empty(0, dtype), *(table.ravel() for table in cliques)])
        copies = np.array(node, dtype, order="C"), tables
    return FlatScores(*copies, np.array(starts[:-1], np.int64), np.array(steps, np.int64))


def add_to(out: Potentials, sums: FlatScores) -> None:
    """Add sums to potentials of the form of which they are."""
    rows = out.node
    in_parts(lambda a, b: np.add(rows[a:b], sums.node[a:b], out=rows[a:b]), len(rows))
    for start, table in zip(sums.starts, out.cliques, strict=True):
        table += sums.tables[start : start + table.size].reshape(table.shape)


def scaled(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """exp(rows - largest of the row), and the largest, 0 where all are -inf."""
    numbers = np.array(rows, np.result_type(rows, np.float64), order="C")
    top = np.empty(len(rows))
    _take_largest(numbers, top)
    return np.exp(numbers, out=numbers), top


@kernel
def _take_largest(rows: np.ndarray, top: np.ndarray) -> None:
    K = rows.shape[1]
    for i in range(len(rows)):
        largest = -np.inf
        for k in range(K):
            largest = max(largest, rows[i, k].real)
        top[i] = largest if largest > -np.inf else 0.0
        for k in range(K):
            rows[i, k] -= top[i]


def by_example(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sums of what stands between offsets; no sum depends on what stands elsewhere."""
    sums = np.zeros(len(offsets) - 1)
    _add_up(np.require(values, np.float64, ["C", "W"]), offsets, sums)
    return sums


@kernel
def _add_up(values: np.ndarray, offsets: np.ndarray, sums: np.ndarray) -> None:
    for i in range(len(sums)):
        for v in range(offsets[i], offsets[i + 1]):
            sums[i] += values[v]


def have_forbidden(potentials: Potentials, structure: Structure) -> np.ndarray:
    """Whether tables of an example's cliques have -inf."""
    n = np.zeros(structure.n_examples)
    for table, family in zip(potentials.cliques, structure.families, strict=True):
        of_rows = np.any(table.real == -np.inf, axis=1)
        n += by_example(np.broadcast_to(of_rows, len(family.nodes)), family.offsets)
    some: np.ndarray = n > 0
    return some


@inlined
def first_score(scores: FlatScores, cliques: Cliques, c: int) -> int:
    """Where the scores of a clique begin."""
    f = cliques.family[c]
    first: int = scores.starts[f] + scores.steps[f] * cliques.row[c]
    return first
