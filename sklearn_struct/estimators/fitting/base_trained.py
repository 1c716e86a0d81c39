"""What linear models of structured labels share that learn by a loss of potentials: the line from
X and y to a parameter vector.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.memory_checks import give_back
from sklearn_struct.encoding.sequences import largest_sum
from sklearn_struct.estimators.fitting import sample_weights
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.base_structured import BaseStructured
from sklearn_struct.estimators.fitting.finite_scores import check_learned
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.sample_weights import LabelWeights, Weights
from sklearn_struct.estimators.fitting.solving import (
    STOCHASTIC,
    Minimisation,
    choice,
    solve,
    term_tokens,
)
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import LinearPotentials, bind
from sklearn_struct.objectives.linear_terms import LinearTerms
from sklearn_struct.objectives.node_maps import without_zeros

__all__ = ["BaseTrained"]

MANY = 50_000  # nodes, whose encoding leaves much memory behind


class BaseTrained(BaseStructured):
    """A linear model of potentials whose weights minimise a loss of these; a subclass gives the
    loss.
    """

    @abstractmethod
    def _loss(self, evidence: Evidence | None = None) -> Loss:
        """The loss on potentials that `fit` minimises, where this is known of the labels; without
        evidence, where all labels are.
        """

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        start = self._start_of(init)
        # before anything is learned: weights that predictions prepared for an earlier fit must not
        # be used
        self._prepared = Prepared()
        self._forget_gap()
        sequences = self._read_X(X, reset=True)
        codes = self._read_labels(y, sequences, reset=True)
        weights, loss = self._read_weights(sample_weight, sequences, codes)
        # read now, as X may be gone when what was learned is checked
        size = largest_sum(sequences.X)
        potentials, data = self._posed(sequences, codes, weights)
        if not potentials.has_clique_features:
            data = data._replace(structure=loss.read_of(data.structure))
        # zero is where the penalty is least
        w0 = np.zeros(potentials.size) if start is None else self._transferred(start)
        # if only this method holds X, it is free while the solver needs memory
        del X, sequences
        if data.n_nodes >= MANY:
            give_back()
        self._learn(potentials, loss, data, w0, progress, size)

    def _posed(
        self, sequences: Sequences, codes: np.ndarray, weights: Weights
    ) -> tuple[LinearPotentials, TrainingData]:
        """What weights make of the sequences, and what is to be learned; which weights exist is
        learned here.
        """
        self._pattern = self._observe(sequences, codes, weights.token)
        return self._bound(sequences, weights)

    def _bound(
        self, sequences: Sequences, weights: Weights, total: float | None = None
    ) -> tuple[LinearPotentials, TrainingData]:
        """The same where it is known which weights exist; sums of losses are divided by `total`, by
        default by the weights of these sequences.
        """
        structure = self._structure(sequences, learned=False)
        # only now, as what was observed of a dense X counts its zeros, too
        X = without_zeros(sequences.X)
        inputs = self._inputs(sequences)
        potentials = bind(self._pattern, X, structure, np.dtype(self.dtype), inputs=inputs)
        return potentials, TrainingData(structure, weights.evidence, weights.sequence, total)

    def _learn(
        self,
        potentials: LinearPotentials,
        loss: Loss,
        data: TrainingData,
        w0: np.ndarray,
        progress: Progress,
        size: float,
    ) -> None:
        """Learn the weights; `size` is the largest sum of features of a token."""
        self.t_ = data.n_examples
        # what partial_fit would go on from belongs to earlier weights
        self._stream = None
        with Pool(self.n_jobs) as pool:
            settings = self._minimisation()
            solver = choice(settings, loss, potentials, data)
            objective = self._objective(solver, potentials, loss, data).on(pool)
            w0 = self._begin(solver, objective, w0)
            iterations = Iterations(
                self._learned, progress, self._iteration_settings(), objective.total_weight
            )
            learned = self._solved(settings, solver, objective, w0, iterations)
            self.__dict__.update(learned | {"solver_": solver})
            check_learned(objective, self._w, size, self._score_of)
            self._look_back(objective)

    def _forget_gap(self) -> None:
        """What only some solvers know of their minimum must not outlive it."""
        for name in ("gap_", "gap_certified_"):
            self.__dict__.pop(name, None)

    def _begin(self, solver: str, objective: LinearObjective, w0: np.ndarray) -> np.ndarray:
        """Where the solver starts; here at the weights of the start that was given, or at zero."""
        return w0

    def _solved(
        self,
        settings: Minimisation,
        solver: str,
        objective: LinearObjective,
        w0: np.ndarray,
        iterations: Iterations,
    ) -> dict[str, Any]:
        """What is learned, by name; here at the objective's minimum."""
        return solve(settings, solver, objective, w0, iterations)

    def _look_back(self, objective: LinearObjective) -> None:
        """What there is to say of the minimum that was found; here nothing."""

    def _read_weights(
        self, sample_weight: Any, sequences: Sequences, labels: np.ndarray
    ) -> tuple[Weights, Loss]:
        """Weights, with what is known of each token, and the loss that reads it."""
        weights = self._weights(sample_weight, sequences, labels)
        return weights, self._loss(weights.evidence)

    def _weights_of_part(
        self, sample_weight: Any, sequences: Sequences, labels: np.ndarray
    ) -> Weights:
        """The same of a part of the data."""
        return self._read_weights(sample_weight, sequences, labels)[0]

    def _weights(self, sample_weight: Any, sequences: Sequences, labels: np.ndarray) -> Weights:
        """The weights of a fit, as far as the loss gives them a meaning."""
        return sample_weights.read(
            sample_weight,
            sequences.X,
            labels,
            flat=sequences.flat,
            of_labels=self._label_weights(),
            loss=self._loss,
        )

    def _label_weights(self) -> LabelWeights:
        """The labels and their weights; here all labels weigh the same."""
        return LabelWeights(self.classes_, None)

    def _objective(
        self, solver: str, potentials: LinearPotentials, loss: Loss, data: TrainingData
    ) -> LinearObjective:
        """What the solver minimises, as a mean of terms if it visits these."""
        inference = self._inference()
        if solver not in STOCHASTIC:
            return LinearObjective(potentials, loss, inference, data)
        # the labels that a step of inference looks back at
        n_states = max(potentials.widths) // potentials.n_labels
        tokens = term_tokens(solver, data.n_nodes, n_states)
        return LinearTerms(potentials, loss, inference, data, tokens)
