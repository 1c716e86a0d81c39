"""Exact inference on any graph whose tables fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from sklearn_struct.compiled.kernel import uncounted
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials, Structure
from sklearn_struct.inference.graphs.bucket_sums import (
    add_marginals,
    best_labels,
    drawn_labels,
    sum_out,
)
from sklearn_struct.inference.graphs.bucket_tables import Room, room_for
from sklearn_struct.inference.graphs.buckets import Buckets, Labels, buckets_of, finite_labels
from sklearn_struct.inference.graphs.complex_step import OnGraphs
from sklearn_struct.inference.graphs.flat_scores import (
    FlatScores,
    add_to,
    first_score,
    flat_scores,
    scaled,
)

__all__ = ["JunctionTree"]

# how often each number of a table is read or written
PASSES = 10


@dataclass(frozen=True)
class JunctionTree(OnGraphs):
    """Exact inference on any structure, with cliques of any size.

    Nodes are summed out one after the other, in the best of some orders: as numbered, by least
    degree, by least fill [1]_. A clique of r nodes scores its labels j, ..., k in column
    ((j * K) + ...) * K + k. Labels of score -inf need no room.

    Parameters
    ----------
    most : float
        How many numbers the tables of an example may have; a ValueError for more.

    References
    ----------
    .. [1] D. Koller and N. Friedman, "Probabilistic graphical models", 2009, chapters 9 and 10.
    """

    most: float = 2.0**27

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals to `out`, write log Z; see `Inference.marginals`."""
        work = _Work(potentials, structure, self.most)
        linear, taken = work.linear()
        into = flat_scores(out, empty=True)
        patiently(
            lambda: _add_marginals(
                (linear, taken, work.logs, into),
                (work.labels, work.buckets, work.room),
                weight,
                log_Z,
            ),
            PASSES * work.n_numbers,
        )
        add_to(out, into)

    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Write the best labelling and, if asked for, its score; ties go to the smaller label."""
        work = _Work(potentials, structure, self.most)
        patiently(
            lambda: _best(work.logs, work.labels, work.buckets, work.room, labels),
            PASSES * work.n_numbers,
        )
        if score is not None:
            score[:] = self.scores(potentials, structure, labels)

    def sample(
        self,
        potentials: Potentials,
        structure: Structure,
        uniform: np.ndarray,
        labels: np.ndarray,
        score: np.ndarray,
    ) -> None:
        """Draw one labelling of each example from p(y | x), by one number in [0, 1) a node."""
        work = _Work(potentials, structure, self.most)
        patiently(
            lambda: _draw(work.logs, work.labels, work.buckets, work.room, uniform, labels),
            PASSES * work.n_numbers,
        )
        score[:] = self.scores(potentials, structure, labels)


class _Work:
    """What kernels take: scores as one array, the steps of a structure, and memory."""

    def __init__(self, potentials: Potentials, structure: Structure, most: float) -> None:
        self.logs = flat_scores(potentials)
        self.labels = finite_labels(self.logs.node)
        self.buckets = buckets_of(structure, self.labels, most)
        self.widths = [table.shape[1] for table in potentials.cliques]
        self.room = room_for(self.buckets, self.logs.node.dtype)
        self.n_numbers = self.buckets.room[0] * structure.n_examples

    def linear(self) -> tuple[FlatScores, FlatScores]:
        """Exponentials of the scores, each row divided by its largest; and the logarithms of
        these, in the form of scores.
        """
        node, tables, starts, steps = self.logs
        numbers, top = scaled(node)
        rows = [np.empty(0, tables.dtype)]
        taken = [np.empty(0)]
        bounds = pairwise([*starts.tolist(), len(tables)])
        for (start, end), width in zip(bounds, self.widths, strict=True):
            of_family, of_rows = scaled(tables[start:end].reshape(-1, width))
            rows.append(of_family.ravel())
            taken.append(of_rows)
        firsts = np.array([0, *accumulate(map(len, taken[1:]))][:-1], np.int64)
        return (
            self.logs._replace(node=numbers, tables=np.concatenate(rows)),
            FlatScores(top[:, None], np.concatenate(taken), firsts, np.minimum(steps, 1)),
        )


@uncounted
def _add_marginals(
    factors: tuple[FlatScores, FlatScores, FlatScores, FlatScores],
    work: tuple[Labels, Buckets, Room],
    weight: np.ndarray,
    log_Z: np.ndarray,
) -> None:
    linear, taken, logs, into = factors
    labels, buckets, room = work
    for i in range(len(weight)):
        log_Z[i] = 0.0
        if weight[i] == 0.0:
            continue
        total = sum_out(linear, labels, buckets, i, room, False) + _total(taken, buckets, i)
        if np.isnan(total.real):
            total = sum_out(logs, labels, buckets, i, room, True)
        log_Z[i] = total
        if total.real > -np.inf:
            add_marginals(labels, buckets, i, room, weight[i], into)


@uncounted
def _total(taken: FlatScores, buckets: Buckets, i: int) -> float:
    """The sum of what was taken from the scores of an example."""
    total = 0.0
    for v in range(buckets.offsets[i], buckets.offsets[i + 1]):
        total += taken.node[v, 0]
    cliques = buckets.cliques
    for f in range(len(taken.starts)):
        for c in range(cliques.ranges[i, f, 0], cliques.ranges[i, f, 1]):
            total += taken.tables[first_score(taken, cliques, c)]
    return total


@uncounted
def _best(
    factors: FlatScores, labels: Labels, buckets: Buckets, room: Room, chosen: np.ndarray
) -> None:
    for i in range(len(buckets.offsets) - 1):
        best_labels(factors, labels, buckets, i, room, chosen)


@uncounted
def _draw(
    factors: FlatScores,
    labels: Labels,
    buckets: Buckets,
    room: Room,
    uniform: np.ndarray,
    chosen: np.ndarray,
) -> None:
    for i in range(len(buckets.offsets) - 1):
        log_Z = sum_out(factors, labels, buckets, i, room, True)
        if log_Z > -np.inf:
            drawn_labels(labels, buckets, i, room, uniform, chosen)
        else:
            # some labelling, as none is allowed
            for v in range(buckets.offsets[i], buckets.offsets[i + 1]):
                chosen[v] = 0
