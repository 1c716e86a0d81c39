"""Chains of hidden states of labels: what is read and predicted are labels, what depends on each
other are states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.containers.structures import Block, Potentials
from sklearn_struct.encoding.labels.allowed_transitions import read_transitions
from sklearn_struct.encoding.labels.label_states import LabelStates, by_states, joined
from sklearn_struct.estimators.chains.base_chain import BaseChain
from sklearn_struct.estimators.fitting.base_sequence import Sequences, divided
from sklearn_struct.estimators.fitting.base_structured import Restriction
from sklearn_struct.estimators.fitting.finite_scores import NodePlace
from sklearn_struct.inference.chains.chain import Chain
from sklearn_struct.inference.chains.forbidden import Transitions, forbid
from sklearn_struct.inference.labelling_scores import forbid_labels

__all__ = ["BaseLatentChain"]


class BaseLatentChain(BaseChain):
    """A chain whose potentials are of states of labels; each state is that of one label.

    Learned, besides: ``_states`` (the label of each), ``_steps`` (which may follow each other).
    """

    decoder: str
    _states: LabelStates
    _steps: Transitions | None

    @property
    def states_(self) -> np.ndarray:
        """Pairs (label, number of a state of it), in the order of rows of weights."""
        states: LabelStates = self._fitted("_states")
        return states.names(self.classes_)

    def _alphabet(self) -> np.ndarray:
        return self._states.names(self.classes_)

    def _width(self) -> int:
        return len(self._states.label)

    def _score_of(self, place: NodePlace, code: int | None) -> str:
        return super()._score_of(place, None if code is None else int(self._states.label[code]))

    def _label_codes(self, codes: np.ndarray) -> np.ndarray:
        labels: np.ndarray = self._states.label[codes].astype(np.int32)
        return labels

    def _transitions(self) -> Transitions | None:
        rule = read_transitions(self.allowed_transitions, self.classes_)
        return joined(self._steps, None if rule is None else by_states(rule, self._states))

    def _masks(self, sequences: Sequences, allowed: Any) -> np.ndarray:
        return self._state_masks(super()._masks(sequences, allowed))

    def _state_masks(self, labels: np.ndarray) -> np.ndarray:
        """Which states may stand at each token, of codes of labels or masks of these."""
        if labels.ndim == 1:
            of_labels: np.ndarray = self._states.of_labels[labels]
            return of_labels
        of_states: np.ndarray = labels[:, self._states.label]
        return of_states

    def _path(self, sequences: Sequences, labels: np.ndarray) -> np.ndarray:
        """The best states of given labels."""
        masks = self._state_masks(labels)

        def restrict(theta: Potentials, block: Block) -> Potentials:
            theta = forbid_labels(theta, masks[block.tokens])
            return theta if self._steps is None else forbid(theta, block.structure, self._steps)

        return super()._predict_codes(sequences, restrict)

    def _predict_codes(
        self, sequences: Sequences, restrict: Restriction | None = None
    ) -> np.ndarray:
        if self.decoder == "viterbi":
            return self._label_codes(super()._predict_codes(sequences, restrict))
        proba = self._label_marginals(sequences, restrict)
        rule = read_transitions(self.allowed_transitions, self.classes_)
        if rule is None:
            best: np.ndarray = np.argmax(proba, axis=1).astype(np.int32)
            return best
        # the labelling with most labels expected to be right, of those that are allowed
        structure = Chain().structure(sequences.X.offsets)
        pairs = np.zeros((1, proba.shape[1] ** 2))
        expected = forbid_labels(Potentials(proba, (pairs,)), proba > 0)
        codes = np.empty(len(proba), dtype=np.int32)
        Chain().argmax(forbid(expected, structure, rule), structure, codes)
        return codes

    def _label_marginals(
        self, sequences: Sequences, restrict: Restriction | None = None
    ) -> np.ndarray:
        return self._states.sums(super()._label_marginals(sequences, restrict))

    def _clique_marginals(
        self, sequences: Sequences, f: int = 0, restrict: Restriction | None = None
    ) -> list[np.ndarray]:
        tables = super()._clique_marginals(sequences, f, restrict)
        for axis in range(1, tables[0].ndim if tables else 1):
            tables = [np.add.reduceat(table, self._states.first, axis) for table in tables]
        return tables

    def _log_proba(self, sequences: Sequences, labels: np.ndarray) -> np.ndarray:
        return super()._log_proba(sequences, self._state_masks(labels))

    def predict_nbest(self, X: Any, n: int = 5, *, allowed: Any = None) -> np.ndarray:
        """The labellings that the n most probable sequences of states have.

        They are not always the n most probable labellings, which nobody can find quickly: a
        labelling may be probable by many sequences of states of which none is.

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
            The probability is that of the labelling, summed over its states.
        """
        return super().predict_nbest(X, n, allowed=allowed)

    def _nbest(
        self, sequences: Sequences, n: int, restrict: Restriction | None
    ) -> list[list[tuple[np.ndarray, float]]]:
        paths = super()._nbest(sequences, n, restrict)
        # of each sequence the labellings, each once
        distinct = [
            list(dict.fromkeys(tuple(self._states.label[codes].tolist()) for codes, _ in pairs))
            for pairs in paths
        ]
        log_p = self._log_proba_of(sequences, distinct, restrict)
        ranked = [
            sorted(zip(labellings, of_each, strict=True), key=lambda pair: -pair[1])
            for labellings, of_each in zip(distinct, log_p, strict=True)
        ]
        return [[(np.array(y, np.int32), p) for y, p in pairs] for pairs in ranked]

    def _log_proba_of(
        self,
        sequences: Sequences,
        labellings: list[list[tuple[int, ...]]],
        restrict: Restriction | None,
    ) -> list[list[float]]:
        """log p(y | x) of several labellings of each sequence, all of which are allowed."""
        log_p: list[list[float]] = [[] for _ in labellings]
        inference = self._learned_inference()
        for r in range(max(map(len, labellings), default=0)):
            # those that have fewer repeat their first
            rows = [of_one[r] if r < len(of_one) else of_one[0] for of_one in labellings]
            codes = np.concatenate([np.empty(0, np.int64), *map(np.asarray, rows)]).astype(np.int64)
            masks = self._state_masks(codes)

            def work(theta: Potentials, block: Block, masks: np.ndarray = masks) -> np.ndarray:
                known = forbid_labels(theta, masks[block.tokens])
                of_known = inference.log_partition(known, block.structure)
                difference: np.ndarray = of_known - inference.log_partition(theta, block.structure)
                return difference

            parts = self._each_block(sequences, work, restrict)
            values = np.concatenate([np.empty(0), *parts]).tolist()
            for i, of_one in enumerate(labellings):
                if r < len(of_one):
                    log_p[i].append(values[i])
        return log_p

    def predict_states(self, X: Any, *, allowed: Any = None) -> np.ndarray:
        """Most probable sequence of states (Viterbi).

        Parameters
        ----------
        X
            As in `fit`.
        allowed
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, a list of pairs (label, number of a state of it) each; for two-dimensional
            X the pairs themselves.
        """
        sequences = self._read_X(X, reset=False)
        codes = super()._predict_codes(sequences, self._restriction(sequences, allowed))
        pairs = self._alphabet()[codes]
        return pairs if sequences.flat else object_array(cut(pairs.tolist(), sequences.X.offsets))

    def predict_state_proba(self, X: Any, *, allowed: Any = None) -> np.ndarray:
        """Marginal probability of each state at each token.

        Parameters
        ----------
        X
            As in `fit`.
        allowed
            As in `predict`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, an array (n_tokens, n_states) each, columns in the order of ``states_``;
            for two-dimensional X one array (n, n_states).
        """
        sequences = self._read_X(X, reset=False)
        node = super()._label_marginals(sequences, self._restriction(sequences, allowed))
        return divided(node, sequences)
