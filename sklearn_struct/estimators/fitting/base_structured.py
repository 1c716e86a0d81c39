"""What every linear model of structured labels shares.

That is the line from X to a fitted parameter vector, and back to labels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Block, Potentials, Structure, zeros
from sklearn_struct.encoding.sequences import largest_sum
from sklearn_struct.estimators.fitting import sample_weights
from sklearn_struct.estimators.fitting.base_sequence import BaseSequenceEstimator, Sequences
from sklearn_struct.estimators.fitting.iterations import Iterations
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.score_checks import check_learned, check_scores, check_sums
from sklearn_struct.estimators.fitting.solving import (
    STOCHASTIC,
    Minimisation,
    choice,
    solve,
    term_tokens,
)
from sklearn_struct.estimators.fitting.warm_start import Target, transfer
from sklearn_struct.estimators.fitting.weights_as_matrices import BaseLearned
from sklearn_struct.inference.base import Inference
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import LinearPotentials, bind, without_zeros
from sklearn_struct.objectives.linear_terms import LinearTerms
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["BaseStructured", "Restriction", "Result", "Work"]

Result = TypeVar("Result")
Work: TypeAlias = Callable[[Potentials, Block], Result]
# from potentials of a block to those of the labellings that are allowed
Restriction: TypeAlias = Callable[[Potentials, Block], Potentials]


class BaseStructured(BaseLearned, BaseSequenceEstimator):
    """A linear model of potentials; a subclass gives loss, inference, structure and weights.

    Learned, besides the documented attributes: ``_pattern`` (which weights exist) and ``_w`` (their
    values). With them comes ``_prepared``, where predictions keep them in a layout of their own,
    and ``_stream``, see BaseOnlineChain.
    """

    _w: np.ndarray
    _stream: Any

    @abstractmethod
    def _loss(self, evidence: Evidence | None = None) -> Loss:
        """The loss on potentials that `fit` minimises, where this is known of the labels; without
        evidence, where all labels are.
        """

    @abstractmethod
    def _inference(self) -> Inference:
        """What sums over labellings, as the parameters say."""

    @abstractmethod
    def _learned_inference(self) -> Inference:
        """The same of the model that was learned."""

    @abstractmethod
    def _structure(self, sequences: Sequences, learned: bool) -> Structure:
        """Who depends on whom in X, in the model that was `learned` or in that to be fitted."""

    @abstractmethod
    def _observe(self, X: SequenceArray, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        """Which weights exist: what the tokens of positive weight show, or everything."""

    def _decode_potentials(self, potentials: Potentials, structure: Structure) -> Potentials:
        """Potentials that are decoded; here those of the model itself."""
        return potentials

    def _decode(self, potentials: Potentials, structure: Structure, labels: np.ndarray) -> None:
        """Write the labelling that `predict` chooses; here the best one."""
        self._learned_inference().argmax(potentials, structure, labels)

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        start = init
        if init is self or (init is None and self.warm_start):
            start = self._previous() or init
        # before anything is learned: weights that predictions prepared for an earlier fit must not
        # be used
        self._prepared = Prepared()
        sequences = self._read_X(X, reset=True)
        codes = self._read_labels(y, sequences, reset=True)
        weights, loss = self._read_weights(sample_weight, sequences, codes)
        self._pattern = self._observe(sequences.X, codes, weights.token)
        # read now, as X may be gone when what was learned is checked
        size = largest_sum(sequences.X)
        structure = self._structure(sequences, learned=False)
        # only now, as what was observed of a dense X counts its zeros, too
        X = without_zeros(sequences.X)
        potentials = bind(self._pattern, X, structure, np.dtype(self.dtype))
        # zero is where the penalty is least
        w0 = np.zeros(potentials.size) if start is None else self._transferred(start)
        data = TrainingData(structure, weights.evidence, weights.sequence)
        del X, sequences  # if only this method holds X, it is free while the solver needs memory
        self.t_ = data.n_examples
        # what partial_fit would go on from belongs to earlier weights
        self._stream = None
        with Pool(self.n_jobs) as pool:
            settings = self._minimisation()
            solver = choice(settings, loss, potentials, data.n_nodes)
            objective = self._objective(solver, potentials, loss, data).on(pool)
            w0 = self._begin(solver, objective, w0)
            iterations = Iterations(
                self._learned, progress, self._iteration_settings(), objective.total_weight
            )
            learned = solve(settings, solver, objective, w0, iterations)
        self.__dict__.update(learned)
        check_learned(objective, self._w, size, self.classes_)

    def _minimisation(self) -> Minimisation:
        return Minimisation(
            self.solver,
            self.C,
            self.tol,
            self.max_iter,
            self.l1_ratio,
            self.random_state,
            self.dtype,
        )

    def _transferred(self, start: Any) -> np.ndarray:
        """The weights that another fitted estimator has for those of this one."""
        names = getattr(self, "feature_names_in_", None)
        target = Target(self._pattern, self.classes_, self.n_features_in_, names)
        return transfer(start, target)

    def _begin(self, solver: str, objective: LinearObjective, w0: np.ndarray) -> np.ndarray:
        """Where the solver starts; here at the weights of the start that was given, or at zero."""
        return w0

    def _read_weights(
        self, sample_weight: Any, sequences: Sequences, labels: np.ndarray
    ) -> tuple[sample_weights.Weights, Loss]:
        """Weights, with what is known of each token, and the loss that reads it."""
        weights = self._weights(sample_weight, sequences, labels)
        return weights, self._loss(weights.evidence)

    def _weights(
        self, sample_weight: Any, sequences: Sequences, labels: np.ndarray
    ) -> sample_weights.Weights:
        """The weights of a fit, as far as the loss gives them a meaning."""
        class_weight = getattr(self, "class_weight", None)
        of_labels = sample_weights.LabelWeights(self.classes_, class_weight)
        needed = "loss='pointwise'" if hasattr(self, "loss") else "LinearChainCRF(loss='pointwise')"
        return sample_weights.read(
            sample_weight,
            sequences.X,
            labels,
            flat=sequences.flat,
            of_labels=of_labels,
            loss=self._loss,
            needed=needed,
        )

    def _objective(
        self, solver: str, potentials: LinearPotentials, loss: Loss, data: TrainingData
    ) -> LinearObjective:
        """What the solver minimises, as a mean of terms if it visits these."""
        inference = self._inference()
        if solver not in STOCHASTIC:
            return LinearObjective(potentials, loss, inference, data)
        # the labels that a step of inference looks back at
        n_states = potentials.widths[-1] // potentials.n_labels
        tokens = term_tokens(solver, data.n_nodes, n_states)
        return LinearTerms(potentials, loss, inference, data, tokens)

    def _learned(self, w: np.ndarray) -> dict[str, Any]:
        return {"_w": w.copy(), "_prepared": Prepared()}

    def _previous(self) -> Any:
        """A copy of this estimator as an earlier fit left it, if there was one."""
        if not hasattr(self, "_w"):
            return None
        # parameters do not matter: only its weights and names are read
        previous = type(self)()
        previous.__dict__.update(self.__dict__)
        return previous

    def _potentials(
        self, sequences: Sequences, structure: Structure
    ) -> Callable[[Block], Potentials]:
        """What gives the model's potentials in a block of X."""
        potentials, W = self._prepared.bind(
            self._pattern, self._w, sequences.X, structure, np.dtype(self.dtype)
        )

        def of_block(block: Block) -> Potentials:
            theta, squares = potentials.forward_and_squares(W, block)
            check_scores(theta, squares, block, self.classes_)
            return theta

        return of_block

    def _each_block(
        self, sequences: Sequences, work: Work[Result], restrict: Restriction | None = None
    ) -> list[Result]:
        """Call ``work(potentials, block)`` for every block of X, on `n_jobs` threads, with
        potentials as `restrict` leaves them.
        """
        inference = self._learned_inference()
        structure = self._structure(sequences, learned=True)
        of_block = self._potentials(sequences, structure)
        # as many as the parts of sums, so that many threads have work on little data
        cuts = inference.blocks(structure, len(self.classes_), n_blocks=16)

        def run(b: int) -> Result:
            block = cuts[b]
            with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is looked at
                theta = self._decode_potentials(of_block(block), block.structure)
                return work(theta if restrict is None else restrict(theta, block), block)

        with Pool(self.n_jobs) as pool:
            return pool.map(run, len(cuts))

    def _each_sequence(self, sequences: Sequences, work: Work[np.ndarray]) -> np.ndarray:
        """A logarithm for each sequence, of which `work` gives those of a block."""
        return check_sums(np.concatenate([np.empty(0), *self._each_block(sequences, work)]))

    def _predict_codes(
        self, sequences: Sequences, restrict: Restriction | None = None
    ) -> np.ndarray:
        codes = np.empty(sequences.X.tokens.shape[0], dtype=np.int32)

        def work(potentials: Potentials, block: Block) -> None:
            self._decode(potentials, block.structure, codes[block.tokens])

        self._each_block(sequences, work, restrict)
        return codes

    def _label_marginals(
        self, sequences: Sequences, restrict: Restriction | None = None
    ) -> np.ndarray:
        """Marginals (n_tokens, n_labels) of all tokens."""
        n = sequences.X.tokens.shape[0]
        K = len(self.classes_)
        node = np.zeros((n, K))
        log_Z = np.empty(len(sequences.X))
        inference = self._learned_inference()

        def work(potentials: Potentials, block: Block) -> None:
            out = Potentials(node[block.tokens], zeros(potentials).cliques)
            weight = np.ones(block.structure.n_examples)
            inference.marginals(potentials, block.structure, weight, out, log_Z[block.examples])

        self._each_block(sequences, work, restrict)
        return node

    def _pair_marginals(
        self, sequences: Sequences, restrict: Restriction | None = None
    ) -> list[np.ndarray]:
        """Marginals (n_edges, n_labels, n_labels) of the edges of each example."""
        K = len(self.classes_)
        log_Z = np.empty(len(sequences.X))
        inference = self._learned_inference()

        def work(potentials: Potentials, block: Block) -> list[np.ndarray]:
            pairs = block.structure.families[0]
            node, (_, *wider) = zeros(potentials)
            edge = np.zeros((len(pairs.nodes), potentials.cliques[0].shape[1]))
            weight = np.ones(block.structure.n_examples)
            out = Potentials(node, (edge, *wider))
            inference.marginals(potentials, block.structure, weight, out, log_Z[block.examples])
            return np.split(edge.reshape(-1, K, K), pairs.offsets[1:-1])

        parts = self._each_block(sequences, work, restrict)
        return [table for part in parts for table in part]
