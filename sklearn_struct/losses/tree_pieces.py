"""Another loss of spanning forests: piecewise training whose pieces are trees."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_struct.containers.structures import (
    Copies,
    Family,
    Potentials,
    Structure,
    copies,
)
from sklearn_struct.inference.graphs.flat_scores import cliques_of
from sklearn_struct.inference.graphs.remembered import of_structure
from sklearn_struct.inference.graphs.spanning_forests import covering_forests
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.evidence import Evidence

__all__ = ["TreePieces"]


class TreePieces(Loss):
    """The mean loss of forests that cover a graph (P1 5.4.3, pieces that are subgraphs).

        1 / T sum_t -log p_t(y),   p_t(y) ~ exp(sum_i score of node i + sum_(c in t) score_c / m_c)

    over T forests t, of which the share m_c has clique c. So the mean of the scores of the forests
    is the score, and each is a forest: with an inference that is exact there, the loss is. By the
    convexity of log Z it bounds -log p(y | x) from above (M. Wainwright, T. Jaakkola and A.
    Willsky, IEEE Transactions on Information Theory 2005, with fixed trees and scores). A graph
    that is a forest has one piece, all of it.

    Parameters
    ----------
    loss : Loss
        One of known labels, of any structure; `hess_vec` needs its.
    """

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        self.convex = loss.convex
        self.twice_differentiable = loss.twice_differentiable

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The mean over the forests of each example."""
        forests = _forests_of(batch.structure)
        inner = _batch(batch, forests)
        room = _room(forests, out)
        cost = np.empty(len(forests.example))
        self.loss(inner, room, cost)
        _put_back(room, forests, out)
        value[:] = np.bincount(forests.example, cost * forests.part, len(value))

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """The mean over the forests of each example."""
        forests = _forests_of(batch.structure)
        inner = _batch(batch, forests)
        room = _room(forests, out)
        self.loss.hess_vec(inner, _cut(direction, forests), room)
        _put_back(room, forests, out)


class _Forests(NamedTuple):
    """Forests as examples of their own: which example each is of, and which part (1 / T) of its
    forests; ``tokens`` and ``cliques`` say where nodes and those of each family come from. Scores
    of cliques are divided by ``share``, an array for each family, None where all are 1.
    """

    structure: Structure
    example: np.ndarray
    part: np.ndarray
    tokens: np.ndarray
    cliques: tuple[np.ndarray, ...]
    share: tuple[np.ndarray | None, ...]


def _forests_of(structure: Structure) -> _Forests:
    """Made once for a structure."""
    return of_structure(structure, "covering forests", lambda: _forests(structure))


def _forests(structure: Structure) -> _Forests:
    cliques = cliques_of(structure)
    taken = np.array(covering_forests(structure, cliques))
    has_some = np.zeros((len(taken), structure.n_examples), bool)
    # also without cliques there is a forest
    has_some[0] = True
    firsts = np.cumsum([0, *(len(family.nodes) for family in structure.families)])
    of_families = [taken[:, a:b] for a, b in pairwise(firsts.tolist())]
    for table, family in zip(of_families, structure.families, strict=True):
        owner = np.repeat(np.arange(structure.n_examples), np.diff(family.offsets))
        for t, row in enumerate(table):
            has_some[t, owner[row]] = True
    number, example = np.nonzero(has_some)
    n_forests = has_some.sum(axis=0)
    every = copies(structure, example)
    families = []
    origins = []
    share = []
    for f, table in enumerate(of_families):
        family, rows = _chosen(every, f, table, number)
        of_cliques = table.sum(axis=0)[rows] / n_forests[example].repeat(np.diff(family.offsets))
        families.append(family)
        origins.append(rows)
        share.append(None if np.all(of_cliques == 1.0) else of_cliques)
    made = Structure(every.structure.offsets, tuple(families), every.structure.sizes)
    part = 1.0 / n_forests[example]
    return _Forests(made, example, part, every.tokens, tuple(origins), tuple(share))


def _chosen(
    every: Copies, f: int, taken: np.ndarray, number: np.ndarray
) -> tuple[Family, np.ndarray]:
    """The cliques of a family that forests have, and where these come from, if each copy of an
    example is the forest of some number.
    """
    family = every.structure.families[f]
    rows = every.cliques[f]
    owner = np.repeat(np.arange(len(number)), np.diff(family.offsets))
    kept = taken[number[owner], rows]
    bounds = np.searchsorted(owner[kept], np.arange(len(number) + 1))
    return Family(family.nodes[kept], bounds), rows[kept]


def _batch(batch: Batch, forests: _Forests) -> Batch:
    """The forests as examples of their own."""
    y = batch.evidence.known_labels()
    weight = batch.weight[forests.example] * forests.part
    potentials = _cut(batch.potentials, forests)
    return Batch(potentials, Evidence(y[forests.tokens]), forests.structure, weight)


def _cut(potentials: Potentials, forests: _Forests) -> Potentials:
    """The potentials of the forests; a shared table stays shared if all cliques are in each."""
    node = np.asarray(potentials.node, np.float64)[forests.tokens]
    cliques = []
    parts = zip(potentials.cliques, forests.cliques, forests.share, strict=True)
    for table, rows, share in parts:
        own = table if len(table) == 1 else table[rows]
        cliques.append(own if share is None else own / share[:, None])
    return Potentials(node, tuple(cliques))


def _room(forests: _Forests, out: Potentials) -> Potentials:
    """Zeros for derivatives in the forests' potentials, one row where sums in `out` are enough."""
    cliques = []
    parts = zip(out.cliques, forests.cliques, forests.share, strict=True)
    for into, rows, share in parts:
        n_rows = 1 if len(into) == 1 and share is None else len(rows)
        cliques.append(np.zeros((n_rows, into.shape[1])))
    return Potentials(np.zeros((len(forests.tokens), out.node.shape[1])), tuple(cliques))


def _put_back(room: Potentials, forests: _Forests, out: Potentials) -> None:
    """Add derivatives in the forests' potentials to those in the potentials they are made of."""
    np.add.at(out.node, forests.tokens, room.node)
    parts = zip(room.cliques, forests.cliques, forests.share, out.cliques, strict=True)
    for own, rows, share, into in parts:
        sums = own if share is None else own / share[:, None]
        if len(into) == 1:
            into[0] += sums.sum(axis=0)
        else:
            np.add.at(into, rows, sums)
