"""Fitted models in files: without pickle, and safe to read whatever a file contains."""

from sklearn_struct.persistence.crfsuite import from_crfsuite
from sklearn_struct.persistence.files import load, save

__all__ = ["from_crfsuite", "load", "save"]
