"""The parameter vector of a linear chain: its segments, and the potentials they give.

w = [node weights | edge weights | transition weights | intercept], compact; the intercept comes last
because solvers leave the last ``n_free`` entries unpenalised.

    node[t] = X[t] W + intercept        edge[t, t+1] = transition + X_edge[t+1] V
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import Block, Potentials
from sklearn_struct.linear import DenseMap, PairsMap, RowsMap

__all__ = ["LinearPotentials", "Segments"]


class Segments(NamedTuple):
    """Views of the four parts of a parameter vector."""

    node: np.ndarray
    edge: np.ndarray
    transition: np.ndarray
    intercept: np.ndarray


class LinearPotentials:
    """Potentials of a linear chain as a linear function of its parameters.

    Parameters
    ----------
    node_map : DenseMap or RowsMap
        From features of tokens to labels.
    edge_map : DenseMap, PairsMap or None
        From features of edges to label pairs (edge features); None: one table for all edges.
    transitions : ndarray of int
        Flat label pairs j * K + k that have a transition weight.
    n_labels : int
    fit_intercept : bool
    """

    def __init__(
        self,
        node_map: DenseMap | RowsMap,
        edge_map: DenseMap | PairsMap | None,
        transitions: np.ndarray,
        n_labels: int,
        fit_intercept: bool,
    ) -> None:
        self.node_map, self.edge_map, self.transitions, self.n_labels = node_map, edge_map, transitions, n_labels
        self.n_free = n_labels if fit_intercept else 0
        n_edge = (edge_map.size, edge_map.expanded_size) if edge_map else (0, 0)
        self._bounds = np.cumsum([node_map.size, n_edge[0], len(transitions)])
        self._expanded_bounds = np.cumsum([node_map.expanded_size, n_edge[1], n_labels**2])
        self.size = int(self._bounds[-1]) + self.n_free

    def split(self, w: np.ndarray) -> Segments:
        """The segments of a compact parameter vector."""
        return Segments(*np.split(w, self._bounds))

    def split_expanded(self, W: np.ndarray) -> Segments:
        """The segments of an expanded one; its transitions are the whole K * K table."""
        return Segments(*np.split(W, self._expanded_bounds))

    def expand(self, w: np.ndarray) -> np.ndarray:
        """The layout in which potentials are computed, in their float type."""
        parts = self.split(w)
        table = np.zeros(self.n_labels**2)
        table[self.transitions] = parts.transition
        edge = self.edge_map.expand(parts.edge) if self.edge_map else parts.edge
        node = self.node_map.expand(parts.node)
        return np.concatenate([node, edge, table, parts.intercept], dtype=node.dtype, casting="same_kind")

    def compress(self, W: np.ndarray) -> np.ndarray:
        """The inverse of `expand`."""
        parts = self.split_expanded(W)
        edge = self.edge_map.compress(parts.edge) if self.edge_map else parts.edge
        table = parts.transition[self.transitions]
        return np.concatenate([self.node_map.compress(parts.node), edge, table, parts.intercept], dtype=np.float64)

    def forward(self, W: np.ndarray, block: Block, scale: float = 1.0) -> Potentials:
        """Potentials of a block; `scale` multiplies the penalised parameters, for lazily shrunk ones."""
        parts = self.split_expanded(W)
        node = np.empty((block.tokens.stop - block.tokens.start, self.n_labels), dtype=W.dtype)
        self.node_map.forward(parts.node, block.tokens, node)
        edge = parts.transition[None, :]
        if self.edge_map:
            edge = np.empty((block.edges.stop - block.edges.start, self.n_labels**2), dtype=W.dtype)
            self.edge_map.forward(parts.edge, block.edges, edge)
            edge += parts.transition
        if scale != 1.0:
            node *= W.dtype.type(scale)
            edge = edge * W.dtype.type(scale)
        if self.n_free:
            node += parts.intercept
        return Potentials(node, edge)

    def scatter(self, gradient: Potentials, block: Block, scale: float, W: np.ndarray) -> None:
        """``W += scale *`` the pullback of a block's `gradient`; sparse where X is."""
        parts = self.split_expanded(W)
        self.node_map.scatter(gradient.node, block.tokens, scale, parts.node)
        if self.edge_map:
            self.edge_map.scatter(gradient.edge, block.edges, scale, parts.edge)
        parts.transition[self.transitions] += scale * gradient.edge.sum(axis=0)[self.transitions]
        if self.n_free:
            parts.intercept += scale * gradient.node.sum(axis=0)
