"""A linear objective as a mean of terms, for solvers that visit one term at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import DTypeLike

from sklearn_struct.compiled.simd import aligned
from sklearn_struct.compiled.threads import go_on
from sklearn_struct.containers.structures import Block, Potentials
from sklearn_struct.inference.base import Inference
from sklearn_struct.linear.vectors_side_by_side import parts
from sklearn_struct.losses.base import Batch, Loss
from sklearn_struct.losses.latent_margin import LatentMargin
from sklearn_struct.losses.planes import Planes
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import LinearPotentials
from sklearn_struct.objectives.remembered_terms import (
    AllDerivatives,
    HalfDerivatives,
    SampledDerivatives,
    remembered_terms,
)

__all__ = ["LinearTerms"]

FEW = 50_000  # weights, to clear which takes less time than to subtract a gradient


class LinearTerms(LinearObjective):
    """The same as a mean of ``n_terms`` terms, each a few examples, taken apart at the linear map
    so that their updates can stay sparse.

    Parameters
    ----------
    potentials : LinearPotentials
    loss : Loss
    inference : Inference
    data : TrainingData
    term_tokens : int
        About how many tokens a term has; 1 makes a term of each sequence. None has weight 0.
    """

    _scratch = (*LinearObjective._scratch, "_terms", "_term_weight", "_direction")

    def __init__(
        self,
        potentials: LinearPotentials,
        loss: Loss,
        inference: Inference,
        data: TrainingData,
        term_tokens: int = 50,
    ) -> None:
        super().__init__(potentials, loss, inference, data)
        self.term_tokens = term_tokens

    @cached_property
    def _terms(self) -> list[Block]:
        n_labels = self.potentials.n_labels
        terms = list(self.inference.blocks(self.data.structure, n_labels, self.term_tokens))
        learnable = self.data.learnable
        # a term without anything to learn would only cost a step; but one there must be
        return [block for block in terms if np.any(learnable[block.examples])] or terms[:1]

    @cached_property
    def _term_weight(self) -> np.ndarray:
        """Weights with which the mean over terms is the objective."""
        return self.data.weight * (self.n_terms / self.total_weight)

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return len(self._terms)

    @property
    def is_sampled(self) -> bool:
        """Whether derivatives of terms are random estimates, which are not those of the values."""
        return self.loss.sampled

    def expand(self, w: np.ndarray) -> np.ndarray:
        """The layout in which terms are added to parameters."""
        return self.potentials.expand(w)

    def compress(self, W: np.ndarray) -> np.ndarray:
        """The inverse of `expand`."""
        return self.potentials.compress(W)

    def side_by_side(self, vectors: Sequence[np.ndarray], dtype: DTypeLike) -> np.ndarray:
        """Expanded vectors that are read and written together."""
        n = len(vectors)
        W = aligned(n * self.potentials.expanded_size, dtype)
        for c, w in enumerate(vectors):
            self.potentials.expand_one(w, W, n, c)
        return W

    def separate(self, W: np.ndarray, c: int) -> np.ndarray:
        """The c-th of the vectors that stand side by side in W, compact."""
        return self.potentials.compress(W, len(W) // self.potentials.expanded_size, c)

    def penalised_parts(self, W: np.ndarray) -> list[np.ndarray]:
        """Views (number, n, grain) of the penalised entries of the n vectors side by side in W."""
        # the last grain is the intercept
        return parts(W, len(W) // self.potentials.expanded_size, self.potentials.grains)[:-1]

    def new_memory(
        self, dtype: DTypeLike, rng: np.random.RandomState, sampled: bool
    ) -> AllDerivatives | HalfDerivatives | SampledDerivatives:
        """An empty memory for derivatives of terms, in a float type; if `sampled`, not of all where
        these are many.
        """
        return remembered_terms(self.n_terms, self.n_potentials, dtype, rng, sampled)

    def forward(self, W: np.ndarray, i: int, *scales: float) -> np.ndarray:
        """Potentials of term i, one flat vector, at the sum of the scaled vectors side by side in
        W.

        Unpenalised parameters are those of the first, unscaled.
        """
        block = self._terms[i]
        theta = np.empty(self.potentials.n_numbers(block), dtype=W.dtype)
        out = self._unflat(theta, block)
        made = self.potentials.forward(W, block, np.array(scales), out.node)
        # nodes are written in place; cliques may be a shared table, which must be copied
        for table, into in zip(made.cliques, out.cliques, strict=True):
            into[:] = table
        return theta

    def term(self, theta: np.ndarray, i: int) -> tuple[float, np.ndarray]:
        """Value of term i, and its derivative in the potentials; the mean over all terms is the
        objective.
        """
        block = self._terms[i]
        gradient = np.zeros(len(theta))
        weight = self._term_weight[block.examples]
        value = self._value[block.examples]
        evidence = self.data.evidence.part(block.tokens)
        batch = Batch(self._unflat(theta, block), evidence, block.structure, weight)
        self.loss(batch, self._unflat(gradient, block), value)
        return float(np.dot(weight, value)), gradient

    def add(self, gradient: np.ndarray, i: int, W: np.ndarray, *scales: float) -> None:
        """Add the gradient of term i in the parameters, scaled for each, to the vectors side by
        side in W.
        """
        block = self._terms[i]
        self.potentials.scatter(self._unflat(gradient, block), block, np.array(scales), W)

    def _unflat(self, vector: np.ndarray, block: Block) -> Potentials:
        """Views of a flat vector that are shaped as the potentials of a term."""
        potentials = self.potentials
        # plain loops: of short terms, calls and generators take as long as the sums
        start = (block.tokens.stop - block.tokens.start) * potentials.n_labels
        node = vector[:start].reshape(-1, potentials.n_labels)
        cliques = []
        for f, width in enumerate(potentials.widths):
            stop = start + width * potentials.n_rows(block, f)
            cliques.append(vector[start:stop].reshape(-1, width))
            start = stop
        return Potentials(node, tuple(cliques))

    def completion(self, w: np.ndarray) -> np.ndarray:
        """The best allowed labels of all nodes, for a loss that completes them."""
        W = self.potentials.expand(w)
        loss: LatentMargin = self.loss  # type: ignore[assignment]
        labels = np.empty(self.data.n_nodes, np.int32)

        def of_block(b: int) -> None:
            go_on()
            block = self.blocks[b]
            batch = self._batch(self.potentials.forward(W, block), block)
            labels[block.tokens] = loss.completed(batch)

        self.threads.map(of_block, len(self.blocks))
        return labels

    def with_completion(self, completion: np.ndarray) -> Self:
        """The objective of such a loss where these labels are held fast."""
        loss: LatentMargin = self.loss  # type: ignore[assignment]
        evidence = self.data.evidence._replace(labels=completion)
        return self.with_evidence(loss.of_completed(), evidence)

    @property
    def n_potentials(self) -> int:
        """How many numbers the derivatives of all terms have."""
        return sum(map(self.potentials.n_numbers, self._terms))

    @cached_property
    def _direction(self) -> np.ndarray:
        """Zeros in the layout of terms, between any two calls."""
        return np.array(self.expand(np.zeros(self.size)), dtype=np.float64)

    def new_planes(self) -> Planes:
        """Room for the planes of a term."""
        return Planes()

    def image(self, gradient: np.ndarray, i: int) -> np.ndarray:
        """Potentials of term i, flat, where the parameters are its gradient; 0 for labels that
        nodes do not have, as these have no gradient.
        """
        self.add(gradient, i, self._direction, 1.0)
        theta = self.forward(self._direction, i, 1.0)
        if self.potentials.kinds is not None:
            theta[theta == -np.inf] = 0.0
        if len(self._direction) <= FEW:
            self._direction[:] = 0.0
        else:
            # taken out again, which takes less time than to clear many weights
            self.add(gradient, i, self._direction, -1.0)
        return theta

    def squared_norm(self, gradient: np.ndarray, i: int) -> float:
        """Squared norm of the gradient of term i in the parameters: <gradient, its image>, as
        forward is linear.
        """
        return float(np.dot(self.image(gradient, i), gradient))
