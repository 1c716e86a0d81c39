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
    """X, y, weights or the tokens of a sequence do not have the same length.

    Read more in :doc:`/user_guide/sequences`.

    See Also
    --------
    InputTypeError : An object is of a wrong type.
    EmptyDataError : There is nothing to learn from.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> LinearChainCRF().fit([["the", "cat"]], [["DET"]])
    Traceback (most recent call last):
        ...
    sklearn_struct.exceptions.LengthMismatchError: X[0] has 2 tokens but y[0] has 1 labels
    """


class ModelFileError(ValueError):
    """A file holds no model, is damaged, or was written by a later version.

    Read more in :doc:`/user_guide/persistence`.

    See Also
    --------
    sklearn_struct.persistence.load : Reads a model file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_struct.persistence import load
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "crf.safetensors"
    ...     _ = path.write_text("not a model")
    ...     load(path)
    Traceback (most recent call last):
        ...
    sklearn_struct.exceptions.ModelFileError: ...crf.safetensors cannot be loaded: ...
    """


class NonFiniteError(ValueError):
    """A feature value, a weight, a score or a sum of scores is NaN or infinite.

    Read more in :doc:`/user_guide/sequences`.

    See Also
    --------
    InputTypeError : An object is of a wrong type.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> LinearChainCRF().fit([[[0.5], [float("nan")]]], [["a", "b"]])
    Traceback (most recent call last):
        ...
    sklearn_struct.exceptions.NonFiniteError: X[0], token 1, feature 0: not finite (nan)
    """


class UnknownLabelError(ValueError):
    """A label was not seen in training, or cannot be a label.

    Read more in :doc:`/user_guide/sequences`.

    See Also
    --------
    UnknownValueError : The same for values of X.
    ForbiddenLabelError : Constraints forbid a label.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> crf = LinearChainCRF().fit([["the", "a"]], [["DET", "X"]])
    >>> crf.log_proba([["the"]], [["NOUN"]])
    Traceback (most recent call last):
        ...
    sklearn_struct.exceptions.UnknownLabelError: y[0], token 0: label 'NOUN' was ...
    """


class UnknownValueError(ValueError):
    """A value was not seen in training, and the model has no place for such values.

    Read more in :doc:`/user_guide/hmm`.

    See Also
    --------
    UnknownLabelError : The same for labels.
    sklearn_struct.HMM : ``oov`` says what unknown values are.

    Examples
    --------
    >>> from sklearn_struct import HMM
    >>> hmm = HMM(oov=None).fit([["a", "cat"]], [["DET", "NOUN"]])
    >>> hmm.predict([["the"]])
    Traceback (most recent call last):
        ...
    sklearn_struct.exceptions.UnknownValueError: X[0], token 0, column 0: 'the' ...
    """


class EmptyDataError(ValueError):
    """There are no sequences, or no tokens, to learn from.

    Read more in :doc:`/user_guide/sequences`.

    See Also
    --------
    LengthMismatchError : Lengths differ.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> LinearChainCRF().fit([], [])
    Traceback (most recent call last):
        ...
    sklearn_struct.exceptions.EmptyDataError: X has no sequences
    """


class ForbiddenLabelError(ValueError):
    """Constraints forbid a label of the training data, or leave a sequence no labelling at all.

    Read more in :doc:`/user_guide/constraints`.

    See Also
    --------
    UnknownLabelError : A label was not seen in training.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> rules = {"B": ["C"]}  # no C after a B
    >>> crf = LinearChainCRF(allowed_transitions=rules)
    >>> crf = crf.fit([["a", "b", "c"]], [["B", "A", "C"]])
    >>> crf.predict([["the", "cat"]], allowed=[["B", "C"]])
    Traceback (most recent call last):
        ...
    sklearn_struct.exceptions.ForbiddenLabelError: X[0], token 1: the constraints ...
    """


class InputTypeError(TypeError):
    """An object is of a type that cannot be read as a sequence, a token, a feature or a label.

    Read more in :doc:`/user_guide/sequences`.

    See Also
    --------
    LengthMismatchError : Lengths differ.
    NonFiniteError : A number is NaN or infinite.

    Examples
    --------
    >>> from sklearn_struct import LinearChainCRF
    >>> LinearChainCRF().fit([["the", 3.0]], [["DET", "NOUN"]])
    Traceback (most recent call last):
        ...
    sklearn_struct.exceptions.InputTypeError: X[0], token 1: a token is a dict, ...
    """


class InferenceWarning(UserWarning):
    """Approximate inference stopped before its result was settled.

    Read more in :doc:`/user_guide/graphs`.

    See Also
    --------
    sklearn_struct.GraphCRF : ``inference`` and ``max_sweeps`` say how sums are computed.
    sklearn.exceptions.ConvergenceWarning : Training stopped before its end.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from sklearn_struct import GraphCRF
    >>> from sklearn_struct.exceptions import InferenceWarning
    >>> X = [(np.eye(3), [[0, 1], [1, 2], [2, 0]])]  # a cycle
    >>> crf = GraphCRF(inference="bp", max_sweeps=1, inference_tol=1e-15)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = crf.fit(X, [["a", "b", "a"]])
    >>> any(issubclass(warning.category, InferenceWarning) for warning in caught)
    True
    """
