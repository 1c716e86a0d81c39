"""Scores for sequences of labels, by token, by sequence and by span, for trees and for images."""

from __future__ import annotations

from typing import Any

from sklearn_struct.metrics.accuracy import sequence_accuracy_score, token_accuracy_score
from sklearn_struct.metrics.bracket_scores import (
    bracket_f1_score,
    bracket_precision_recall_fscore,
    bracket_report,
    complete_match_score,
)
from sklearn_struct.metrics.mean_iou import mean_iou_score
from sklearn_struct.metrics.span_report import span_classification_report
from sklearn_struct.metrics.span_scores import (
    span_f1_score,
    span_precision_recall_fscore_support,
    span_precision_score,
    span_recall_score,
)
from sklearn_struct.metrics.spans import extract_spans

__all__ = [
    "bracket_f1_score",
    "bracket_f1_scorer",
    "bracket_precision_recall_fscore",
    "bracket_report",
    "complete_match_score",
    "extract_spans",
    "log_likelihood_scorer",
    "mean_iou_score",
    "mean_iou_scorer",
    "sequence_accuracy_score",
    "sequence_accuracy_scorer",
    "span_classification_report",
    "span_f1_score",
    "span_f1_scorer",
    "span_precision_recall_fscore_support",
    "span_precision_score",
    "span_precision_scorer",
    "span_recall_score",
    "span_recall_scorer",
    "token_accuracy_score",
    "token_accuracy_scorer",
]


def __getattr__(name: str) -> Any:
    """Make the scorers when one is asked for: all of `sklearn.metrics` takes a while to import."""
    if name in __all__ and name.endswith("_scorer"):
        from sklearn_struct.metrics import scorers

        return getattr(scorers, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
