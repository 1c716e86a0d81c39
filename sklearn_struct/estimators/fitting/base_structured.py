"""What every linear model of structured labels shares: the line from X and a parameter vector to
labels.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from sklearn_struct.compiled.threads import ONE_BLAS_THREAD, Pool
from sklearn_struct.containers.structures import Block, Potentials, Structure, zeros
from sklearn_struct.encoding.parameter_checks import check_count, generator
from sklearn_struct.estimators.fitting.base_sequence import BaseSequenceEstimator, Sequences
from sklearn_struct.estimators.fitting.finite_scores import NodePlace, check_scores, check_sums
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.estimators.fitting.solving import (
    Minimisation,
)
from sklearn_struct.estimators.fitting.warm_start import Target, transfer
from sklearn_struct.estimators.fitting.weights_as_matrices import BaseLearned
from sklearn_struct.exceptions import InputTypeError
from sklearn_struct.inference.base import Inference, Ranker, Sampler
from sklearn_struct.inference.labelling_scores import forbid_labels
from sklearn_struct.objectives.linear_potentials import Inputs
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["BaseStructured", "Restriction", "Result", "Work"]

Result = TypeVar("Result")
Work: TypeAlias = Callable[[Potentials, Block], Result]
SHORT = 1000  # nodes of a single block that is no work for several threads
# from potentials of a block to those of the labellings that are allowed
Restriction: TypeAlias = Callable[[Potentials, Block], Potentials]


class BaseStructured(BaseLearned, BaseSequenceEstimator):
    """A linear model of potentials; a subclass gives inference, structure and weights.

    Learned, besides the documented attributes: ``_pattern`` (which weights exist) and ``_w`` (their
    values). With them comes ``_prepared``, where predictions keep them in a layout of their own,
    and ``_stream``, see BaseOnlineChain.
    """

    _w: np.ndarray
    _prepared: Prepared
    _stream: Any

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
    def _observe(self, sequences: Sequences, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        """Which weights exist: what the tokens of positive weight show, or everything."""

    def _n_nodes(self, sequences: Sequences) -> int:
        """How many nodes have labels; here all tokens."""
        n: int = sequences.X.stored.shape[0]
        return n

    def _inputs(self, sequences: Sequences) -> Inputs | None:
        """What features of nodes do not tell; None where they tell all."""
        return None

    def _decode_potentials(self, potentials: Potentials, structure: Structure) -> Potentials:
        """Potentials that are decoded; here those of the model itself."""
        return potentials

    def _decode(self, potentials: Potentials, structure: Structure, labels: np.ndarray) -> None:
        """Write the labelling that `predict` chooses; here the best one."""
        self._learned_inference().argmax(potentials, structure, labels)

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
        target = Target(self._pattern, self._rows_for(start), self.n_features_in_, names)
        return transfer(start, target)

    def _alphabet(self) -> np.ndarray:
        """What inference chooses from at each token: labels, or the states that labels have."""
        return self.classes_

    def _width(self) -> int:
        """How many these are."""
        return len(self.classes_)

    def _rows_for(self, start: Any) -> np.ndarray:
        """What each row of weights is called in another model, from whose weights a fit starts."""
        if hasattr(start, "states_"):
            raise InputTypeError(
                f"init is a {type(start).__name__} with hidden states, which {type(self).__name__} "
                "does not have"
            )
        return self._alphabet()

    def _learned(self, w: np.ndarray) -> dict[str, Any]:
        return {"_w": w.copy(), "_prepared": Prepared()}

    def _start_of(self, init: Any) -> Any:
        """The fitted estimator whose weights a fit begins with; None for zeros."""
        if init is self or (init is None and self.warm_start):
            return self._previous() or init
        return init

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
            self._pattern,
            self._w,
            sequences.X,
            structure,
            np.dtype(self.dtype),
            self._inputs(sequences),
        )

        def of_block(block: Block) -> Potentials:
            theta, squares = potentials.forward_and_squares(W, block)
            check_scores(theta, squares, block, potentials.kinds, self._score_of)
            return theta

        return of_block

    def _score_of(self, place: NodePlace, code: int | None) -> str:
        """Words for the score of a label, or, of None, of a transition into that place."""
        of = "a transition" if code is None else f"the label {self.classes_.tolist()[code]!r}"
        return f"X[{place.example}], token {place.node}: the score of {of}"

    def _each_block(
        self, sequences: Sequences, work: Work[Result], restrict: Restriction | None = None
    ) -> list[Result]:
        """Call ``work(potentials, block)`` for every block of X, on `n_jobs` threads, with
        potentials as `restrict` leaves them.
        """
        inference = self._learned_inference()
        structure = self._structure(sequences, learned=True)
        of_block = self._potentials(sequences, structure)
        # some, so that threads have work on little data; few, as each costs about 0.1 ms
        cuts = inference.blocks(structure, self._width(), n_blocks=8)

        def run(b: int) -> Result:
            block = cuts[b]
            with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is looked at
                theta = self._decode_potentials(of_block(block), block.structure)
                return work(theta if restrict is None else restrict(theta, block), block)

        if len(cuts) == 1 and structure.offsets[-1] < SHORT:
            # a sentence takes less time than to ask joblib how many threads there may be
            with ONE_BLAS_THREAD:
                return [run(0)]
        with Pool(self.n_jobs) as pool:
            return pool.map(run, len(cuts))

    def _each_sequence(self, sequences: Sequences, work: Work[np.ndarray]) -> np.ndarray:
        """A logarithm for each sequence, of which `work` gives those of a block."""
        return check_sums(np.concatenate([np.empty(0), *self._each_block(sequences, work)]))

    def _predict_codes(
        self, sequences: Sequences, restrict: Restriction | None = None
    ) -> np.ndarray:
        codes = np.empty(self._n_nodes(sequences), dtype=np.int32)

        def work(potentials: Potentials, block: Block) -> None:
            self._decode(potentials, block.structure, codes[block.tokens])

        self._each_block(sequences, work, restrict)
        return codes

    def _label_marginals(
        self, sequences: Sequences, restrict: Restriction | None = None
    ) -> np.ndarray:
        """Marginals (n_tokens, n_labels) of all tokens."""
        K = self._width()
        node = np.zeros((self._n_nodes(sequences), K))
        log_Z = np.empty(len(sequences.X))
        inference = self._learned_inference()

        def work(potentials: Potentials, block: Block) -> None:
            out = Potentials(node[block.tokens], zeros(potentials).cliques)
            weight = np.ones(block.structure.n_examples)
            inference.marginals(potentials, block.structure, weight, out, log_Z[block.examples])

        self._each_block(sequences, work, restrict)
        return node

    def _clique_marginals(
        self, sequences: Sequences, f: int = 0, restrict: Restriction | None = None
    ) -> list[np.ndarray]:
        """Marginals (n_cliques, n_labels, ..., n_labels) of the cliques of family f of each
        example.
        """
        K = self._width()
        log_Z = np.empty(len(sequences.X))
        inference = self._learned_inference()

        def work(potentials: Potentials, block: Block) -> list[np.ndarray]:
            family = block.structure.families[f]
            node, cliques = zeros(potentials)
            table = np.zeros((len(family.nodes), cliques[f].shape[1]))
            weight = np.ones(block.structure.n_examples)
            out = Potentials(node, (*cliques[:f], table, *cliques[f + 1 :]))
            inference.marginals(potentials, block.structure, weight, out, log_Z[block.examples])
            shape = -1, *(K,) * family.nodes.shape[1]
            return np.split(table.reshape(shape), family.offsets[1:-1])

        parts = self._each_block(sequences, work, restrict)
        return [table for part in parts for table in part]

    def _drawn(
        self,
        inference: Sampler,
        sequences: Sequences,
        n_samples: int,
        random_state: Any,
        restrict: Restriction | None = None,
    ) -> np.ndarray:
        """Codes (n_samples, n_tokens) drawn from p(y | x)."""
        n_tokens = self._n_nodes(sequences)
        # a random number of eight bytes and a code of four for each token
        check_count(n_samples, "n_samples", 12 * n_tokens)
        # all at once, so that what is drawn depends neither on blocks nor on threads
        uniform = generator(random_state).random_sample((n_samples, n_tokens))
        codes = np.empty(uniform.shape, dtype=np.int32)
        score = np.empty(len(sequences.X))

        def work(potentials: Potentials, block: Block) -> None:
            for r in range(n_samples):
                draw = uniform[r, block.tokens], codes[r, block.tokens], score[block.examples]
                inference.sample(potentials, block.structure, *draw)

        self._each_block(sequences, work, restrict)
        return codes

    def _ranked(
        self,
        inference: Ranker,
        sequences: Sequences,
        n: int,
        restrict: Restriction | None = None,
    ) -> list[list[tuple[np.ndarray, float]]]:
        """The n best labellings of each sequence: codes, and log p(y | x)."""

        def work(potentials: Potentials, block: Block) -> list[Any]:
            n_examples = block.structure.n_examples
            codes = np.empty((n, len(potentials.node)), dtype=np.int32)
            score = np.empty((n, n_examples))
            inference.nbest(potentials, block.structure, codes, score)
            log_p = check_sums(
                score - inference.log_partition(potentials, block.structure), block.examples.start
            )
            ranked = []
            for i in range(n_examples):
                tokens = slice(*block.structure.offsets[i : i + 2])
                # short sequences may have fewer labellings than are asked for
                count = int(np.sum(score[:, i] > -np.inf))
                ranked.append([(codes[r, tokens], float(log_p[r, i])) for r in range(count)])
            return ranked

        parts = self._each_block(sequences, work, restrict)
        return [pairs for part in parts for pairs in part]

    def _log_proba(self, sequences: Sequences, labels: np.ndarray) -> np.ndarray:
        """log p(y | x) of codes, or of all labellings together that masks (n, n_labels) allow."""
        inference = self._learned_inference()

        def work(theta: Potentials, block: Block) -> np.ndarray:
            known = labels[block.tokens]
            if known.ndim == 1:
                score = inference.scores(theta, block.structure, known)
            else:
                score = inference.log_partition(forbid_labels(theta, known), block.structure)
            log_p: np.ndarray = score - inference.log_partition(theta, block.structure)
            return log_p

        return self._each_sequence(sequences, work)
