"""Objectives: w -> potentials -> loss -> gradient. The only place where parameters meet data and
loss.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from sklearn_struct.compiled.threads import N_PARTS, go_on
from sklearn_struct.containers.memory_checks import give_back
from sklearn_struct.containers.structures import Block, Potentials, Structure
from sklearn_struct.inference.base import Inference
from sklearn_struct.linear.vectors_side_by_side import ONE
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.objectives.lent_threads import OnThreads
from sklearn_struct.objectives.linear_potentials import LinearPotentials
from sklearn_struct.objectives.weight_patterns import split
from sklearn_struct.objectives.windows import Window, windows

__all__ = ["LinearObjective", "TrainingData"]

# (block, room for node potentials, derivatives in the potentials to be written: nodes afresh,
# cliques added)
Work = Callable[[Block, np.ndarray, Potentials], None]

# residuals that fit a cache: float32 ones would save no time there, but cost digits
SMALL = 100_000
MANY = 50_000  # nodes, whose evaluations need memory worth giving back
# of a block: calls of kernels take a tenth of the time that 3000 tokens do
N_TOKENS = 4500
# of little data: some for each part
N_BLOCKS = 3 * N_PARTS


class TrainingData(NamedTuple):
    """Who depends on whom, what is known of the labels, and weights of packed examples.

    Sums of losses are divided by `total`, by default that of the weights.
    """

    structure: Structure
    evidence: Evidence
    weight: np.ndarray
    total: float | None = None

    @property
    def n_examples(self) -> int:
        """Number of examples to learn from."""
        return int(np.count_nonzero(self.learnable))

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all examples."""
        return int(self.structure.offsets[-1])

    @property
    def learnable(self) -> np.ndarray:
        """Whether there is something to learn from an example: it is not empty and has a positive
        weight.
        """
        learnable: np.ndarray = (self.weight != 0) & (np.diff(self.structure.offsets) > 0)
        return learnable


