"""What every estimator of linear chains shares: the line from X to a fitted parameter vector, and
back to labels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.structures import Block, Potentials, Structure, zeros
from sklearn_struct.encoding.labels.allowed_labels import label_masks
from sklearn_struct.encoding.labels.allowed_transitions import read_transitions
from sklearn_struct.encoding.labels.label_codes import decode
from sklearn_struct.encoding.parameter_checks import check_count, generator
from sklearn_struct.encoding.sequences import largest_sum
from sklearn_struct.estimators.chains.chain_parameters import ChainParameters
from sklearn_struct.estimators.chains.constraint_errors import check_labels, check_paths
from sklearn_struct.estimators.chains.learned_matrices import BaseLearned
from sklearn_struct.estimators.chains.prepared_weights import Prepared
from sklearn_struct.estimators.chains.warm_start import transfer
from sklearn_struct.estimators.chains.weight_pattern import observe
from sklearn_struct.estimators.fitting import sample_weights
from sklearn_struct.estimators.fitting.base_sequence import (
    BaseSequenceEstimator,
    Sequences,
    logarithms,
)
from sklearn_struct.estimators.fitting.progress import Progress
from sklearn_struct.estimators.fitting.score_checks import check_learned, check_scores, check_sums
from sklearn_struct.estimators.fitting.solving import STOCHASTIC, choice, solve, term_tokens
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import Transitions, forbid
from sklearn_struct.inference.labellings import forbid_labels
from sklearn_struct.losses.base import Loss
from sklearn_struct.losses.constrained import Constrained
from sklearn_struct.losses.evidence import Evidence
from sklearn_struct.objectives.linear_objective import LinearObjective, TrainingData
from sklearn_struct.objectives.linear_potentials import LinearPotentials, bind, without_zeros
from sklearn_struct.objectives.linear_terms import LinearTerms
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["BaseChain"]


class BaseChain(ChainParameters, BaseLearned, BaseSequenceEstimator):
    """A linear chain with a linear model of its potentials; a subclass gives the loss by `_loss`.

    Learned, besides the documented attributes: ``_pattern`` (which weights exist) and ``_w`` (their
    values). With them comes ``_prepared``, where predictions keep them in a layout of their own,
    and ``_stream``, see BaseOnlineChain. A subclass adds constraints of its own parameters, among
    them `solver`.
    """

    _settings: ClassVar[tuple[str, ...]] = ("dtype", "allowed_transitions", "n_jobs")

    _w: np.ndarray
    _stream: Any

    @abstractmethod
    def _loss(self, evidence: Evidence | None = None) -> Loss:
        """The loss on potentials that `fit` minimises, where this is known of the labels; without
        evidence, where all labels are.
        """

    def _inference(self) -> Chain:
        """What sums over labellings: of chains of the order that the parameter says."""
        return Chain(getattr(self, "order", 1))

    def _learned_inference(self) -> Chain:
        """The same of the order that was learned."""
        return Chain(self._pattern.order)

    def _decode_potentials(self, potentials: Potentials, structure: Structure) -> Potentials:
        """Potentials whose chain is decoded; here those of the model itself."""
        return potentials

    def _decode(self, potentials: Potentials, structure: Structure, labels: np.ndarray) -> None:
        """Write the labelling that `predict` chooses; here the best one."""
        self._learned_inference().argmax(potentials, structure, labels)

    def _transitions(self) -> Transitions | None:
        """What `allowed_transitions` allows; None is everything."""
        return read_transitions(self.allowed_transitions, self.classes_)

    def _fit(self, X: Any, y: Any, sample_weight: Any, init: Any, progress: Progress) -> None:
        start = init
        if init is self or (init is None and self.warm_start):
            start = self._previous() or init
        self._prepared = Prepared()
        sequences = self._read_X(X, reset=True)
        codes = self._read_labels(y, sequences, reset=True)
        weights, loss = self._read_weights(sample_weight, sequences, codes)
        self._pattern = self._observe(sequences.X, codes, weights.token)
        size = largest_sum(sequences.X)
        structure = self._inference().structure(sequences.X.offsets)
        X = without_zeros(sequences.X)
        potentials = bind(self._pattern, X, structure, np.dtype(self.dtype))
        w0 = np.zeros(potentials.size) if start is None else transfer(start, self)
        data = TrainingData(structure, weights.evidence, weights.sequence)
        del X, sequences  # if only this method holds X, it is free while the solver needs memory
        self.t_ = data.n_examples
        self._stream = None
        with Pool(self.n_jobs) as pool:
            solver = choice(self, loss, potentials, data.n_nodes)
            objective = self._objective(solver, potentials, loss, data).on(pool)
            w0 = self._begin(solver, objective, w0)
            solve(self, solver, objective, w0, progress)
        check_learned(objective, self._w, size, self.classes_)

    def _begin(self, solver: str, objective: LinearObjective, w0: np.ndarray) -> np.ndarray:
        """Where the solver starts; here at the weights of the start that was given, or at zero."""
        return w0

    def _read_weights(
        self, sample_weight: Any, sequences: Sequences, labels: np.ndarray
    ) -> tuple[sample_weights.Weights, Loss]:
        """Weights, with what is known of each token, and the loss that reads it."""
        weights = sample_weights.read(self, sample_weight, sequences, labels)
        return weights, self._loss(weights.evidence)

    def _objective(
        self, solver: str, potentials: LinearPotentials, loss: Loss, data: TrainingData
    ) -> LinearObjective:
        transitions = self._transitions()
        if self.constrain_training and transitions is not None:
            check_labels(data, transitions, self.classes_)
            loss = Constrained(loss, transitions)
        inference = self._inference()
        if solver not in STOCHASTIC:
            return LinearObjective(potentials, loss, inference, data)
        n_states = potentials.widths[-1] // potentials.n_labels
        tokens = term_tokens(solver, data.n_nodes, n_states)
        return LinearTerms(potentials, loss, inference, data, tokens)

    def _learned(self, w: np.ndarray) -> dict[str, Any]:
        return {"_w": w.copy(), "_prepared": Prepared()}

    def _previous(self) -> Any:
        """A copy of this estimator as an earlier fit left it, if there was one."""
        if not hasattr(self, "_w"):
            return None
        previous = type(self)()
        previous.__dict__.update(self.__dict__)
        return previous

    def _observe(self, X: SequenceArray, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        """Which weights exist: what the tokens of positive weight show, or everything."""
        return observe(self, X, codes, weight)

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
        self, sequences: Sequences, work: Callable[[Potentials, Block], Any], allowed: Any = None
    ) -> list[Any]:
        """Call ``work(potentials, block)`` for every block of X, on `n_jobs` threads."""
        masks = None
        if allowed is not None:
            masks = label_masks(allowed, self.classes_, sequences.X.offsets, sequences.flat)
        transitions = self._transitions()
        inference = self._learned_inference()
        structure = inference.structure(sequences.X.offsets)
        of_block = self._potentials(sequences, structure)
        cuts = inference.blocks(structure, len(self.classes_), n_blocks=16)

        def run(b: int) -> Any:
            block = cuts[b]
            with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is looked at
                theta = self._decode_potentials(of_block(block), block.structure)
                if transitions is not None:
                    theta = forbid(theta, block.structure, transitions)
                if masks is not None:
                    theta = forbid_labels(theta, masks[block.tokens])
                if transitions is not None or masks is not None:
                    check_paths(theta, block)
                return work(theta, block)

        with Pool(self.n_jobs) as pool:
            return pool.map(run, len(cuts))

    def _each_sequence(
        self, sequences: Sequences, work: Callable[[Potentials, Block], np.ndarray]
    ) -> np.ndarray:
        """A logarithm for each sequence, of which `work` gives those of a block."""
        return check_sums(np.concatenate([np.empty(0), *self._each_block(sequences, work)]))

    def _predict_codes(self, sequences: Sequences, allowed: Any = None) -> np.ndarray:
        codes = np.empty(sequences.X.tokens.shape[0], dtype=np.int32)

        def work(potentials: Potentials, block: Block) -> None:
            self._decode(potentials, block.structure, codes[block.tokens])

        self._each_block(sequences, work, allowed)
        return codes

    def predict(self, X: Any, *, allowed: Any = None) -> np.ndarray:
        """Most probable labelling of each sequence (Viterbi).

        Parameters
        ----------
        X
            As in `fit`.
        allowed : list of lists, default=None
            For each token of each sequence what may stand there: a label, a list or set of labels,
            or None for any. None in the place of a sequence's list leaves that sequence free; a
            two-dimensional X has one entry a row.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, a list of labels each; for two-dimensional X the labels themselves.

        Raises
        ------
        ForbiddenLabelError
            If `allowed` and ``allowed_transitions`` leave a sequence no labelling.
        """
        sequences = self._read_X(X, reset=False)
        return self._labels(self._predict_codes(sequences, allowed), sequences)

    def predict_proba(self, X: Any, *, allowed: Any = None) -> np.ndarray:
        """Marginal probability of each label at each token, p(y_t = k | x); after "ap" and "pa" not
        calibrated.

        Parameters
        ----------
        X
            As in `fit`.
        allowed
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, an array (n_tokens, n_labels) each, columns in the order of ``classes_``;
            for two-dimensional X one array (n, n_labels).
        """
        sequences = self._read_X(X, reset=False)
        node = self._label_marginals(sequences, allowed)
        return node if sequences.flat else object_array(cut(node, sequences.X.offsets))

    def _label_marginals(self, sequences: Sequences, allowed: Any = None) -> np.ndarray:
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

        self._each_block(sequences, work, allowed)
        return node

    def predict_log_proba(self, X: Any, *, allowed: Any = None) -> np.ndarray:
        """Logarithm of `predict_proba`, in the same form.

        Parameters
        ----------
        X
            As in `fit`.
        allowed
            As in `predict`.

        Returns
        -------
        ndarray
            -inf where a probability is below the smallest float.
        """
        return logarithms(self.predict_proba(X, allowed=allowed))

    def predict_edge_proba(self, X: Any, *, allowed: Any = None) -> np.ndarray:
        """Marginal probability of each label pair at each pair of neighbours, p(y_t = j, y_{t+1} =
        k | x).

        Pairs at any order of the chain.

        Parameters
        ----------
        X
            As in `fit`.
        allowed
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, an array (max(n_tokens - 1, 0), n_labels, n_labels) each.
        """
        sequences = self._read_X(X, reset=False)
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

        return object_array(
            [table for part in self._each_block(sequences, work, allowed) for table in part]
        )

    def predict_nbest(self, X: Any, n: int = 5, *, allowed: Any = None) -> np.ndarray:
        """The n most probable labellings of each sequence.

        Parameters
        ----------
        X
            As in `fit`.
        n : int, default=5
        allowed
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, each a list of at most n pairs (list of labels, log p(y | x)), best first.
        """
        sequences = self._read_X(X, reset=False)
        check_count(n, "n", 16 * len(self.classes_) * sequences.X.tokens.shape[0])
        inference = self._learned_inference()

        def work(potentials: Potentials, block: Block) -> list[Any]:
            n_examples = block.structure.n_examples
            codes = np.empty((n, len(potentials.node)), dtype=np.int32)
            score = np.empty((n, n_examples))
            inference.nbest(potentials, block.structure, codes, score)
            log_p = check_sums(
                score - inference.log_partition(potentials, block.structure), block.examples.start
            )
            found = []
            for i in range(n_examples):
                tokens = slice(*block.structure.offsets[i : i + 2])
                count = int(np.sum(score[:, i] > -np.inf))
                found.append(
                    [
                        (self.classes_[codes[r, tokens]].tolist(), float(log_p[r, i]))
                        for r in range(count)
                    ]
                )
            return found

        return object_array(
            [pairs for part in self._each_block(sequences, work, allowed) for pairs in part]
        )

    def sample(
        self, X: Any, n_samples: int = 1, random_state: Any = None, *, allowed: Any = None
    ) -> np.ndarray:
        """Draw labellings from p(y | x).

        Parameters
        ----------
        X
            As in `fit`.
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None
        allowed
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, each a list of `n_samples` lists of labels.
        """
        sequences = self._read_X(X, reset=False)
        n_tokens = sequences.X.tokens.shape[0]
        check_count(n_samples, "n_samples", 12 * n_tokens)
        uniform = generator(random_state).random_sample((n_samples, n_tokens))
        codes = np.empty(uniform.shape, dtype=np.int32)
        score = np.empty(len(sequences.X))
        inference = self._learned_inference()

        def work(potentials: Potentials, block: Block) -> None:
            for r in range(n_samples):
                draw = uniform[r, block.tokens], codes[r, block.tokens], score[block.examples]
                inference.sample(potentials, block.structure, *draw)

        self._each_block(sequences, work, allowed)
        drawn = [decode(row, self.classes_, sequences.X.offsets) for row in codes]
        return object_array([list(labels) for labels in zip(*drawn, strict=True)])

    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """log p(y | x) of each sequence; where y may be partly unknown, of all labellings that it
        allows together.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)

        Raises
        ------
        UnknownLabelError
            If y holds a label that was not seen in `fit`.
        """
        sequences = self._read_X(X, reset=False)
        labels = self._read_labels(y, sequences, reset=False)
        inference = self._learned_inference()

        def work(theta: Potentials, block: Block) -> np.ndarray:
            known = labels[block.tokens]
            if known.ndim == 1:
                score = inference.scores(theta, block.structure, known)
            else:
                score = inference.log_partition(forbid_labels(theta, known), block.structure)
            return score - inference.log_partition(theta, block.structure)

        return self._each_sequence(sequences, work)
