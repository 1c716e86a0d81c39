"""What every estimator of linear chains shares: the line from X to a fitted parameter vector, and
back to labels.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.structures import Block, Potentials, Structure
from sklearn_struct.encoding.labels.allowed_labels import label_masks
from sklearn_struct.encoding.labels.allowed_transitions import read_transitions
from sklearn_struct.encoding.labels.label_codes import decode
from sklearn_struct.encoding.parameter_checks import check_count
from sklearn_struct.estimators.chains.chain_parameters import ChainParameters
from sklearn_struct.estimators.chains.forbidden_label_errors import check_paths
from sklearn_struct.estimators.chains.observed_weights import WeightChoice, observe
from sklearn_struct.estimators.fitting.base_sequence import Sequences, divided, logarithms
from sklearn_struct.estimators.fitting.base_structured import (
    BaseStructured,
    Restriction,
    Result,
    Work,
)
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import Transitions, forbid
from sklearn_struct.inference.labelling_scores import forbid_labels
from sklearn_struct.objectives.weight_patterns import Pattern

__all__ = ["BaseChain"]


class BaseChain(ChainParameters, BaseStructured):
    """A linear chain with a linear model of its potentials; a subclass says how it learns.

    A subclass adds constraints of its own parameters, among them `solver`.
    """

    _settings: ClassVar[tuple[str, ...]] = ("dtype", "allowed_transitions", "n_jobs")

    @property
    def edge_features_(self) -> np.ndarray:
        """Columns of X that also score transitions."""
        columns: np.ndarray = self._fitted("_pattern").edge_columns
        return columns

    @property
    def transition2_(self) -> np.ndarray:
        """Weights of three labels in a row (n_labels, n_labels, n_labels), if the order is 2."""
        return self._moves(3)

    def _inference(self) -> Chain:
        """What sums over labellings: of chains of the order that the parameter says."""
        return Chain(self.order)

    def _learned_inference(self) -> Chain:
        """The same of the order that was learned."""
        return Chain(self._pattern.order)

    def _structure(self, sequences: Sequences, learned: bool) -> Structure:
        inference = self._learned_inference() if learned else self._inference()
        return inference.structure(sequences.X.offsets)

    def _observe(self, sequences: Sequences, codes: np.ndarray, weight: np.ndarray) -> Pattern:
        return observe(self._weight_choice(), self._width(), sequences.X, codes, weight)

    def _weight_choice(self) -> WeightChoice:
        """What the parameters say of weights."""
        return WeightChoice(
            self._inference().order,
            self.feature_pairs,
            self.transition_features,
            self.edge_features,
            self.min_frequency,
            self.fit_intercept,
        )

    def _transitions(self) -> Transitions | None:
        """What `allowed_transitions` allows; None is everything."""
        return read_transitions(self.allowed_transitions, self.classes_)

    def _label_codes(self, codes: np.ndarray) -> np.ndarray:
        """Codes of the labels, of what inference has chosen."""
        return codes

    def _path(self, sequences: Sequences, codes: np.ndarray) -> np.ndarray:
        """What weights are of where these labels stand; here the labels."""
        return codes

    def _masks(self, sequences: Sequences, allowed: Any) -> np.ndarray:
        """Which labels `allowed` allows at each token."""
        return label_masks(allowed, self.classes_, sequences.X.offsets, sequences.flat)

    def _limits(self, sequences: Sequences, allowed: Any) -> np.ndarray | None:
        """What predictions are limited to at each token; None where nothing is."""
        return None if allowed is None else self._masks(sequences, allowed)

    def _restriction(self, sequences: Sequences, allowed: Any = None) -> Restriction | None:
        """A function that forbids in a block's potentials what may not be predicted; or None."""
        masks = self._limits(sequences, allowed)
        transitions = self._transitions()
        if transitions is None and masks is None:
            return None

        def restrict(theta: Potentials, block: Block) -> Potentials:
            if transitions is not None:
                theta = forbid(theta, block.structure, transitions)
            if masks is not None:
                theta = forbid_labels(theta, masks[block.tokens])
            # before decoding, which finds some labelling even where none is allowed
            check_paths(theta, block)
            return theta

        return restrict

    def _each_block(
        self, sequences: Sequences, work: Work[Result], restrict: Restriction | None = None
    ) -> list[Result]:
        return super()._each_block(sequences, work, restrict or self._restriction(sequences))

    def predict(self, X: Any, *, allowed: Any = None) -> np.ndarray:
        """Most probable labelling of each sequence (Viterbi).

        Parameters
        ----------
        X
            As in `fit`.
        allowed : list of lists, default=None
            For each token of each sequence, the labels that it may have: one label, a list or set
            of labels, or None for all labels. None in the place of a sequence's list leaves this
            sequence free. A two-dimensional X has one entry per row.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object: a list of labels for each sequence. For two-dimensional X, the labels
            themselves.

        Raises
        ------
        ForbiddenLabelError
            If `allowed` and ``allowed_transitions`` leave a sequence no labelling.
        """
        sequences = self._read_X(X, reset=False)
        # what `allowed_transitions` says alone is asked for below
        restrict = None if allowed is None else self._restriction(sequences, allowed)
        return self._labels(self._predict_codes(sequences, restrict), sequences)

    def predict_proba(self, X: Any, *, allowed: Any = None) -> np.ndarray:
        """Marginal probability of each label at each token, p(y_t = k | x).

        After a fit by "ap" or "pa" these are not calibrated.

        Parameters
        ----------
        X
            As in `fit`.
        allowed
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object: an array (n_tokens, n_labels) for each sequence, with columns in the order
            of ``classes_``. For two-dimensional X, one array (n, n_labels).
        """
        sequences = self._read_X(X, reset=False)
        node = self._label_marginals(sequences, self._restriction(sequences, allowed))
        return divided(node, sequences)

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

        At each order of the chain, the pairs are those of neighbouring tokens.

        Parameters
        ----------
        X
            As in `fit`.
        allowed
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object: an array (max(n_tokens - 1, 0), n_labels, n_labels) for each sequence.
        """
        sequences = self._read_X(X, reset=False)
        restrict = self._restriction(sequences, allowed)
        return object_array(self._clique_marginals(sequences, restrict=restrict))

    def predict_nbest(self, X: Any, n: int = 5, *, allowed: Any = None) -> np.ndarray:
        """The n most probable labellings of each sequence.

        Parameters
        ----------
        X
            As in `fit`.
        n : int, default=5
            How many labellings of each sequence.
        allowed
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object: for each sequence a list of at most n pairs (list of labels, log p(y |
            x)), the best first.
        """
        sequences = self._read_X(X, reset=False)
        # of each labelling a score and a way back, of eight bytes each, for each label of each
        # token
        check_count(n, "n", 16 * self._width() * sequences.X.stored.shape[0])
        restrict = self._restriction(sequences, allowed)
        ranked = self._nbest(sequences, n, restrict)
        labels = self.classes_
        return object_array(
            [[(labels[codes].tolist(), log_p) for codes, log_p in pairs] for pairs in ranked]
        )

    def _nbest(
        self, sequences: Sequences, n: int, restrict: Restriction | None
    ) -> list[list[tuple[np.ndarray, float]]]:
        """The n best labellings of each sequence: codes, and log p(y | x)."""
        return self._ranked(self._learned_inference(), sequences, n, restrict)

    def sample(
        self, X: Any, n_samples: int = 1, random_state: Any = None, *, allowed: Any = None
    ) -> np.ndarray:
        """Draw labellings from p(y | x).

        Parameters
        ----------
        X
            As in `fit`.
        n_samples : int, default=1
            How many labellings to draw for each sequence.
        random_state : int, RandomState or None, default=None
            Seed of random numbers.
        allowed
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object: for each sequence a list of `n_samples` lists of labels.
        """
        sequences = self._read_X(X, reset=False)
        restrict = self._restriction(sequences, allowed)
        inference = self._learned_inference()
        codes = self._drawn(inference, sequences, n_samples, random_state, restrict)
        codes = self._label_codes(codes)
        drawn = [decode(row, self.classes_, sequences.X.offsets) for row in codes]
        return object_array([list(labels) for labels in zip(*drawn, strict=True)])

    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """log p(y | x) of each sequence. If y is partly known, it is the log-probability of all
        labellings that y allows.

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
        return self._log_proba(sequences, self._read_labels(y, sequences, reset=False))
