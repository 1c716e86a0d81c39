"""Exact inference where all examples have the same few nodes of two labels, by a number for each of
the 2**n labellings.

Labelling s gives node k the label that bit k of s says. All numbers of an example lie in a row, so
loops over them are loops over vectors, and the scores of pairs are made once for all examples whose
tables are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import LANES, add, load, total
from sklearn_struct.containers.structures import Potentials, Structure, has_only_edges
from sklearn_struct.inference.base import Inference
from sklearn_struct.inference.graphs.complex_step import OnGraphs
from sklearn_struct.inference.graphs.remembered import of_structure

__all__ = ["LabelSets"]

# of the rows that are made at once: they stay in a cache
NUMBERS = 1 << 16
MOST_NODES = 20
# what a call may go over, some milliseconds
MOST = 1 << 20


class Alike(NamedTuple):
    """How many nodes each example has, and the number of the edge (n, n) between nodes j < k; -1
    where there is none.
    """

    n: int
    edge: np.ndarray


@dataclass(frozen=True)
class LabelSets(OnGraphs):
    """Sums over all sets of labels where a row has so many nodes; all else by another inference.

    Parameters
    ----------
    otherwise : Inference
        For other structures, complex scores and samples. It is exact for what is summed here.
    most : float
        The largest number of labellings.
    """

    otherwise: Inference
    most: float = 2.0**16

    def most_tokens(self, structure: Structure, n_labels: int) -> int:
        """With how many nodes a call is still short."""
        alike = self._alike(structure, n_labels)
        if alike is None:
            return self.otherwise.most_tokens(structure, n_labels)
        return alike.n * max(MOST >> alike.n, 1)

    def marginals(
        self,
        potentials: Potentials,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        log_Z: np.ndarray,
    ) -> None:
        """Add weighted marginals to `out`, write log Z; see `Inference.marginals`."""
        alike = self._alike(structure, potentials.node.shape[1])
        is_real = potentials.node.dtype.kind == "f" and potentials.cliques[0].dtype.kind == "f"
        if alike is None or not is_real:
            self.otherwise.marginals(potentials, structure, weight, out, log_Z)
            return
        n_edges = structure.families[0].nodes.shape[0] // max(structure.n_examples, 1)
        tables = np.zeros((len(structure.families[0].nodes), 4))
        room = np.empty(1 << alike.n)
        for first, scores in self._rows(potentials, alike, n_edges):
            top = scores.max(axis=1)
            shift = np.where(np.isfinite(top), top, 0.0)
            np.exp(scores - shift[:, None], out=scores)
            part = slice(first, first + len(scores))
            sums = np.empty(len(scores))
            nodes = out.node[part.start * alike.n : part.stop * alike.n]
            of_pairs = tables[part.start * n_edges : part.stop * n_edges]
            _add_marginals(scores, alike.edge, weight[part], (nodes, of_pairs), room, sums)
            with np.errstate(divide="ignore"):
                log_Z[part] = np.where(weight[part] != 0, np.log(sums) + shift, 0.0)
        into = out.cliques[0]
        into += tables.sum(axis=0) if len(into) == 1 else tables

    def argmax(
        self,
        potentials: Potentials,
        structure: Structure,
        labels: np.ndarray,
        score: np.ndarray | None = None,
    ) -> None:
        """Write the best labelling and, if asked for, its score."""
        alike = self._alike(structure, potentials.node.shape[1])
        if alike is None:
            self.otherwise.argmax(potentials, structure, labels, score)
            return
        n_edges = structure.families[0].nodes.shape[0] // max(structure.n_examples, 1)
        rows = labels.reshape(-1, alike.n)
        for first, scores in self._rows(potentials, alike, n_edges):
            best = scores.argmax(axis=1)
            rows[first : first + len(best)] = best[:, None] >> np.arange(alike.n) & 1
        if score is not None:
            score[:] = self.scores(potentials, structure, labels)

    def score_bound(self, potentials: Potentials, structure: Structure) -> np.ndarray:
        """The score of the best labelling; see `Inference.score_bound`."""
        if self._alike(structure, potentials.node.shape[1]) is None:
            return self.otherwise.score_bound(potentials, structure)
        labels = np.empty(len(potentials.node), np.int32)
        score = np.empty(structure.n_examples)
        self.argmax(potentials, structure, labels, score)
        return score

    def _alike(self, structure: Structure, n_labels: int) -> Alike | None:
        """The nodes and edges that all examples have, where this is quicker than otherwise."""
        if n_labels != 2 or structure.sizes is not None or not has_only_edges(structure, True):
            return None
        alike: Alike | None = of_structure(structure, "alike", lambda: _read(structure))
        return None if alike is None or 2.0**alike.n > self.most else alike

    def _rows(
        self, potentials: Potentials, alike: Alike, n_edges: int
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Scores (n_rows, 2**n) of all labellings of some examples, and the number of the first."""
        n_sets = 1 << alike.n
        n_rows = len(potentials.node) // alike.n
        at_once = max(NUMBERS // n_sets, 1)
        node = np.ascontiguousarray(potentials.node, np.float64)
        pairs = np.ascontiguousarray(potentials.cliques[0], np.float64)
        edge = alike.edge
        if len(pairs) == 1:
            # one table for all edges of all examples
            edge = np.minimum(edge, 0)
            n_edges = 0
        room = np.empty((3, n_sets))
        for first in range(0, n_rows, at_once):
            scores = np.empty((min(at_once, n_rows - first), n_sets))
            _score(node, pairs, edge, (first, n_edges), room, scores)
            yield first, scores


def _read(structure: Structure) -> Alike | None:
    """What all examples have in common, if there is a cycle in it; trees are quicker as such."""
    sizes = np.diff(structure.offsets)
    family = structure.families[0]
    counts = np.diff(family.offsets)
    if not len(sizes):
        return None
    n = int(sizes[0])
    m = int(counts[0])
    if np.any(sizes != n) or np.any(counts != m) or m < n or n > MOST_NODES:
        return None
    places = family.nodes.reshape(-1, m, 2) - structure.offsets[:-1, None, None]
    first = places[0]
    if np.any(places != first) or np.any(first[:, 0] >= first[:, 1]):
        return None
    edge = np.full((n, n), -1)
    edge[first[:, 0], first[:, 1]] = np.arange(m)
    # of several edges between two nodes one would be lost
    return Alike(n, edge) if np.count_nonzero(edge >= 0) == m else None


@kernel
def _score(
    node: np.ndarray,
    pairs: np.ndarray,
    edge: np.ndarray,
    start: tuple[int, int],
    room: np.ndarray,
    scores: np.ndarray,
) -> None:
    """Write the scores of all labellings of some examples; row 2 of `room` is for those of pairs,
    which are made again where the tables of an example differ from those of the one before.
    """
    first, n_edges = start
    n = len(edge)
    for r in range(len(scores)):
        at = (first + r) * n_edges
        again = r == 0
        for e in range(n_edges if r else 0):
            for c in range(4):
                again |= pairs[at + e, c] != pairs[at - n_edges + e, c]
        if again:
            _score_pairs(pairs, edge, at, room)
        row = scores[r]
        row[0] = 0.0
        for k in range(n):
            half = 1 << k
            off = node[(first + r) * n + k, 0]
            on = node[(first + r) * n + k, 1]
            for s in range(half):
                row[half + s] = row[s] + on
                row[s] += off
        of_pairs = room[2]
        for s in range(len(row)):
            row[s] += of_pairs[s]


@kernel
def _score_pairs(pairs: np.ndarray, edge: np.ndarray, at: int, room: np.ndarray) -> None:
    """Write what pairs give to each labelling into row 2 of `room`."""
    off = room[0]
    on = room[1]
    of_all = room[2]
    of_all[0] = 0.0
    for k in range(len(edge)):
        # what the edges from node k to nodes before it give, where its label is 0 or 1
        off[0] = 0.0
        on[0] = 0.0
        for j in range(k):
            half = 1 << j
            e = edge[j, k]
            if e < 0:
                for s in range(half):
                    off[half + s] = off[s]
                    on[half + s] = on[s]
                continue
            table = pairs[at + e]
            for s in range(half):
                off[half + s] = off[s] + table[2]
                off[s] += table[0]
            for s in range(half):
                on[half + s] = on[s] + table[3]
                on[s] += table[1]
        half = 1 << k
        for s in range(half):
            of_all[half + s] = of_all[s] + on[s]
            of_all[s] += off[s]


@kernel
def _add_marginals(
    numbers: np.ndarray,
    edge: np.ndarray,
    weight: np.ndarray,
    out: tuple[np.ndarray, np.ndarray],
    room: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add the weighted marginals of examples whose labellings have these numbers, which are
    overwritten; write their sums.
    """
    node, tables = out
    n = len(edge)
    n_edges = len(tables) // len(numbers)
    for r in range(len(numbers)):
        row = numbers[r]
        sums[r] = _sum(row, 0, len(row))
        if weight[r] == 0 or not sums[r] > 0:
            continue
        scale = weight[r] / sums[r]
        for k in range(n - 1, -1, -1):
            half = 1 << k
            for label in range(2):
                # all labellings of the nodes up to k in which its label is this one
                start = label * half
                node[r * n + k, label] += scale * _sum(row, start, half)
                for s in range(half):
                    room[s] = row[start + s]
                for j in range(k - 1, -1, -1):
                    quarter = 1 << j
                    e = edge[j, k]
                    if e >= 0:
                        table = tables[r * n_edges + e]
                        table[label] += scale * _sum(room, 0, quarter)
                        table[2 + label] += scale * _sum(room, quarter, quarter)
                    for s in range(quarter):
                        room[s] += room[quarter + s]
            for s in range(half):
                row[s] += row[half + s]


@kernel
def _sum(numbers: np.ndarray, first: int, n: int) -> float:
    """The sum of n numbers, a power of two."""
    if n < LANES:
        short = 0.0
        for i in range(first, first + n):
            short += numbers[i]
        return short
    vector = load(numbers, first)
    for i in range(first + LANES, first + n, LANES):
        vector = add(vector, load(numbers, i))
    return total(vector)
