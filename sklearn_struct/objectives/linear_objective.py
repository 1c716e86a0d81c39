"""Objectives: w -> potentials -> loss -> gradient. The only place where parameters meet data and
loss.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sklearn_struct.compiled.simd import aligned
from sklearn_struct.compiled.threads import N_PARTS, Pool, go_on
from sklearn_struct.containers.structures import Block, Potentials, blocks
from sklearn_struct.linear.interleaved import ONE, parts, put, take
from sklearn_struct.objectives.parameters import LinearPotentials, split

__all__ = ["LinearObjective", "TrainingData"]

# (block, room for node potentials, derivatives in the potentials to be written: nodes afresh, edges
# added)
Work = Callable[[Block, np.ndarray, Potentials], None]

# residuals that fit a cache: float32 ones would save no time there, but cost digits
SMALL = 100_000


class TrainingData(NamedTuple):
    """Labels, or whatever a loss reads of tokens, and weights of packed sequences.

    Sums of losses are divided by `total`, by default that of the weights.
    """

    offsets: np.ndarray
    y: Any
    weight: np.ndarray
    total: float | None = None

    @property
    def n_examples(self) -> int:
        """Number of examples to learn from."""
        return int(np.count_nonzero(self.learnable))

    @property
    def learnable(self) -> np.ndarray:
        """Whether there is something to learn from an example: it is not empty and has a positive
        weight.
        """
        return (self.weight != 0) & (np.diff(self.offsets) > 0)


class LinearObjective:
    """Weighted mean of a structured loss over all examples, as a function of the parameter vector.

        value = sum_i weight[i] * loss(potentials_i(w), y_i) / sum_i weight[i]

    For batch solvers there are `value_and_grad` and `hess_vec`; for stochastic ones the same as a
    sum of ``n_terms`` terms, each a few examples, taken apart at the linear map so that their
    updates can stay sparse.

    Parameters
    ----------
    potentials : LinearPotentials
    loss : callable
        One of `sklearn_struct.losses`.
    data : TrainingData
    pool : Pool
        Threads to use; the result has the same bits for any number of them.
    term_tokens : int
        About how many tokens a term has; 1 makes a term of each sequence. None has weight 0.
    """

    def __init__(
        self,
        potentials: LinearPotentials,
        loss: Any,
        data: TrainingData,
        pool: Pool,
        term_tokens: int = 50,
    ) -> None:
        self.potentials = potentials
        self.loss = loss
        self.data = data
        self.pool = pool
        self.size = potentials.size
        self.n_free = potentials.n_free
        self.total_weight = float(np.sum(data.weight)) if data.total is None else data.total
        self._blocks = blocks(data.offsets, potentials.n_labels, order=potentials.pattern.order)
        self._parts = [
            part for part in np.array_split(np.arange(len(self._blocks)), N_PARTS) if len(part)
        ]
        self._term_tokens = term_tokens
        self._value = np.empty(len(data.weight))
        self._direction: np.ndarray | None = None

    @cached_property
    def _terms(self) -> list[Block]:
        order = self.potentials.pattern.order
        terms = blocks(self.data.offsets, self.potentials.n_labels, self._term_tokens, order=order)
        learnable = self.data.learnable
        return [block for block in terms if np.any(learnable[block.examples])] or terms[:1]

    @cached_property
    def _term_weight(self) -> np.ndarray:
        """Weights with which the mean over terms is the objective."""
        return self.data.weight * (self.n_terms / self.total_weight)

    @cached_property
    def _transpose(self) -> Any:
        small = len(self.data.y) * self.potentials.n_labels <= SMALL
        return self.potentials.node_map.transpose(
            np.dtype(np.float64) if small else self.potentials.dtype
        )

    @cached_property
    def _W(self) -> np.ndarray:
        return self.potentials.expand(np.zeros(self.size))

    @property
    def n_terms(self) -> int:
        return len(self._terms)

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The weighted mean loss and its gradient."""
        W = self.potentials.expand(w, self._W)
        loss = self.loss
        value = 0.0
        if getattr(loss, "couples", False):
            value, loss = loss.outer(self._statistics(W))

        def work(block: Block, room: np.ndarray, gradient: Potentials) -> None:
            self._gradient(loss, self.potentials.forward(W, block, out=room), block, gradient)

        grad = self._sum(work)
        return (value + float(np.dot(self.data.weight, self._value))) / self.total_weight, grad

    def _statistics(self, W: np.ndarray) -> np.ndarray:
        """What a loss that couples examples wants to know of all of them: the sum of its statistics
        of blocks.
        """

        def of_block(b: int) -> np.ndarray:
            go_on()
            block = self._blocks[b]
            y = self.data.y[block.tokens]
            weight = self.data.weight[block.examples]
            with np.errstate(over="ignore", invalid="ignore"):
                return self.loss.statistics(
                    self.potentials.forward(W, block), y, block.structure, weight
                )

        parts = self.pool.map(
            lambda c: np.sum([of_block(b) for b in self._parts[c]], axis=0), len(self._parts)
        )
        return np.sum(parts, axis=0)

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative of the weighted mean loss at w, times v."""
        W = self.potentials.expand(w, self._W)
        V = self.potentials.expand(v)

        def work(block: Block, room: np.ndarray, gradient: Potentials) -> None:
            theta = self.potentials.forward(W, block, out=room)
            direction = self.potentials.forward(V, block)
            gradient.node[:] = 0.0
            y = self.data.y[block.tokens]
            weight = self.data.weight[block.examples]
            self.loss.hess_vec(theta, direction, y, block.structure, weight, gradient)

        return self._sum(work)

    def _sum(self, work: Work) -> np.ndarray:
        """The weighted mean of the derivatives that ``work(block, room, gradient)`` writes, in the
        parameters.
        """
        transpose = self._transpose

        def of_part(c: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            with np.errstate(over="ignore", invalid="ignore"):  # of steps that are too long
                return self._part(work, self._parts[c])

        parts = self.pool.map(of_part, len(self._parts))
        grad = np.empty(self.size)
        segments = split(grad, self.potentials.pattern)
        transpose.product(self.pool, segments.node)
        edge, table, intercept = (np.sum([part[i] for part in parts], axis=0) for i in range(3))
        segments.edge[:], segments.transition[:] = edge, table[self.potentials.transitions]
        segments.intercept[:] = intercept[: self.n_free]
        grad /= self.total_weight
        return grad

    def _part(self, work: Work, part: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Do the work of some blocks; return its derivatives in edge weights, transitions and
        intercept.
        """
        edge_map = self.potentials.edge_map
        K = self.potentials.n_labels
        width = self.potentials.edge_width
        edge_grad = np.zeros(edge_map.expanded_size if edge_map else 0)
        table = np.zeros((1, width))
        intercept = np.zeros(K)
        n_tokens = max(self._blocks[b].tokens.stop - self._blocks[b].tokens.start for b in part)
        room = np.empty((n_tokens, K), dtype=self.potentials.dtype)
        node = np.empty((n_tokens, K))
        for b in part:
            go_on()
            block = self._blocks[b]
            n = block.tokens.stop - block.tokens.start
            n_edges = block.edges.stop - block.edges.start
            gradient = Potentials(node[:n], np.zeros((n_edges, width)) if edge_map else table)
            work(block, room, gradient)
            self._transpose.put(gradient.node, block.tokens)
            if edge_map:
                edge_map.scatter(gradient.edge, block.edges, ONE, edge_grad)
                table += gradient.edge.sum(axis=0)
            if self.n_free:
                intercept += gradient.node.sum(axis=0)
        return edge_grad, table[0], intercept

    def _gradient(self, loss: Any, theta: Potentials, block: Block, gradient: Potentials) -> None:
        """Loss of a block into ``_value``, its derivative into the nodes of `gradient`, and added
        to its edges.
        """
        gradient.node[:] = 0.0
        examples = block.examples
        y = self.data.y[block.tokens]
        weight = self.data.weight[examples]
        loss(theta, y, block.structure, weight, gradient, self._value[examples])

    def expand(self, w: np.ndarray) -> np.ndarray:
        """The layout in which terms are added to parameters."""
        return self.potentials.expand(w)

    def compress(self, W: np.ndarray) -> np.ndarray:
        return self.potentials.compress(W)

    def side_by_side(self, vector: np.ndarray, n: int) -> np.ndarray:
        """Room for n expanded vectors that are read and written together: `vector`, and others that
        are zero.
        """
        W = aligned(n * self.potentials.expanded_size, vector.dtype)
        put(vector, n, 0, self.potentials.grains, W)
        return W

    def separate(self, W: np.ndarray, c: int) -> np.ndarray:
        """The c-th of the vectors that stand side by side in W."""
        vector = np.empty(self.potentials.expanded_size, W.dtype)
        take(W, len(W) // len(vector), c, self.potentials.grains, vector)
        return vector

    def penalised_parts(self, W: np.ndarray) -> list[np.ndarray]:
        """Views (number, n, grain) of the penalised entries of the n vectors side by side in W."""
        return parts(W, len(W) // self.potentials.expanded_size, self.potentials.grains)[:-1]

    def forward(self, W: np.ndarray, i: int, *scales: float) -> np.ndarray:
        """Potentials of term i, one flat vector, at the sum of the scaled vectors side by side in
        W.

        Unpenalised parameters are those of the first, unscaled.
        """
        block = self._terms[i]
        K = self.potentials.n_labels
        n_tables = block.edges.stop - block.edges.start if self.potentials.edge_map else 1
        n_nodes = (block.tokens.stop - block.tokens.start) * K
        theta = np.empty(n_nodes + n_tables * self.potentials.edge_width, dtype=W.dtype)
        out = self._unflat(theta, block)
        out.edge[:] = self.potentials.forward(W, block, np.array(scales), out.node).edge
        return theta

    def term(self, theta: np.ndarray, i: int) -> tuple[float, np.ndarray]:
        """Value of term i, and its derivative in the potentials; the mean over all terms is the
        objective.
        """
        block = self._terms[i]
        gradient = np.zeros(len(theta))
        examples = block.examples
        y = self.data.y[block.tokens]
        weight = self._term_weight[examples]
        value = self._value[examples]
        self.loss(
            self._unflat(theta, block),
            y,
            block.structure,
            weight,
            self._unflat(gradient, block),
            value,
        )
        return float(np.dot(weight, value)), gradient

    def add(self, gradient: np.ndarray, i: int, W: np.ndarray, *scales: float) -> None:
        """Add the gradient of term i in the parameters, scaled for each, to the vectors side by
        side in W.
        """
        block = self._terms[i]
        self.potentials.scatter(self._unflat(gradient, block), block, np.array(scales), W)

    def _unflat(self, vector: np.ndarray, block: Block) -> Potentials:
        K = self.potentials.n_labels
        n = (block.tokens.stop - block.tokens.start) * K
        return Potentials(
            vector[:n].reshape(-1, K), vector[n:].reshape(-1, self.potentials.edge_width)
        )

    @property
    def n_potentials(self) -> int:
        """How many numbers the derivatives of all terms have."""
        n_tables = self._terms[-1].edges.stop if self.potentials.edge_map else self.n_terms
        return (
            int(self.data.offsets[-1]) * self.potentials.n_labels
            + n_tables * self.potentials.edge_width
        )

    def squared_norm(self, gradient: np.ndarray, i: int) -> float:
        """Squared norm of the gradient of term i in the parameters: <gradient, its forward>, as
        forward is linear.
        """
        if self._direction is None:
            self._direction = np.array(self.expand(np.zeros(self.size)), dtype=np.float64)
        self.add(gradient, i, self._direction, 1.0)
        square = float(np.dot(self.forward(self._direction, i, 1.0), gradient))
        self.add(gradient, i, self._direction, -1.0)
        return square
