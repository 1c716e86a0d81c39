"""sklearn-crfsuite's scorers, for ``scoring`` of scikit-learn's searches and cross-validation."""

from __future__ import annotations

from sklearn.metrics import make_scorer

from sklearn_struct.compat.metrics import flat_accuracy_score, sequence_accuracy_score

__all__ = ["flat_accuracy", "sequence_accuracy"]

flat_accuracy = make_scorer(flat_accuracy_score)
sequence_accuracy = make_scorer(sequence_accuracy_score)
