"""Features of whole segments, which functions of (tokens, start, end) give."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.features.segment_attributes import (
    Spans,
    candidates,
    encode,
    functions_of,
    places,
    spans_of,
)
from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.encoding.sequences import as_list
from sklearn_struct.estimators.fitting.base_structured import BaseStructured
from sklearn_struct.estimators.segments.observed_segments import Whole
from sklearn_struct.exceptions import InputTypeError

__all__ = ["BaseSegmentFeatures", "GivenSequences"]


class GivenSequences(NamedTuple):
    """X as read, with the tokens as they were given.

    ``rows`` is empty until features of all segments (n_segments, n_segment_features) are known.
    """

    X: SequenceArray
    flat: bool
    given: Any
    rows: list[sp.csr_array]


class BaseSegmentFeatures(BaseStructured):
    """Reads features of whole segments by ``segment_features`` and, once fitted,
    ``segment_vectorizer_``.
    """

    segment_features: Any
    segment_vectorizer_: SequenceVectorizer
    _longest: tuple[int, ...]

    def _read_X(self, X: Any, reset: bool) -> Any:
        X = as_list(X)
        functions = functions_of(self.segment_features)
        if reset:
            self.__dict__.pop("segment_vectorizer_", None)
        sequences = super()._read_X(X, reset)
        if not reset and bool(functions) != hasattr(self, "segment_vectorizer_"):
            raise ValueError(
                "segment_features has been set or removed since fit; fit again, or set it back"
            )
        if not functions:
            return sequences
        if sequences.flat:
            raise InputTypeError(
                "segment_features need sequences of tokens, and a two-dimensional X has single "
                "tokens; one sequence is [X]"
            )
        return GivenSequences(*sequences, X, [])

    def _has_whole(self) -> bool:
        """Whether whole segments have features."""
        vectorizer = self.__dict__.get("segment_vectorizer_")
        return vectorizer is not None and vectorizer.n_features_out_ > 0

    def _learn_segments(
        self, sequences: Any, codes: np.ndarray, weight: np.ndarray, every_feature: bool
    ) -> Whole | None:
        """Learn which features the segments of y have, or, if asked for, every segment; return
        those of y.
        """
        functions = functions_of(self.segment_features)
        if not functions or not isinstance(sequences, GivenSequences):
            return None
        offsets = sequences.X.offsets
        begins = codes < self._width()
        spans = spans_of(begins, offsets)
        vectorizer = SequenceVectorizer(dtype=np.dtype(self.dtype).type)
        seen = self._candidates(sequences) if every_feature else spans
        encode(vectorizer, functions, sequences.given, seen, learn=True)
        self.segment_vectorizer_ = vectorizer
        rows = self._segment_rows(sequences)
        if rows is None:
            return None
        of_y = rows[places(spans, offsets, max(self._longest))]
        return Whole(of_y, codes[begins], weight[begins])

    def _segment_rows(self, sequences: Any) -> sp.csr_array | None:
        """Features of all segments of X; None where there are none."""
        if not self._has_whole() or not isinstance(sequences, GivenSequences):
            return None
        if not sequences.rows:
            functions = functions_of(self.segment_features)
            every = self._candidates(sequences)
            vectorizer = self.segment_vectorizer_
            rows = encode(vectorizer, functions, sequences.given, every, learn=False)
            sequences.rows.append(rows)
        return sequences.rows[0]

    def _candidates(self, sequences: Any) -> Spans:
        return candidates(sequences.X.offsets, max(self._longest))
