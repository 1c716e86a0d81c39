"""Exceptions about the data.

Each message names the place, ``X[3], token 7: ...``, or the file.
"""

from __future__ import annotations

__all__ = [
    "EmptyDataError",
    "ForbiddenLabelError",
    "InferenceWarning",
    "InputTypeError",
    "LengthMismatchError",
    "ModelFileError",
    "NonFiniteError",
    "UnknownLabelError",
    "UnknownValueError",
]


class LengthMismatchError(ValueError):
    """X, y, weights or the tokens of a sequence do not have the same length."""


class ModelFileError(ValueError):
    """A file holds no model, is damaged, or was written by a later version."""


class NonFiniteError(ValueError):
    """A feature value, a weight, a score or a sum of scores is NaN or infinite."""


class UnknownLabelError(ValueError):
    """A label was not seen in training, or cannot be a label."""


class UnknownValueError(ValueError):
    """A value was not seen in training, and the model has no place for such values."""


class EmptyDataError(ValueError):
    """There are no sequences, or no tokens, to learn from."""


class ForbiddenLabelError(ValueError):
    """Constraints forbid a label of the training data, or leave a sequence no labelling at all."""


class InputTypeError(TypeError):
    """An object is of a type that cannot be read as a sequence, a token, a feature or a label."""


class InferenceWarning(UserWarning):
    """Approximate inference stopped before its result was settled."""
