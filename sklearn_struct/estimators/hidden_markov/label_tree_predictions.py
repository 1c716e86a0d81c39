"""Predictions and probabilities of a hidden Markov model whose labelled sequences are trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_struct.compiled.threads import Pool
from sklearn_struct.containers.ragged import cut, object_array
from sklearn_struct.encoding.trees import labels_as_trees
from sklearn_struct.estimators.fitting.base_sequence import (
    BaseSequenceEstimator,
    Sequences,
)
from sklearn_struct.grammars.parsing import (
    Parses,
    forest_parses,
    most_expected,
    tree_log_probabilities,
)

__all__ = ["BaseLabelTreePredictions"]


class BaseLabelTreePredictions(BaseSequenceEstimator):
    """Labels of words and their probabilities, by parsing the trees that labelled sequences are."""

    def predict(self, X: Any) -> np.ndarray:
        """Label sequences.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, a list of labels each; for two-dimensional X the labels themselves.
        """
        sequences = self._read_X(X, reset=False)
        return self._labels(self._predict_codes(sequences), sequences)

    def _predict_codes(self, sequences: Sequences) -> np.ndarray:
        return np.concatenate([np.empty(0, np.int64), *self._each(self._predict_one, sequences)])

    def _predict_one(self, sentence: list[str]) -> np.ndarray:
        parses, entries = self._posteriors(sentence)
        if self.decoder == "viterbi" and parses.sign[0] != 0:
            nodes = most_expected(parses, "max-rule")
            if len(nodes.symbol):
                # without the last leaf, which stands for the end of the sequence
                tags: np.ndarray = nodes.symbol[nodes.left < 0][:-1]
                return tags.astype(np.int64)
        best: np.ndarray = self._proba(parses, entries).argmax(axis=1)
        return best

    def predict_proba(self, X: Any) -> np.ndarray:
        """Posterior probability of each label at each word; estimates below 0 count by their
        absolute values.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object, an array (n_words, n_labels) each, whose rows sum to 1; for
            two-dimensional X one array (n, n_labels).
        """
        sequences = self._read_X(X, reset=False)
        proba = self._each(lambda sentence: self._proba(*self._posteriors(sentence)), sequences)
        return np.concatenate(proba) if sequences.flat else object_array(proba)

    def _posteriors(self, sentence: list[str]) -> tuple[Parses, list[np.ndarray]]:
        """Of all labellings; where the states have none the model without them decides, if need be
        with all labels.
        """
        for relaxed in (False, True):
            entries = labels_as_trees.observe(self._codes, sentence, relaxed)
            packed = labels_as_trees.forest(self._codes, entries)
            # spectral estimates may leave no labelling a probability other than 0
            for states in (self._model.states[0], self._plain_states):
                parses = forest_parses(self._model.grammar, [states], packed)
                if parses.sign[0] != 0:
                    return parses, entries
        return parses, entries

    def _proba(self, parses: Parses, entries: list[np.ndarray]) -> np.ndarray:
        """Posteriors of labels at words; if there is no labelling at all, they are as frequent as
        in training.
        """
        K = len(self.classes_)
        n_words = [len(rows) for rows in entries]
        m = sum(n_words)
        out = np.zeros((len(entries), K))
        # estimates below 0 are small numbers with the wrong sign: their size is what is known
        out[np.repeat(np.arange(len(entries)), n_words), parses.forest.symbol[:m]] = np.abs(
            parses.item[0, :m]
        )
        total = out.sum(axis=1, keepdims=True)
        return np.where(total > 0, out / np.where(total > 0, total, 1.0), self._frequency)

    def _each(self, work: Callable[[list[str]], Any], sequences: Sequences) -> list[Any]:
        words: Any = sequences.X
        sentences = words.sentences
        with Pool(self.n_jobs) as pool:
            return pool.map(lambda i: work(sentences[i]), len(sentences))

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x) of each sequence, summed over labels and states.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            -inf where the estimate is no positive probability, and for empty sequences.
        """

        def work(sentence: list[str]) -> float:
            packed = labels_as_trees.forest(
                self._codes, labels_as_trees.observe(self._codes, sentence)
            )
            parses = forest_parses(self._model.grammar, self._model.states, packed)
            return float(parses.log_p[0]) if parses.sign[0] > 0 and sentence else -np.inf

        return np.array(self._each(work, self._read_X(X, reset=False)), dtype=float)

    def log_joint(self, X: Any, y: Any) -> np.ndarray:
        """log p(x, y) of each sequence and its labels, summed over states.

        Parameters
        ----------
        X, y
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            -inf where the estimate is no positive probability, and for empty sequences.

        Raises
        ------
        UnknownLabelError
            If y holds a label that was not seen in `fit`.
        """
        sequences = self._read_X(X, reset=False)
        words: Any = sequences.X
        codes = self._read_y(y, sequences, reset=False)
        log_p = np.full(len(words), -np.inf)
        for i, labels in enumerate(cut(codes, words.offsets)):
            if len(labels):
                packed = labels_as_trees.labelled(self._codes, words.sentences[i], labels)
                log_p[i] = tree_log_probabilities(self._model, packed)[0][0] if packed else -np.inf
        return log_p
