"""Predictions of models of segments."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.structures import Block, Potentials
from sklearn_struct.encoding.features.segment_attributes import candidates
from sklearn_struct.encoding.parameter_checks import check_count
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.fitting.base_sequence import Sequences, divided
from sklearn_struct.estimators.segments import segment_labels
from sklearn_struct.estimators.segments.segment_features import BaseSegmentFeatures
from sklearn_struct.estimators.segments.segment_labels import Form
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.inference.segments.segmentations import Segmentations

__all__ = ["BaseSegmentPredictions"]


class BaseSegmentPredictions(BaseSegmentFeatures):
    """Predictions from ``_longest``, the number of tokens that segments of each label have at most,
    ``_form``, that of y, and ``_end_columns``, the features of first and last tokens.
    """

    _settings: ClassVar[tuple[str, ...]] = (
        "dtype",
        "segment_features",
        "allowed_transitions",
        "n_jobs",
    )
    _form: Form
    _end_columns: np.ndarray

    def _learned_inference(self) -> Segmentations:
        return Segmentations(self._longest, len(self._end_columns) > 0)

    def _labels(self, codes: np.ndarray, sequences: Sequences) -> np.ndarray:
        if sequences.flat:
            labels: np.ndarray = self.classes_[codes % self._width()]
            return labels
        return segment_labels.write(codes, sequences.X.offsets, self.classes_, self._form)

    def predict(self, X: Any) -> np.ndarray:
        """Most probable segments of each sequence, in the form of y (Viterbi).

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object: for each sequence a list of tags, in the scheme of y. If y had spans,
            lists of (start, stop, label), as `predict_spans` gives. For two-dimensional X, the
            labels themselves.
        """
        sequences = self._read_X(X, reset=False)
        return self._labels(self._predict_codes(sequences), sequences)

    def predict_spans(self, X: Any) -> np.ndarray:
        """Most probable segments of each sequence, as spans.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object: for each sequence a list of tuples (start, stop, label), sorted. Each span
            covers the tokens from `start` to before `stop`. Tokens with the label of `outside` are
            in no span.
        """
        sequences = self._read_X(X, reset=False)
        codes = self._predict_codes(sequences)
        form = self._form._replace(spans=True)
        return segment_labels.write(codes, sequences.X.offsets, self.classes_, form)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Marginal probability of each label at each token: that the token is in a segment with
        this label.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object: an array (n_tokens, n_labels) for each sequence, with columns in the order
            of ``classes_``. For two-dimensional X, one array (n, n_labels).
        """
        sequences = self._read_X(X, reset=False)
        return divided(self._label_marginals(sequences), sequences)

    def predict_segment_proba(self, X: Any) -> np.ndarray:
        """Marginal probability of each segment: that these tokens are a segment with this label.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object: an array (n_tokens, max_length, n_labels) for each sequence. The entry
            [t, m, k] is the probability of a segment of m + 1 tokens that begins with token t and
            has the label k, in the order of ``classes_``. For two-dimensional X, one array (n, 1,
            n_labels).
        """
        sequences = self._read_X(X, reset=False)
        inference = self._learned_inference()
        n_tokens = sequences.X.stored.shape[0]
        shape = n_tokens, inference.n_lengths, self._width()
        reserve(8 * n_tokens * shape[1] * shape[2], "a probability for each segment")
        proba = np.zeros(shape)
        spans = candidates(sequences.X.offsets, inference.n_lengths)
        first = np.repeat(sequences.X.offsets[:-1], np.diff(spans.offsets))

        def work(potentials: Potentials, block: Block) -> None:
            here = slice(spans.offsets[block.examples.start], spans.offsets[block.examples.stop])
            of_block = inference.segment_marginals(potentials, block.structure)
            start = spans.start[here]
            proba[first[here] + start, spans.stop[here] - start - 1] = of_block

        self._each_block(sequences, work)
        return divided(proba, sequences)

    def predict_nbest(self, X: Any, n: int = 5) -> np.ndarray:
        """The n most probable segmentations of each sequence.

        Parameters
        ----------
        X
            As in `fit`.
        n : int, default=5
            How many segmentations of each sequence.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object: for each sequence a list of at most n pairs (tags or spans, log p), the
            best first. Without letters two segmentations may have the same tags: one segment of two
            tokens, and two segments of one token, of the same label.
        """
        sequences = self._read_X(X, reset=False)
        # of each segmentation a score and two ways back, twice, for each label of each token
        check_count(n, "n", 32 * self._width() * sequences.X.stored.shape[0])
        ranked = self._ranked(self._learned_inference(), sequences, n)
        return object_array(
            [[(self._written(codes), log_p) for codes, log_p in pairs] for pairs in ranked]
        )

    def _written(self, codes: np.ndarray) -> list[Any]:
        """The segments of one sequence in the form of y."""
        offsets = np.array([0, len(codes)])
        written: list[Any] = segment_labels.write(codes, offsets, self.classes_, self._form)[0]
        return written

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw segmentations from p(y | x).

        Parameters
        ----------
        X
            As in `fit`.
        n_samples : int, default=1
            How many segmentations to draw for each sequence.
        random_state : int, RandomState or None, default=None
            Seed of random numbers.

        Returns
        -------
        ndarray of shape (n_sequences,)
            dtype object: for each sequence a list of `n_samples` segmentations, in the form of y.
        """
        sequences = self._read_X(X, reset=False)
        codes = self._drawn(self._learned_inference(), sequences, n_samples, random_state)
        offsets = sequences.X.offsets
        drawn = [segment_labels.write(row, offsets, self.classes_, self._form) for row in codes]
        return object_array([list(labels) for labels in zip(*drawn, strict=True)])

    def log_proba(self, X: Any, y: Any) -> np.ndarray:
        """log p(y | x) of the segments of each sequence; -inf where one is too long.

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the tags of single tokens; a label that was not seen in `fit` is one that is
        not found.

        Where tags have letters, or y has spans, it also counts whether a segment begins at a token.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : array-like of shape (n_sequences,), list or SequenceArray, default=None
            Weight of each sequence's tokens, or of each token.

        Returns
        -------
        float
        """
        X = as_list(X)
        sequences = self._read_X(X, reset=False)
        truth = self._read_labels(y, sequences, reset=False, unseen=-1)
        weight = self._read_token_weight(as_list(sample_weight), sequences)
        if not np.any(weight):
            raise EmptyDataError("there are no tokens of positive weight to score")
        codes = self._predict_codes(sequences)
        if self._form.scheme == "IO" and not self._form.spans:
            K = self._width()
            truth = np.where(truth < 0, truth, truth % K)
            codes %= K
        return float(np.average(codes == truth, weights=weight))
