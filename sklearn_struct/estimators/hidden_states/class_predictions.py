"""What a fitted classifier of sequences by hidden states has: weights, predictions, states."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from sklearn_struct._whole_fits import as_published
from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.structures import Block, Potentials, Structure, blank, chain, zeros
from sklearn_struct.encoding.labels.state_moves import of_classes
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.fitting.base_sequence import Sequences
from sklearn_struct.estimators.fitting.base_structured import (
    BaseStructured,
    Restriction,
    Result,
    Work,
)
from sklearn_struct.estimators.fitting.finite_scores import NodePlace, check_sums
from sklearn_struct.estimators.fitting.sample_weights import of_examples
from sklearn_struct.estimators.fitting.warm_start import positions, source_columns
from sklearn_struct.exceptions import ForbiddenLabelError, InputTypeError, LengthMismatchError
from sklearn_struct.inference.chains.class_chains import ClassChains, chosen
from sklearn_struct.inference.chains.forbidden import Transitions, dead_ends, forbid
from sklearn_struct.inference.labelling_scores import forbid_labels

__all__ = ["BaseClassPredictions"]


class BaseClassPredictions(BaseStructured):
    """Properties and predictions that read ``_pattern``, ``_w`` and ``_allowed``: which states
    may follow each other.

    Labels of tokens are states of classes, c * n_states + h.
    """

    classes_: np.ndarray
    _allowed: Transitions

    # ---- what was learned

    @property
    def coef_(self) -> np.ndarray:
        """Weights of features (n_classes, n_states, n_features)."""
        n_features = self._fitted("_pattern").n_features
        node = self._segments().node.reshape(n_features, len(self.classes_), -1)
        coef: np.ndarray = np.ascontiguousarray(node.transpose(1, 2, 0))
        return coef

    @property
    def transition_(self) -> np.ndarray:
        """Weights of moves (n_classes, n_states, n_states), from row state to column state."""
        K = len(self.classes_)
        table = self._moves(2)
        H = len(table) // K
        c = np.arange(K)
        own: np.ndarray = table.reshape(K, H, K, H)[c, :, c, :]
        return own

    @property
    def intercept_(self) -> np.ndarray:
        """Unpenalised weights of states (n_classes, n_states); zeros without intercept."""
        intercept: np.ndarray = super().intercept_.reshape(len(self.classes_), -1)
        return intercept

    # ---- from X to classes

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each sequence.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
        """
        labels: np.ndarray = self.classes_[self._class_codes(self._read_X(X, reset=False))]
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """p(y | x) of each class, summed over all paths of its states.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences, n_classes)
            Columns in the order of ``classes_``. An empty sequence may be of any class.
        """
        probability: np.ndarray = softmax(self._log_Z(self._read_X(X, reset=False)), axis=1)
        return probability

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """log p(y | x) of each class.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences, n_classes)
        """
        log_p: np.ndarray = log_softmax(self._log_Z(self._read_X(X, reset=False)), axis=1)
        return log_p

    def decision_function(self, X: Any) -> np.ndarray:
        """log Z of each class, which is log p(y | x) but for a number of each sequence.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences, n_classes), or (n_sequences,)
            Of two classes the second one's less the first one's, as in scikit-learn.
        """
        log_Z = self._log_Z(self._read_X(X, reset=False))
        return log_Z[:, 1] - log_Z[:, 0] if log_Z.shape[1] == 2 else log_Z

    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """log p(y | x) of given classes.

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
        codes = self._read_labels(y, sequences, reset=False)
        log_p: np.ndarray = log_softmax(self._log_Z(sequences), axis=1)
        return log_p[np.arange(len(codes)), codes]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of `predict`; a label that was not seen in `fit` is one that is not found.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
        """
        X = as_list(X)
        sequences = self._read_X(X, reset=False)
        codes = self._read_labels(y, sequences, reset=False, unseen=-1)
        weight = of_examples(sample_weight, len(codes), "sequence")
        return float(np.average(self._class_codes(sequences) == codes, weights=weight))

    # ---- from X to states

    def predict_states(self, X: Any, y: Any = None) -> np.ndarray:
        """Most probable path of hidden states of each sequence (Viterbi), given its class.

        Parameters
        ----------
        X
            As in `fit`.
        y : array-like of shape (n_sequences,), default=None
            The classes; None takes those of `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, an array of states 0, 1, ... each; of a two-dimensional X one state a row.
        """
        sequences = self._read_X(X, reset=False)
        classes = self._given_classes(y, sequences)
        labels = np.empty(sequences.X.tokens.shape[0], np.int64)
        inference = self._learned_inference()

        def work(theta: Potentials, block: Block) -> None:
            best, _ = inference.class_argmax(theta, block.structure)
            labels[block.tokens] = chosen(best, classes[block.examples], block.structure)

        self._each_block(sequences, work)
        return self._by_sequence(labels % self._n_states, sequences)

    def predict_state_proba(self, X: Any, y: Any = None) -> np.ndarray:
        """Marginal probability of each hidden state at each token, given the sequence's class.

        Parameters
        ----------
        X
            As in `fit`.
        y : array-like of shape (n_sequences,), default=None
            The classes; None takes those of `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, an array (n_tokens, n_states) each; of a two-dimensional X one array
            (n, n_states).
        """
        sequences = self._read_X(X, reset=False)
        classes = self._given_classes(y, sequences)
        H = self._n_states
        of_tokens = np.repeat(classes, sequences.X.lengths)
        states = np.empty((len(of_tokens), H))
        inference = self._learned_inference()

        def work(theta: Potentials, block: Block) -> None:
            c = of_tokens[block.tokens]
            own = forbid_labels(theta, c[:, None] == np.arange(theta.node.shape[1]) // H)
            out = zeros(theta)
            log_Z = np.empty(block.structure.n_examples)
            inference.marginals(own, block.structure, np.ones(len(log_Z)), out, log_Z)
            by_class = out.node.reshape(len(c), -1, H)
            states[block.tokens] = by_class[np.arange(len(c)), c]

        self._each_block(sequences, work)
        return self._by_sequence(states, sequences)

    # ---- what these share

    @property
    def _n_states(self) -> int:
        """How many states a class of the fitted model has."""
        return len(self._allowed.start)

    def _learned_inference(self) -> ClassChains:
        return ClassChains(len(self.classes_))

    def _structure(self, sequences: Sequences, learned: bool) -> Structure:
        return chain(sequences.X.offsets)

    def _log_Z(self, sequences: Sequences) -> np.ndarray:
        """log Z of each sequence and class."""
        inference = self._learned_inference()

        def work(theta: Potentials, block: Block) -> np.ndarray:
            log_Z = inference.class_log_partitions(theta, block.structure)
            return check_sums(log_Z.T, block.examples.start).T

        parts = self._each_block(sequences, work)
        return np.concatenate([np.empty((0, len(self.classes_))), *parts])

    def _class_codes(self, sequences: Sequences) -> np.ndarray:
        codes: np.ndarray = np.argmax(self._log_Z(sequences), axis=1)
        return codes

    def _given_classes(self, y: Any, sequences: Sequences) -> np.ndarray:
        """Codes of the classes in y, or of those that are most probable."""
        if y is None:
            return self._class_codes(sequences)
        return self._read_labels(y, sequences, reset=False)

    def _by_sequence(self, rows: np.ndarray, sequences: Sequences) -> np.ndarray:
        return rows if sequences.flat else object_array(cut(rows, sequences.X.offsets))

    def _each_block(
        self, sequences: Sequences, work: Work[Result], restrict: Restriction | None = None
    ) -> list[Result]:
        self._check_lengths(sequences)
        if self._is_free():
            return super()._each_block(sequences, work, restrict)
        moves = of_classes(self._allowed, len(self.classes_))
        return super()._each_block(
            sequences, work, lambda theta, block: forbid(theta, block.structure, moves)
        )

    def _is_free(self) -> bool:
        """Whether states may follow each other in any order."""
        return all(bool(np.all(part)) for part in self._allowed)

    def _check_lengths(self, sequences: Sequences) -> None:
        """Raise ForbiddenLabelError for a sequence of which no path of states is allowed."""
        if self._is_free():
            return
        structure = chain(sequences.X.offsets)
        dead = dead_ends(
            forbid(blank(structure, self._n_states), structure, self._allowed), structure
        )
        if np.any(dead >= 0):
            i = int(np.argmax(dead >= 0))
            raise ForbiddenLabelError(
                f"X[{i}], token {dead[i]}: allowed_transitions allows no state here, whatever "
                "stands before it"
            )

    def _score_of(self, place: NodePlace, code: int | None) -> str:
        where = f"X[{place.example}], token {place.node}: the score of"
        if code is None:
            return f"{where} a transition"
        c, h = divmod(code, self._n_states)
        return f"{where} state {h} of the class {self.classes_.tolist()[c]!r}"

    # ---- weights of one fit as the start of another

    def _previous(self) -> Any:
        previous = super()._previous()
        # states of another number are others
        return previous if previous is not None and self._has_states_of(previous) else None

    def _has_states_of(self, other: BaseClassPredictions) -> bool:
        return bool(other._n_states == getattr(self, "n_states", None))

    def _transferred(self, start: Any) -> np.ndarray:
        if not isinstance(start, BaseClassPredictions) or not hasattr(start, "_w"):
            raise InputTypeError(
                f"init must be a fitted {type(self).__name__}, got {type(start).__name__}"
            )
        source = as_published(start)
        if not self._has_states_of(source):
            raise LengthMismatchError(
                f"init has {source._n_states} states of each class, not {self._n_states}"
            )
        K = len(self.classes_)
        H = self._n_states
        classes = positions(source.classes_.tolist(), self.classes_.tolist())
        names = getattr(self, "feature_names_in_", None)
        columns = source_columns(source, self.n_features_in_, names)
        coef = np.zeros((K, H, len(columns)))
        moves = np.zeros((K, H, K, H))
        intercept = np.zeros((K, H))
        known = columns >= 0
        for c, there in enumerate(classes):
            if there >= 0:
                coef[c][:, known] = source.coef_[there][:, columns[known]]
                moves[c, :, c, :] = source.transition_[there]
                intercept[c] = source.intercept_[there]
        pairs = moves.ravel()[self._pattern.families[0].columns]
        free = intercept.ravel() if self._pattern.fit_intercept else np.empty(0)
        return np.concatenate([coef.reshape(K * H, -1).T.ravel(), pairs, free])