class LinearObjective(OnThreads):
    """Weighted mean of a structured loss over all examples, as a function of the parameter vector.

        value = sum_i weight[i] * loss(potentials_i(w), evidence_i) / sum_i weight[i]

    Parameters
    ----------
    potentials : LinearPotentials
    loss : Loss
    inference : Inference
        Cuts the examples into blocks.
    data : TrainingData
    """

    _scratch: ClassVar[tuple[str, ...]] = ("blocks", "_windows", "_value", "_transpose", "_W")
    # written anew in each evaluation
    buffers: ClassVar[tuple[str, ...]] = ("_value", "_W")

    def __init__(
        self,
        potentials: LinearPotentials,
        loss: Loss,
        inference: Inference,
        data: TrainingData,
    ) -> None:
        self.potentials = potentials
        self.loss = loss
        self.inference = inference
        self.data = data
        self.size = potentials.size
        self.n_free = potentials.n_free
        # of the last evaluation: what couples examples is near to what it was there
        self._settled: Loss | None = None
        self.is_rare = False  # that it is evaluated
        self.total_weight = float(np.sum(data.weight)) if data.total is None else data.total

    def with_loss(self, loss: Loss) -> Self:
        """The objective of another loss of the same data."""
        objective = copy.copy(self)
        objective.loss = loss
        objective._settled = None
        return objective

    def with_evidence(self, loss: Loss, evidence: Evidence) -> Self:
        """The objective of another loss, to which something else is known of the same examples."""
        objective = self.with_loss(loss)
        objective.data = self.data._replace(evidence=evidence)
        return objective

    def parts(self) -> tuple[LinearObjective, LinearObjective]:
        """The objectives of the two losses of which this one's is the difference."""
        first, second = self.loss.parts()
        return self.with_loss(first), self.with_loss(second)

    @cached_property
    def blocks(self) -> list[Block]:
        """The examples in pieces of work."""
        blocks = self.inference.blocks(
            self.data.structure, self.potentials.n_labels, N_TOKENS, N_BLOCKS
        )
        return list(blocks)

    @cached_property
    def _windows(self) -> list[Window]:
        return windows(self.blocks, self.potentials.n_labels, self.is_rare)

    @cached_property
    def _value(self) -> np.ndarray:
        """Room for the loss of each example."""
        return np.empty(len(self.data.weight))

    @property
    def _residuals(self) -> np.dtype:
        """The float type of derivatives in potentials of nodes."""
        # the matrix is read twice: in float32 half as much, where it does not fit the cache anyway
        small = self.data.n_nodes * self.potentials.n_labels <= SMALL
        return np.dtype(np.float64) if small else self.potentials.dtype

    @cached_property
    def _transpose(self) -> Any:
        return self.potentials.node_map.transpose(
            self._residuals, [window.nodes for window in self._windows]
        )

    @cached_property
    def _W(self) -> np.ndarray:
        return self.potentials.expand(np.zeros(self.size))

    def rest(self) -> None:
        """Free what only evaluations need, until the next one; they are rare from now on."""
        self._evaluated(rarely=True)
        vars(self).pop("_W", None)
        if "_transpose" in vars(self):
            self._transpose.rest()
        if self.data.n_nodes >= MANY:
            # else the C library may keep what is free, and get more for the solver's vectors
            give_back()

    def wake(self) -> None:
        """Evaluations are frequent from now on."""
        self._evaluated(rarely=False)

    def _evaluated(self, rarely: bool) -> None:
        if self.is_rare != rarely:
            self.is_rare = rarely
            for name in ("_windows", "_transpose"):
                vars(self).pop(name, None)

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The weighted mean loss and its gradient."""
        W = self.potentials.expand(w, self._W)
        return self._settled_value_and_grad(W, *self._settle(W))

    def value(self, w: np.ndarray) -> float:
        """The weighted mean loss alone, to the last digit, in half of the time or less, and without
        the room for derivatives of all nodes.
        """
        W = self.potentials.expand(w, self._W)
        loss, value = self._settle(W)
        losses = self._value

        def of_block(b: int) -> None:
            go_on()
            block = self.blocks[b]
            with np.errstate(over="ignore", invalid="ignore"):
                batch = self._batch(self.potentials.forward(W, block), block)
                room = self._room(block, self._of_nodes(loss))
                loss.write_value(batch, room, losses[block.examples])

        self.threads.map(of_block, len(self.blocks))
        return self._mean(losses, value)

    def _settle(self, W: np.ndarray) -> tuple[Loss, float]:
        """The loss of single examples, and what all cost together, if the loss couples them."""
        loss = self.loss
        value = 0.0
        if loss.couples:
            # first passes for the sums that couple the examples
            value, loss = loss.settle(lambda asked: self._statistics(W, asked), self._settled)
            self._settled = loss
        return loss, value

    def statistics(self, w: np.ndarray, loss: Loss) -> np.ndarray:
        """The sums over all examples on which a loss depends that couples them."""
        return self._statistics(self.potentials.expand(w, self._W), loss)

    def settled_value_and_grad(self, w: np.ndarray, loss: Loss) -> tuple[float, np.ndarray]:
        """The weighted mean of a loss of single examples, and its gradient."""
        return self._settled_value_and_grad(self.potentials.expand(w, self._W), loss, 0.0)

    def _settled_value_and_grad(
        self, W: np.ndarray, loss: Loss, value: float
    ) -> tuple[float, np.ndarray]:
        """The same, with a `value` of all examples together."""
        losses = self._value

        def work(block: Block, room: np.ndarray, gradient: Potentials) -> None:
            batch = self._batch(self.potentials.forward(W, block, out=room), block)
            gradient.node[:] = 0.0
            loss(batch, gradient, losses[block.examples])

        grad = self._sum(work, self._of_nodes(loss))
        return self._mean(losses, value), grad

    def _of_nodes(self, loss: Loss) -> np.dtype:
        """The float type of what a loss writes of nodes."""
        return self._residuals if loss.writes_float32 else np.dtype(np.float64)

    def _mean(self, losses: np.ndarray, value: float) -> float:
        """The weighted mean, with a `value` of all examples together."""
        # `losses` are without weights, derivatives with them
        return (value + float(np.dot(self.data.weight, losses))) / self.total_weight

    def _room(self, block: Block, of_nodes: np.dtype) -> Potentials:
        """Zeros, to which derivatives in the potentials of a block are added."""
        n_nodes = block.tokens.stop - block.tokens.start
        node = np.zeros((n_nodes, self.potentials.n_labels), of_nodes)
        cliques = [
            np.zeros((self.potentials.n_rows(block, f), width))
            for f, width in enumerate(self.potentials.widths)
        ]
        return Potentials(node, tuple(cliques))

    def _batch(self, theta: Potentials, block: Block) -> Batch:
        evidence = self.data.evidence.part(block.tokens)
        return Batch(theta, evidence, block.structure, self.data.weight[block.examples])

    def _statistics(self, W: np.ndarray, loss: Loss) -> np.ndarray:
        """What a loss that couples examples wants to know of all of them: the sum of its statistics
        of blocks.
        """

        def of_block(b: int) -> np.ndarray:
            go_on()
            block = self.blocks[b]
            with np.errstate(over="ignore", invalid="ignore"):
                return loss.statistics(self._batch(self.potentials.forward(W, block), block))

        every = [part for window in self._windows for part in window.parts]
        parts = self.threads.map(
            lambda c: np.sum([of_block(b) for b in every[c]], axis=0), len(every)
        )
        total: np.ndarray = np.sum(parts, axis=0)
        return total

    def hess_vec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative of the weighted mean loss at w, times v."""
        W = self.potentials.expand(w, self._W)
        V = self.potentials.expand(v)

        def work(block: Block, room: np.ndarray, gradient: Potentials) -> None:
            theta = self.potentials.forward(W, block, out=room)
            direction = self.potentials.forward(V, block)
            gradient.node[:] = 0.0
            self.loss.hess_vec(self._batch(theta, block), direction, gradient)

        return self._sum(work, np.dtype(np.float64))

    def _sum(self, work: Work, of_nodes: np.dtype) -> np.ndarray:
        """The weighted mean of the derivatives that ``work(block, room, gradient)`` writes, in the
        parameters; those in potentials of nodes in a float type.
        """
        transpose = self._transpose  # made before threads ask for it
        transpose.begin()
        grad = np.zeros(self.size)
        segments = split(grad, self.potentials.pattern)
        sums: list[np.ndarray] = []
        for w, window in enumerate(self._windows):
            of_window = self._of_window(work, window, of_nodes)
            transpose.add(self.threads, w, segments.node)
            sums = _both(sums, of_window) if sums else of_window
        *sums, intercept = sums
        for f, family in enumerate(self.potentials.pattern.families):
            clique_map = self.potentials.clique_maps[f]
            if clique_map:
                segments.features[f][:] = clique_map.compress(sums[2 * f])
            of_columns = self.potentials.of_columns(f, sums[2 * f + 1])
            segments.columns[f][:] = of_columns[family.columns]
        segments.intercept[:] = intercept
        grad /= self.total_weight
        return grad

    def _of_window(self, work: Work, window: Window, of_nodes: np.dtype) -> list[np.ndarray]:
        """The work of a window; the sums of what its parts return."""

        def of_part(c: int) -> list[np.ndarray]:
            with np.errstate(over="ignore", invalid="ignore"):  # of steps that are too long
                return self._part(work, window.parts[c], window.nodes.start, of_nodes)

        return self.threads.fold(of_part, _both, len(window.parts))

    def _part(
        self, work: Work, part: np.ndarray, first: int, of_nodes: np.dtype
    ) -> list[np.ndarray]:
        """Do the work of some blocks of the window that begins with node `first`; return its
        derivatives in the weights of clique features and of columns, of one family after the other,
        and in the intercept.
        """
        maps = self.potentials.clique_maps
        of_features = [np.zeros(m.expanded_size if m else 0) for m in maps]
        tables = [np.zeros((1, width)) for width in self.potentials.widths]
        K = self.potentials.n_labels
        intercept = np.zeros(self.n_free)
        n_nodes = max(self.blocks[b].tokens.stop - self.blocks[b].tokens.start for b in part)
        room = np.empty((n_nodes, K), dtype=self.potentials.dtype)
        # one scratch for all blocks of the part: the blocks of a part follow each other
        node = np.empty((n_nodes, K), dtype=of_nodes)
        for b in part:
            go_on()
            block = self.blocks[b]
            n = block.tokens.stop - block.tokens.start
            cliques = tuple(
                np.zeros((self.potentials.n_rows(block, f), table.shape[1])) if maps[f] else table
                for f, table in enumerate(tables)
            )
            gradient = Potentials(node[:n], cliques)
            work(block, room, gradient)
            self._transpose.put(gradient.node, block.tokens, first)
            for f, clique_map in enumerate(maps):
                if clique_map:
                    clique_map.scatter(cliques[f], block.cliques[f], ONE, of_features[f])
                    # the shared table stands in each clique's row
                    tables[f] += cliques[f].sum(axis=0)
            if self.n_free:
                intercept += self.potentials.of_intercept(gradient.node)
        of_families = [
            part for pair in zip(of_features, tables, strict=True) for part in (pair[0], pair[1][0])
        ]
        return [*of_families, intercept]


def _both(some: list[np.ndarray], others: list[np.ndarray]) -> list[np.ndarray]:
    """Sums of two lists of arrays, in those of the first."""
    for total, addend in zip(some, others, strict=True):
        total += addend
    return some
