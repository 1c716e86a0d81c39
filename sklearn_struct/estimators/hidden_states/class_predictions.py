"""What a fitted classifier of sequences by hidden states has: weights, predictions, states."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from sklearn_struct.containers.structures import Block, Potentials, Structure, blank, chain
from sklearn_struct.encoding.labels.label_states import LabelStates
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.fitting.base_sequence import Sequences, divided
from sklearn_struct.estimators.fitting.base_structured import (
    BaseStructured,
    Restriction,
    Result,
    Work,
)
from sklearn_struct.estimators.fitting.finite_scores import NodePlace, check_sums
from sklearn_struct.estimators.fitting.sample_weights import of_examples
from sklearn_struct.exceptions import ForbiddenLabelError, InputTypeError
from sklearn_struct.inference.chains.class_chains import ClassChains, chosen
from sklearn_struct.inference.chains.forbidden import Transitions, dead_ends, forbid
from sklearn_struct.inference.labelling_scores import forbid_labels

__all__ = ["BaseClassPredictions"]


class BaseClassPredictions(BaseStructured):
    """Predictions that read ``_pattern``, ``_w``, ``_states`` (the class of each state) and
    ``_steps`` (which states may follow each other).

    What inference calls the label of a token is a state of a class.
    """

    classes_: np.ndarray
    _states: LabelStates
    _steps: Transitions | None

    @property
    def states_(self) -> np.ndarray:
        """Pairs (class, number of a state of it), in the order of rows of weights."""
        states: LabelStates = self._fitted("_states")
        return states.names(self.classes_)

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
        codes = self._class_codes(self._read_X(X, reset=False))
        labels: np.ndarray = self.classes_[codes]
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
        own: np.ndarray = log_p[np.arange(len(codes)), codes]
        return own

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
            dtype object, an array of numbers of states of the class each; of a two-dimensional X
            one number a row.
        """
        sequences = self._read_X(X, reset=False)
        if y is None:
            classes = self._class_codes(sequences)
        else:
            classes = self._read_labels(y, sequences, reset=False)
        states = self._path(sequences, classes)
        numbers = states - self._states.first[self._states.label[states]]
        return divided(numbers, sequences)

    def predict_state_proba(self, X: Any, y: Any = None) -> np.ndarray:
        """Marginal probability of each state of each class at each token.

        Parameters
        ----------
        X
            As in `fit`.
        y : array-like of shape (n_sequences,), default=None
            The classes, among whose states alone probabilities are; None is among all states.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, an array (n_tokens, n_classes * n_states) each, columns in the order of
            ``states_``; of a two-dimensional X one array.
        """
        sequences = self._read_X(X, reset=False)
        restrict = None
        if y is not None:
            classes = self._read_labels(y, sequences, reset=False)
            masks = self._states.of_labels[np.repeat(classes, sequences.X.lengths)]

            def restrict(theta: Potentials, block: Block) -> Potentials:
                return forbid_labels(theta, masks[block.tokens])

        node = self._label_marginals(sequences, restrict)
        return divided(node, sequences)

    # ---- what these share

    def _path(self, sequences: Sequences, classes: np.ndarray) -> np.ndarray:
        """The best states of given classes."""
        states = np.empty(sequences.X.stored.shape[0], np.int64)
        inference = self._learned_inference()

        def work(theta: Potentials, block: Block) -> None:
            best, _ = inference.class_argmax(theta, block.structure)
            states[block.tokens] = chosen(best, classes[block.examples], block.structure)

        self._each_block(sequences, work)
        return states

    def _alphabet(self) -> np.ndarray:
        return self._states.names(self.classes_)

    def _width(self) -> int:
        return len(self._states.label)

    def _score_of(self, place: NodePlace, code: int | None) -> str:
        return super()._score_of(place, None if code is None else int(self._states.label[code]))

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

    def _each_block(
        self, sequences: Sequences, work: Work[Result], restrict: Restriction | None = None
    ) -> list[Result]:
        steps = self._steps
        if steps is None:
            return super()._each_block(sequences, work, restrict)
        self._check_paths(sequences)

        def both(theta: Potentials, block: Block) -> Potentials:
            theta = forbid(theta, block.structure, steps)
            return theta if restrict is None else restrict(theta, block)

        return super()._each_block(sequences, work, both)

    def _check_paths(self, sequences: Sequences, classes: np.ndarray | None = None) -> None:
        """Raise ForbiddenLabelError for a sequence of which no path of states is allowed: of its
        class, or of any.
        """
        if self._steps is None:
            return
        K = len(self.classes_)
        structure = chain(sequences.X.offsets)
        dead = np.stack([self._dead_ends(structure, c) for c in range(K)], axis=1)
        if classes is not None:
            dead = dead[np.arange(len(classes)), classes][:, None]
        without = np.all(dead >= 0, axis=1)
        if np.any(without):
            i = int(np.argmax(without))
            raise ForbiddenLabelError(
                f"X[{i}], token {dead[i].max()}: state_transitions allows no state here, whatever "
                "stands before it"
            )

    def _dead_ends(self, structure: Structure, c: int) -> np.ndarray:
        """The first token of each sequence that no allowed path of a class reaches; -1 for none."""
        assert self._steps is not None
        own = np.flatnonzero(self._states.label == c)
        start, pairs, end = self._steps
        steps = Transitions(start[own], pairs[np.ix_(own, own)], end[own])
        return dead_ends(forbid(blank(structure, len(own)), structure, steps), structure)

    def _rows_for(self, start: Any) -> np.ndarray:
        """What rows of weights are called in another model with states of classes."""
        if not isinstance(start, BaseClassPredictions):
            raise InputTypeError(
                f"init must be a fitted {type(self).__name__}, got {type(start).__name__}"
            )
        return self._alphabet()
