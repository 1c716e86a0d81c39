"""Another loss of short windows of each sequence, with the labels beside a window given or left out
of account.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.containers.structures import Potentials, Structure, chain
from sklearn_struct.losses.neighbour_scores import MOST, beside
from sklearn_struct.losses.triples import has_triples

__all__ = ["Windows"]

# of windows at a time: a long one for each token of a long sequence would fill the memory
TOKENS = 10_000
NUMBERS = 5_000_000  # of their edges at a time, where each has a table of its own


class Windows:
    """The loss of another kind, summed over the windows of `size` consecutive tokens with stride 1.

    A sequence of n tokens has max(1, n - size + 1) of them. A window becomes a chain of its own; at
    a clamped end what is scored together with the true labels beside it adds to its own scores.
    With minus the log-likelihood:

        clamped on both sides   sum_a -log p(y_a ... y_{a+k-1} | y_{a-1}, y_{a+k}, x), a composite likelihood: for
                                size 1 Besag's pseudolikelihood (P1 5.23), for 2 the per-edge
                                version (P1 5.24)
        size 1, left            sum_t -log p(y_t | y_{t-1}, x), locally normalised: a maximum-entropy Markov model
        on neither side         sum_a -log p_a(y_a ... y_{a+k-1} | x) of chains cut out of the sequence: piecewise

    A window that is the whole sequence has no such ends, so a large `size` gives the likelihood
    itself.

    In chains of second order two labels on a side are given. What they say of one label of the
    window adds to the scores of its token, what they say of two to the pairs of an edge. Windows of
    two tokens have no triple of their own, so they are chains of first order.

    Parameters
    ----------
    loss : callable
        A loss of chains of both orders, as `LogLikelihood`; `hess_vec` needs its.
    size : int
    left, right : bool, default=True
        Whether the labels before the window, and those behind it, are given.
    """

    convex = True
    token_weights = False

    def __init__(self, loss: Any, size: int, left: bool = True, right: bool = True) -> None:
        self.loss = loss
        self.size = size
        self.sides = (left, right)

    def __call__(
        self,
        potentials: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
        value: np.ndarray,
    ) -> None:
        """Write ``value[i]``; add ``weight[i]`` times its derivative to `out`."""
        value[:] = 0.0
        for windows in self._windows(potentials, y, structure, weight):
            theta = _cut(potentials, windows)
            found = _room(windows, out)
            cost = windows.weight.copy()
            self.loss(theta, y[windows.tokens], windows.structure, windows.weight, found, cost)
            _put_back(found, windows, out)
            value += np.bincount(windows.example, cost, len(value))

    def hess_vec(
        self,
        potentials: Potentials,
        direction: Potentials,
        y: np.ndarray,
        structure: Structure,
        weight: np.ndarray,
        out: Potentials,
    ) -> None:
        """Add ``weight[i]`` times the second derivative in a direction to `out`."""
        for windows in self._windows(potentials, y, structure, weight):
            theta = _cut(potentials, windows)
            delta = _cut(direction, windows)
            found = _room(windows, out)
            self.loss.hess_vec(
                theta, delta, y[windows.tokens], windows.structure, windows.weight, found
            )
            _put_back(found, windows, out)

    def _windows(
        self, potentials: Potentials, y: np.ndarray, structure: Structure, weight: np.ndarray
    ) -> Iterator[_Windows]:
        """All windows of examples whose weight is not 0, some at a time."""
        K = potentials.node.shape[1]
        order = 2 if has_triples(potentials) else 1
        width = potentials.edge.shape[1] if self.size > 2 else K * K
        n_tokens = TOKENS if order == 1 else min(TOKENS, NUMBERS // width)
        for example, first, bounds in _bounds(structure.offsets, weight, self.size, n_tokens):
            tokens = np.arange(bounds[-1]) + np.repeat(first - bounds[:-1], np.diff(bounds))
            chains = chain(bounds)
            edges = tokens[chains.edges[:, 0]] + np.repeat(
                (structure.edge_offsets - structure.offsets)[example], np.diff(chains.edge_offsets)
            )
            links = np.empty((2, MOST * len(example), 4), np.int64)
            n = np.zeros(2, np.int64)  # links of nodes and of edges
            _link(y, structure, (example, tokens, chains), (self.sides, order, K), links, n)
            given = _Given(links[0, : n[0]], links[1, : n[1]])
            yield _Windows(example, weight[example], tokens, edges, width, chains, given)


class _Given(NamedTuple):
    """What is scored together with given labels, for tokens and for edges of windows: rows of four
    numbers.

    An edge, its first column and the step to the next one, as `beside` writes them; then whose
    score it is.
    """

    node: np.ndarray
    edge: np.ndarray


class _Windows(NamedTuple):
    """Some windows: of which example, its weight, where tokens and edges come from, columns of
    edges, chains.
    """

    example: np.ndarray
    weight: np.ndarray
    tokens: np.ndarray
    edges: np.ndarray
    width: int
    structure: Structure
    given: _Given


def _bounds(
    offsets: np.ndarray, weight: np.ndarray, size: int, n_tokens: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of some windows at a time their examples, first tokens, and how they lie one after the other."""
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


