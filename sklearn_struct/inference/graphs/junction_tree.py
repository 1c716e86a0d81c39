"""Exact inference on any graph whose tables fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.threads import patiently
from sklearn_struct.containers.structures import Potentials, Structure, n_columns
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
    by_example,
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
        linear, shift = work.linear(structure)
        into = flat_scores(out, empty=True)
        patiently(
            lambda: _add_marginals(
                (linear, work.logs, into),
                (work.labels, work.buckets, work.room),
                (weight, shift),
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
        self.labels = finite_labels(potentials.node)
        self.buckets = buckets_of(structure, self.labels, most)
        self.logs = flat_scores(potentials)
        self.room = room_for(self.buckets, self.logs.node.dtype)
        self.n_numbers = self.buckets.room[0] * structure.n_examples

    def linear(self, structure: Structure) -> tuple[FlatScores, np.ndarray]:
        """Exponentials of the scores, each row divided by its largest; and what that has taken from
        each example's log Z.
        """
        logs = self.logs
        node, taken = scaled(logs.node)
        shift = by_example(taken, structure.offsets)
        tables = [np.empty(0, logs.tables.dtype)]
        bounds = pairwise([*logs.starts, len(logs.tables)])
        for family, (start, end) in zip(structure.families, bounds, strict=True):
            width = n_columns(logs.node.shape[1], family.nodes.shape[1])
            numbers, taken = scaled(logs.tables[start:end].reshape(-1, width))
            tables.append(numbers.ravel())
            n_cliques = len(family.nodes)
            # one for all of them, or one for each
            shift += by_example(np.broadcast_to(taken, n_cliques), family.offsets)
        return logs._replace(node=node, tables=np.concatenate(tables)), shift


@kernel
def _add_marginals(
    factors: tuple[FlatScores, FlatScores, FlatScores],
    work: tuple[Labels, Buckets, Room],
    examples: tuple[np.ndarray, np.ndarray],
    log_Z: np.ndarray,
) -> None:
    linear, logs, into = factors
    labels, buckets, room = work
    weight, shift = examples
    for i in range(len(weight)):
        log_Z[i] = 0.0
        if weight[i] == 0.0:
            continue
        total = sum_out(linear, labels, buckets, i, room, False) + shift[i]
        if np.isnan(total.real):
            total = sum_out(logs, labels, buckets, i, room, True)
        log_Z[i] = total
        if total.real > -np.inf:
            add_marginals(labels, buckets, i, room, weight[i], into)


@kernel
def _best(
    factors: FlatScores, labels: Labels, buckets: Buckets, room: Room, chosen: np.ndarray
) -> None:
    for i in range(len(buckets.offsets) - 1):
        best_labels(factors, labels, buckets, i, room, chosen)


@kernel
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
