"""Objectives: w -> potentials -> loss -> gradient. The only place where parameters meet data and loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.batch import Block, Potentials, blocks
from sklearn_struct.linear import N_PARTS
from sklearn_struct.parameters import LinearPotentials
from sklearn_struct.threads import Pool

__all__ = ["LinearObjective", "TrainingData"]

TERM_TOKENS = 50  # tokens of one term of the finite sum that stochastic solvers see


class TrainingData(NamedTuple):
    """Labels and weights of packed sequences."""

    offsets: np.ndarray
    y: np.ndarray
    weight: np.ndarray


class LinearObjective:
    """Weighted mean of a structured loss over all examples, as a function of the parameter vector.

        value = sum_i weight[i] * loss(potentials_i(w), y_i) / sum_i weight[i]

    For batch solvers there are `value_and_grad` and `hess_vec`; for stochastic ones the same as a sum of ``n_terms``
    terms, each a few examples, taken apart at the linear map so that their updates can stay sparse.

    Parameters
    ----------
    potentials : LinearPotentials
    loss : callable
        One of `sklearn_struct.losses`.
    data : TrainingData
    pool : Pool
        Threads to use; the result has the same bits for any number of them.
    """

    def __init__(self, potentials: LinearPotentials, loss: Any, data: TrainingData, pool: Pool) -> None:
        self.potentials, self.loss, self.data, self.pool = potentials, loss, data, pool
        self.size, self.n_free = potentials.size, potentials.n_free
        self.total_weight = float(np.sum(data.weight))
        self._blocks = blocks(data.offsets, potentials.n_labels)
        self._parts = [part for part in np.array_split(np.arange(len(self._blocks)), N_PARTS) if len(part)]
        self._terms = blocks(data.offsets, potentials.n_labels, TERM_TOKENS)
        self.n_terms = len(self._terms)
        self._residual = np.empty((len(data.y), potentials.n_labels))
        self._value = np.empty(len(data.weight))

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The weighted mean loss and its gradient."""
        W = self.potentials.expand(w)
        grad = self._sum(lambda block, node: self._gradient(self.potentials.forward(W, block), block, node))
        return float(np.dot(self.data.weight, self._value)) / self.total_weight, grad / self.total_weight

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative of the weighted mean loss at w, times v."""
        W, V = self.potentials.expand(w), self.potentials.expand(v)

        def work(block: Block, node: np.ndarray) -> Potentials:
            return self._hess_vec(self.potentials.forward(W, block), self.potentials.forward(V, block), block, node)

        return self._sum(work) / self.total_weight

    def _sum(self, work: Callable[[Block, np.ndarray], Potentials]) -> np.ndarray:
        """The derivative in the parameters whose part in the potentials ``work(block, node)`` writes and returns."""
        parts = self.pool.map(lambda c: self._part(work, self._parts[c]), len(self._parts))
        edge, table = (np.sum([part[i] for part in parts], axis=0) for i in range(2))
        grad = [self.potentials.node_map.transpose(self._residual, self.pool), edge, table[self.potentials.transitions]]
        if self.n_free:
            grad.append(np.sum([part[2] for part in parts], axis=0))
        return np.concatenate(grad)

    def _part(
        self, work: Callable[[Block, np.ndarray], Potentials], part: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Do the work of some blocks; return its derivatives in edge weights, transitions and intercept."""
        edge_map, K = self.potentials.edge_map, self.potentials.n_labels
        edge_grad = np.zeros(edge_map.expanded_size if edge_map else 0)
        table, intercept = np.zeros(K**2), np.zeros(K)
        for b in part:
            block = self._blocks[b]
            gradient = work(block, self._residual[block.tokens])
            if edge_map:
                edge_map.scatter(gradient.edge, block.edges, 1.0, edge_grad)
            table += gradient.edge.sum(axis=0)
            intercept += gradient.node.sum(axis=0)
        return edge_grad, table, intercept

    def _gradient(self, theta: Potentials, block: Block, node: np.ndarray) -> Potentials:
        """Loss of a block into ``_value``, its derivative into `node` and a new edge array."""
        node[:] = 0.0
        gradient = Potentials(node, np.zeros(theta.edge.shape))
        examples = block.examples
        y, weight = self.data.y[block.tokens], self.data.weight[examples]
        self.loss(theta, y, block.structure, weight, gradient, self._value[examples])
        return gradient

    def _hess_vec(self, theta: Potentials, direction: Potentials, block: Block, node: np.ndarray) -> Potentials:
        """Second derivative of the loss of a block in a direction, into `node` and a new edge array."""
        node[:] = 0.0
        out = Potentials(node, np.zeros(theta.edge.shape))
        y, weight = self.data.y[block.tokens], self.data.weight[block.examples]
        self.loss.hess_vec(theta, direction, y, block.structure, weight, out)
        return out

    def expand(self, w: np.ndarray) -> np.ndarray:
        """The layout in which terms are added to parameters."""
        return self.potentials.expand(w)

    def compress(self, W: np.ndarray) -> np.ndarray:
        return self.potentials.compress(W)

    def forward(self, W: np.ndarray, i: int, scale: float) -> Potentials:
        """Potentials of term i at the parameters ``scale * W`` (the unpenalised ones unscaled)."""
        return self.potentials.forward(W, self._terms[i], scale)

    def term(self, theta: Potentials, i: int) -> tuple[float, Potentials]:
        """Value of term i, and its derivative in the potentials; the mean over all terms is the objective."""
        block = self._terms[i]
        gradient = self._gradient(theta, block, self._residual[block.tokens])
        scale = self.n_terms / self.total_weight
        gradient.node[:] *= scale
        gradient.edge[:] *= scale
        weight = self.data.weight[block.examples]
        return scale * float(np.dot(weight, self._value[block.examples])), gradient

    def add(self, gradient: Potentials, i: int, scale: float, W: np.ndarray) -> None:
        """``W += scale *`` the gradient of term i in the parameters."""
        self.potentials.scatter(gradient, self._terms[i], scale, W)