def _cut(potentials: Potentials, windows: _Windows) -> Potentials:
    """The potentials of the windows, as chains; one table for all edges as long as nothing given
    changes it.
    """
    node = potentials.node[windows.tokens]
    n_edges = len(windows.edges)
    given = windows.given
    _take(given.node, potentials.edge, node.shape[1], node)
    if n_edges == 0:
        return Potentials(node, np.zeros((1, windows.width), potentials.edge.dtype))
    edge = potentials.edge[:, : windows.width]
    if len(edge) > 1:
        edge = edge[windows.edges]
    elif len(given.edge):
        edge = np.repeat(edge, n_edges, axis=0)
    _take(given.edge, potentials.edge, node.shape[1] ** 2, edge)
    return Potentials(node, edge)


def _room(windows: _Windows, out: Potentials) -> Potentials:
    """Zeros for derivatives in the windows' potentials; but `out` itself for those of edges that
    share one table.
    """
    node = np.zeros((len(windows.tokens), out.node.shape[1]))
    if len(out.edge) == 1 and len(windows.given.edge) == 0:
        return Potentials(node, out.edge[:, : windows.width])
    return Potentials(node, np.zeros((max(len(windows.edges), 1), windows.width)))


def _put_back(found: Potentials, windows: _Windows, out: Potentials) -> None:
    """Add derivatives in the windows' potentials to those in the potentials that they are made of."""
    given = windows.given
    K = out.node.shape[1]
    _add_rows(found.node, windows.tokens, out.node)
    _give(given.node, found.node, K, out.edge)
    _give(given.edge, found.edge, K * K, out.edge)
    if not np.may_share_memory(found.edge, out.edge):
        _add_rows(found.edge, windows.edges, out.edge)


@kernel
def _link(y, structure, windows, kind, links, n):
    """Write what is scored together with given labels into `links`, and how many of nodes and of
    edges there are.
    """
    example, tokens, chains = windows
    (left, right), order, K = kind
    offsets = structure.offsets
    edge_offsets = structure.edge_offsets
    of_nodes = links[0]
    of_edges = links[1]
    for v in range(len(example)):
        i = example[v]
        first = chains.offsets[v]
        last = chains.offsets[v + 1] - 1
        bounds = (offsets[i], offsets[i + 1], edge_offsets[i], order)
        a = tokens[first]
        b = tokens[last]
        e = edge_offsets[i] + tokens[first] - offsets[i]
        m = beside(y, a, bounds, (left, right and a == b), K, of_nodes[n[0] :])
        of_nodes[n[0] : n[0] + m, 3] = first
        n[0] += m
        if a == b:
            continue
        m = beside(y, b, bounds, (False, right), K, of_nodes[n[0] :])
        of_nodes[n[0] : n[0] + m, 3] = last
        n[0] += m
        if order == 2 and left and a > offsets[i]:
            _write(of_edges, n, (e, (y[a - 1] + 1) * K * K, 1, chains.edge_offsets[v]))
        if order == 2 and right and b + 1 < offsets[i + 1]:
            _write(of_edges, n, (e + b - a, K * K + y[b + 1], K, chains.edge_offsets[v + 1] - 1))


@kernel
def _write(of_edges, n, link):
    """One more link of an edge."""
    of_edges[n[1], 0], of_edges[n[1], 1], of_edges[n[1], 2], of_edges[n[1], 3] = link
    n[1] += 1


@kernel
def _take(links, edge, n_columns, table):
    """Add to rows of a table the scores of edges that are linked to them."""
    last = len(edge) - 1
    for m in range(len(links)):
        e = min(links[m, 0], last)
        column = links[m, 1]
        step = links[m, 2]
        row = links[m, 3]
        for k in range(n_columns):
            table[row, k] += edge[e, column + k * step]


@kernel
def _give(links, table, n_columns, edge):
    """The transpose of `_take`."""
    last = len(edge) - 1
    for m in range(len(links)):
        e = min(links[m, 0], last)
        column = links[m, 1]
        step = links[m, 2]
        row = links[m, 3]
        for k in range(n_columns):
            edge[e, column + k * step] += table[row, k]


@kernel
def _add_rows(table, where, out):
    """Add each row of a table to one of another, of which there is one for all, or one of each
    number.
    """
    last = len(out) - 1
    for r in range(len(where)):
        for k in range(table.shape[1]):
            out[min(where[r], last), k] += table[r, k]
