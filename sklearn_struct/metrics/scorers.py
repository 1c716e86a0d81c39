"""Scorers of the measures, for scikit-learn's model selection."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.metrics import make_scorer

from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.encoding.sequences import as_list, form
from sklearn_struct.exceptions import EmptyDataError
from sklearn_struct.metrics.accuracy import sequence_accuracy_score, token_accuracy_score
from sklearn_struct.metrics.bracket_scores import bracket_f1_score
from sklearn_struct.metrics.mean_iou import mean_iou_score
from sklearn_struct.metrics.span_scores import (
    span_f1_score,
    span_precision_score,
    span_recall_score,
)

__all__ = [
    "bracket_f1_scorer",
    "log_likelihood_scorer",
    "mean_iou_scorer",
    "sequence_accuracy_scorer",
    "span_f1_scorer",
    "span_precision_scorer",
    "span_recall_scorer",
    "token_accuracy_scorer",
]

bracket_f1_scorer = make_scorer(bracket_f1_score)
mean_iou_scorer = make_scorer(mean_iou_score)
span_f1_scorer = make_scorer(span_f1_score)
span_precision_scorer = make_scorer(span_precision_score)
span_recall_scorer = make_scorer(span_recall_score)
token_accuracy_scorer = make_scorer(token_accuracy_score)
sequence_accuracy_scorer = make_scorer(sequence_accuracy_score)


class ScoresSamples(Protocol):
    """What the scorer asks of a model."""

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x) of each sequence."""


def log_likelihood_scorer(model: ScoresSamples, X: Any, y: Any = None) -> float:
    """Mean of log p(x) over the tokens of X; y counts for nothing."""
    X = as_list(X)
    # of one-dimensional collections each item is a sequence; else it is a row, one token
    packed = isinstance(X, SequenceArray)
    n_tokens = int(X.offsets[-1]) if packed else len(X) if form(X) == "flat" else sum(map(len, X))
    if n_tokens == 0:
        raise EmptyDataError("X has no tokens whose log-likelihood could be averaged")
    return float(np.sum(model.score_samples(X))) / n_tokens
