"""Scorers of the measures, for scikit-learn's model selection."""

from __future__ import annotations

from sklearn.metrics import make_scorer

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
