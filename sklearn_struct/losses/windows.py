"""Another loss of short windows of each sequence, with the labels beside a window given or left out of account."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.batch import Potentials, Structure, chain
from sklearn_struct.kernel import kernel

__all__ = ["Windows"]

TOKENS = 10_000  # of windows at a time: a long one for each token of a long sequence would fill the memory


class Windows:
    """The loss of another kind, summed over the windows of `size` consecutive tokens with stride 1.

    A sequence of n tokens has max(1, n - size + 1) of them. A window becomes a chain of its own; at a clamped end the
    transition to the true label beside it adds to the scores of its outermost token. With minus the log-likelihood:

        clamped on both sides   sum_a -log p(y_a ... y_{a+k-1} | y_{a-1}, y_{a+k}, x), a composite likelihood: for
                                size 1 Besag's pseudolikelihood (P1 5.23), for 2 the per-edge version (P1 5.24)
        size 1, left            sum_t -log p(y_t | y_{t-1}, x), locally normalised: a maximum-entropy Markov model
        on neither side         sum_a -log p_a(y_a ... y_{a+k-1} | x) of chains cut out of the sequence: piecewise

    A window that is the whole sequence has no such ends, so a large `size` gives the likelihood itself.

    Parameters
    ----------
    loss : callable
        A loss of chains, as `LogLikelihood`; `hess_vec` needs its.
    size : int
    left, right : bool, default=True
        Whether the label before the window, and the one behind it, are given.
    """

    convex, token_weights = True, False

    def __init__(self, loss: Any, size: int, left: bool = True, right: bool = True) -> None:
        self.loss, self.size, self.clamped = loss, size, (left, right)

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
        for windows in _windows(structure, weight, self.size):
            theta, found, cost = (
                self._cut(potentials, y, structure, windows),
                _room(windows, out),
                windows.weight.copy(),
            )
            self.loss(theta, y[windows.tokens], windows.structure, windows.weight, found, cost)
            _put_back(found, y, structure, windows, self.clamped, out)
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
        for windows in _windows(structure, weight, self.size):
            theta, delta = (self._cut(p, y, structure, windows) for p in (potentials, direction))
            found = _room(windows, out)
            self.loss.hess_vec(theta, delta, y[windows.tokens], windows.structure, windows.weight, found)
            _put_back(found, y, structure, windows, self.clamped, out)

    def _cut(self, potentials: Potentials, y: np.ndarray, structure: Structure, windows: _Windows) -> Potentials:
        """The potentials of the windows, as chains."""
        node = np.empty((len(windows.tokens), potentials.node.shape[1]), potentials.node.dtype)
        _cut_nodes(potentials, y, structure, windows, self.clamped, node)
        if len(windows.edges) == 0:
            return Potentials(node, np.zeros((1, potentials.edge.shape[1]), potentials.edge.dtype))
        return Potentials(node, potentials.edge if len(potentials.edge) == 1 else potentials.edge[windows.edges])


class _Windows(NamedTuple):
    """Some windows: of which example, its weight, where the tokens and edges come from, and their chains."""

    example: np.ndarray
    weight: np.ndarray
    tokens: np.ndarray
    edges: np.ndarray
    structure: Structure


def _windows(structure: Structure, weight: np.ndarray, size: int) -> Iterator[_Windows]:
    """All windows of examples whose weight is not 0, some at a time."""
    offsets, lengths = structure.offsets, np.diff(structure.offsets)
    widths = np.minimum(size, lengths)
    counts = np.where((weight != 0) & (lengths > 0), lengths - widths + 1, 0)
    example = np.repeat(np.arange(len(weight)), counts)
    first = np.arange(len(example)) + np.repeat(offsets[:-1] - np.cumsum(counts) + counts, counts)
    ends = np.cumsum(widths[example])
    for part in np.split(np.arange(len(example)), np.flatnonzero(np.diff(ends // TOKENS)) + 1):
        i = example[part]
        bounds = np.concatenate([[0], np.cumsum(widths[i])])
        tokens = np.arange(bounds[-1]) + np.repeat(first[part] - bounds[:-1], widths[i])
        chains = chain(bounds)
        edges = tokens[chains.edges[:, 0]] + np.repeat((structure.edge_offsets - offsets)[i], widths[i] - 1)
        yield _Windows(i, weight[i], tokens, edges, chains)


def _room(windows: _Windows, out: Potentials) -> Potentials:
    """Zeros for derivatives in the windows' potentials; but `out` itself for those of edges that share one table."""
    edge = out.edge if len(out.edge) == 1 else np.zeros((max(len(windows.edges), 1), out.edge.shape[1]))
    return Potentials(np.zeros((len(windows.tokens), out.node.shape[1])), edge)


@kernel
def _cut_nodes(potentials, y, structure, windows, clamped, node):
    """Write the windows' node scores, at clamped ends with those of the transitions to the given labels."""
    source, edge, offsets, edge_offsets = potentials.node, potentials.edge, structure.offsets, structure.edge_offsets
    example, tokens, bounds = windows.example, windows.tokens, windows.structure.offsets
    K = node.shape[1]
    step = 0 if edge.shape[0] == 1 else 1
    for v in range(len(example)):
        i, row, last = example[v], bounds[v], bounds[v + 1] - 1
        for r in range(row, last + 1):
            for k in range(K):
                node[r, k] = source[tokens[r], k]
        t = tokens[row]
        if clamped[0] and t > offsets[i]:
            e, j = step * (edge_offsets[i] + t - 1 - offsets[i]), y[t - 1] * K
            for k in range(K):
                node[row, k] += edge[e, j + k]
        t = tokens[last]
        if clamped[1] and t + 1 < offsets[i + 1]:
            e, j = step * (edge_offsets[i] + t - offsets[i]), y[t + 1]
            for k in range(K):
                node[last, k] += edge[e, k * K + j]


@kernel
def _put_back(found, y, structure, windows, clamped, out):
    """Add derivatives in the windows' potentials to those in the potentials that they are made of."""
    node, out_node, out_edge, offsets, edge_offsets = (
        found.node,
        out.node,
        out.edge,
        structure.offsets,
        structure.edge_offsets,
    )
    example, tokens, edges, bounds = windows.example, windows.tokens, windows.edges, windows.structure.offsets
    K = node.shape[1]
    step = 0 if out_edge.shape[0] == 1 else 1
    for e in range(len(edges) if step == 1 else 0):
        for pair in range(K * K):
            out_edge[edges[e], pair] += found.edge[e, pair]
    for v in range(len(example)):
        i, row, last = example[v], bounds[v], bounds[v + 1] - 1
        for r in range(row, last + 1):
            for k in range(K):
                out_node[tokens[r], k] += node[r, k]
        t = tokens[row]
        if clamped[0] and t > offsets[i]:
            e, j = step * (edge_offsets[i] + t - 1 - offsets[i]), y[t - 1] * K
            for k in range(K):
                out_edge[e, j + k] += node[row, k]
        t = tokens[last]
        if clamped[1] and t + 1 < offsets[i + 1]:
            e, j = step * (edge_offsets[i] + t - offsets[i]), y[t + 1]
            for k in range(K):
                out_edge[e, k * K + j] += node[last, k]
