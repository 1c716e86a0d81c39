"""Another loss of short windows of each sequence, with the labels beside a window given or left out
of account.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Potentials, Structure, chain
from sklearn_struct.inference.chains.flat_tuples import (
    TripleLinks,
    Triples,
    with_triple_links,
    with_triples,
)
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.losses.scores_beside_labels import MOST, beside, beside_edge, numbers_of_edges

__all__ = ["Windows"]

# of windows at a time: a long one for each token of a long sequence would fill the memory
TOKENS = 10_000
NUMBERS = 5_000_000  # of their edges at a time, where each has a table of its own


class Windows(Loss):
    """The loss of another kind, summed over the windows of `size` consecutive tokens with stride 1.

    A sequence of n tokens has max(1, n - size + 1) of them. A window becomes a chain of its own; at
    a clamped end what is scored together with the true labels beside it adds to its own scores.
    With minus the log-likelihood:

        clamped on both sides   sum_a -log p(y_a ... y_{a+k-1} | y_{a-1}, y_{a+k}, x), a composite
                                likelihood: for size 1 Besag's pseudolikelihood (P1 5.23), for 2
                                the per-edge version (P1 5.24)
        size 1, left            sum_t -log p(y_t | y_{t-1}, x), locally normalised: a
                                maximum-entropy Markov model
        on neither side         sum_a -log p_a(y_a ... y_{a+k-1} | x) of chains cut out of the
                                sequence: piecewise

    A window that is the whole sequence has no such ends, so a large `size` gives the likelihood
    itself.

    In chains of second order two labels on a side are given. What they say of one label of the
    window adds to the scores of its token, what they say of two to the pairs of an edge. Windows of
    two tokens have no triple of their own, so they are chains of first order.

    Parameters
    ----------
    loss : Loss
        One of chains of both orders and known labels, as `LogLikelihood`; `hess_vec` needs its.
    size : int
    left, right : bool, default=True
        Whether the labels before the window, and those behind it, are given.
    """

    def __init__(self, loss: Loss, size: int, left: bool = True, right: bool = True) -> None:
        self.loss = loss
        self.size = size
        self.sides = (left, right)
        self.convex = loss.convex
        self.twice_differentiable = loss.twice_differentiable

    def __call__(self, batch: Batch, out: Potentials, value: np.ndarray) -> None:
        """The sum over the windows of each example."""
        value[:] = 0.0
        for windows in self._windows(batch):
            room = _room(windows, out)
            cost = windows.weight.copy()
            self.loss(_batch(batch, windows), room, cost)
            _put_back(room, windows, out)
            value += np.bincount(windows.example, cost, len(value))

    def hess_vec(self, batch: Batch, direction: Potentials, out: Potentials) -> None:
        """The sum over the windows of each example."""
        for windows in self._windows(batch):
            room = _room(windows, out)
            self.loss.hess_vec(_batch(batch, windows), _cut(direction, windows), room)
            _put_back(room, windows, out)

    def _windows(self, batch: Batch) -> Iterator[_Windows]:
        """All windows of examples whose weight is not 0, some at a time."""
        potentials, evidence, structure, weight = batch
        y = evidence.known_labels()
        tables = with_triples(potentials)
        # windows of two tokens have no triples
        widths = [table.shape[1] for table in potentials.cliques[: max(self.size - 1, 1)]]
        n_tokens = min(TOKENS, NUMBERS // max(numbers_of_edges(tables, widths), 1))
        links = with_triple_links(structure)
        for example, first, bounds in _bounds(structure.offsets, weight, self.size, n_tokens):
            tokens = np.arange(bounds[-1]) + np.repeat(first - bounds[:-1], np.diff(bounds))
            chains = chain(bounds, len(widths))
            cliques = tuple(
                tokens[of_windows.nodes[:, 0]]
                + np.repeat(
                    (family.offsets - structure.offsets)[example], np.diff(of_windows.offsets)
                )
                for family, of_windows in zip(structure.families, chains.families)
            )
            given = np.empty((2, MOST * len(example), 5), np.int64)
            n = np.zeros(2, np.int64)  # of nodes and of edges
            where = (example, tokens, chains.offsets, chains.families[0].offsets)
            kind = self.sides, tuple(table.shape[1] for table in tables)
            _link(y, links, where, kind, given, n)
            of_windows = _Given(given[0, : n[0]], given[1, : n[1]])
            yield _Windows(example, weight[example], tokens, cliques, chains, of_windows)


class _Given(NamedTuple):
    """What is scored together with given labels, for tokens and for edges of windows: rows of five
    numbers.

    A table, a clique, its first column and the step to the next one, as `beside` writes them; then
    whose score it is.
    """

    node: np.ndarray
    edge: np.ndarray


class _Windows(NamedTuple):
    """Some windows: of which example, its weight, where tokens and cliques come from, chains."""

    example: np.ndarray
    weight: np.ndarray
    tokens: np.ndarray
    cliques: tuple[np.ndarray, ...]
    structure: Structure
    given: _Given


def _bounds(
    offsets: np.ndarray, weight: np.ndarray, size: int, n_tokens: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Some windows' examples, first tokens, and how they lie one after the other."""
    lengths = np.diff(offsets)
    widths = np.minimum(size, lengths)
    counts = np.where((weight != 0) & (lengths > 0), lengths - widths + 1, 0)
    example = np.repeat(np.arange(len(weight)), counts)
    first = np.arange(len(example)) + np.repeat(offsets[:-1] - np.cumsum(counts) + counts, counts)
    ends = np.cumsum(widths[example])
    for part in np.split(
        np.arange(len(example)), np.flatnonzero(np.diff(ends // max(n_tokens, 1))) + 1
    ):
        yield example[part], first[part], np.concatenate([[0], np.cumsum(widths[example[part]])])


def _batch(batch: Batch, windows: _Windows) -> Batch:
    """The windows as examples of their own."""
    labels = batch.evidence.known_labels()[windows.tokens]
    potentials = _cut(batch.potentials, windows)
    return Batch(potentials, Evidence(labels), windows.structure, windows.weight)


def _cut(potentials: Potentials, windows: _Windows) -> Potentials:
    """The potentials of the windows, as chains; one table for all edges as long as nothing given
    changes it.
    """
    node = potentials.node[windows.tokens]
    given = windows.given
    everywhere = with_triples(potentials)
    _take(given.node, everywhere, node.shape[1], node)
    cliques = []
    for table, rows in zip(potentials.cliques, windows.cliques):
        if len(rows) == 0:
            cliques.append(np.zeros((1, table.shape[1]), table.dtype))
        elif len(table) == 1:
            cliques.append(table)
        else:
            cliques.append(table[rows])
    if len(given.edge):
        if len(cliques[0]) == 1:
            cliques[0] = np.repeat(cliques[0], len(windows.cliques[0]), axis=0)
        _take(given.edge, everywhere, cliques[0].shape[1], cliques[0])
    return Potentials(node, tuple(cliques))


def _room(windows: _Windows, out: Potentials) -> Potentials:
    """Zeros for derivatives in the windows' potentials; but `out` itself for those of cliques that
    share one table.
    """
    node = np.zeros((len(windows.tokens), out.node.shape[1]))
    cliques = []
    for f, (table, rows) in enumerate(zip(out.cliques, windows.cliques)):
        changed = f == 0 and len(windows.given.edge)
        if len(table) == 1 and not changed:
            cliques.append(table)
        else:
            cliques.append(np.zeros((max(len(rows), 1), table.shape[1])))
    return Potentials(node, tuple(cliques))


def _put_back(room: Potentials, windows: _Windows, out: Potentials) -> None:
    """Add derivatives in the windows' potentials to those in the potentials they are made of."""
    given = windows.given
    everywhere = with_triples(out)
    _add_rows(room.node, windows.tokens, out.node)
    _give(given.node, room.node, everywhere)
    _give(given.edge, room.cliques[0], everywhere)
    for table, rows, into in zip(room.cliques, windows.cliques, out.cliques):
        if table is not into:
            _add_rows(table, rows, into)


@kernel
def _link(
    y: np.ndarray,
    structure: TripleLinks,
    windows: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    kind: tuple[tuple[bool, bool], tuple[int, int, int]],
    links: np.ndarray,
    n: np.ndarray,
) -> None:
    """Write what is scored together with given labels into `links`, and how many of nodes and of
    edges there are.
    """
    example, tokens, starts, edge_starts = windows
    (left, right), (K, n_pairs, width) = kind
    offsets = structure.offsets
    of_nodes = links[0]
    of_edges = links[1]
    for v in range(len(example)):
        i = example[v]
        first = starts[v]
        last = starts[v + 1] - 1
        lo = offsets[i]
        m0 = structure.triple_offsets[i]
        bounds = (lo, offsets[i + 1], structure.edge_offsets[i], m0, width)
        a = tokens[first]
        b = tokens[last]
        m = beside(y, a, bounds, (left, right and a == b), K, of_nodes[n[0] :])
        of_nodes[n[0] : n[0] + m, 4] = first
        n[0] += m
        if a == b:
            continue
        m = beside(y, b, bounds, (False, right), K, of_nodes[n[0] :])
        of_nodes[n[0] : n[0] + m, 4] = last
        n[0] += m
        rows = of_edges[n[1] :]
        m = beside_edge(y, (a, b), bounds, (left, False), (K, n_pairs), rows)
        rows[:m, 4] = edge_starts[v]
        n[1] += m
        rows = of_edges[n[1] :]
        m = beside_edge(y, (a, b), bounds, (False, right), (K, n_pairs), rows)
        rows[:m, 4] = edge_starts[v + 1] - 1
        n[1] += m


@kernel
def _take(links: np.ndarray, tables: Triples, n_columns: int, table: np.ndarray) -> None:
    """Add to rows of a table the scores of cliques that are linked to them."""
    edge = tables.edge
    triple = tables.triple
    for m in range(len(links)):
        column = links[m, 2]
        step = links[m, 3]
        row = links[m, 4]
        if links[m, 0] == 0:
            c = min(links[m, 1], len(edge) - 1)
            for k in range(n_columns):
                table[row, k] += edge[c, column + k * step]
        else:
            c = min(links[m, 1], len(triple) - 1)
            for k in range(n_columns):
                table[row, k] += triple[c, column + k * step]


@kernel
def _give(links: np.ndarray, table: np.ndarray, tables: Triples) -> None:
    """The transpose of `_take`."""
    edge = tables.edge
    triple = tables.triple
    for m in range(len(links)):
        column = links[m, 2]
        step = links[m, 3]
        row = links[m, 4]
        if links[m, 0] == 0:
            c = min(links[m, 1], len(edge) - 1)
            for k in range(table.shape[1]):
                edge[c, column + k * step] += table[row, k]
        else:
            c = min(links[m, 1], len(triple) - 1)
            for k in range(table.shape[1]):
                triple[c, column + k * step] += table[row, k]


@kernel
def _add_rows(table: np.ndarray, where: np.ndarray, out: np.ndarray) -> None:
    """Add each row of a table to one of another, of which there is one for all, or one of each
    number.
    """
    last = len(out) - 1
    for r in range(len(where)):
        for k in range(table.shape[1]):
            out[min(where[r], last), k] += table[r, k]
