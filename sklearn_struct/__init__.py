"""Structured prediction with scikit-learn's manners."""

from sklearn_struct.batch import SequenceArray

__all__ = ["SequenceArray"]

__version__ = "0.1.0"
