"""A two-dimensional X: sequences of one token each, as scikit-learn has them, or one long sequence by mistake."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from sklearn.utils.validation import column_or_1d

from sklearn_struct.encoding.labels import as_labels
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, LengthMismatchError
from sklearn_struct.sequence_array import SequenceArray

__all__ = ["column", "has_label_a_row", "refuse_after_sequences", "refuse_without_labels"]

SEVERAL = "SequenceArray.from_flat(X, lengths)"


def refuse_without_labels(n: int, name: str) -> NoReturn:
    """Raise for n rows where y is None: nothing says that these are single tokens, without transitions to learn."""
    raise EmptyDataError(
        f"X is two-dimensional, a sequence of one token in each of its {n} rows, and y is None, so that {name} has no "
        f"transitions to learn from; one sequence is fit([X]), several are fit({SEVERAL}), sequences of symbols are "
        f"lists of strings or of whole numbers, and single tokens are fit(X, [None] * {n})"
    )


def refuse_after_sequences(X: Any, name: str) -> NoReturn:
    """Raise for numbers or rows of them that are given to a model of longer sequences."""
    rows = getattr(X, "ndim", 1) == 2 or is_list(X[0])
    what = "two-dimensional, a sequence of one token in each row" if rows else "one-dimensional"
    raise InputTypeError(
        f"X is {what}, but {name} was fitted on longer sequences; one sequence is [X], several are {SEVERAL}, and "
        "single tokens are [[token], [token], ...]"
    )


def has_label_a_row(y: Any) -> bool:
    """Whether y has labels, not sequences of them, as it has for a two-dimensional X."""
    if getattr(y, "ndim", 1) != 1 or isinstance(y, SequenceArray) or not is_list(y):
        return False
    return any(entry is not None and not is_list(entry) for entry in y)


def column(y: Any, offsets: np.ndarray) -> list[Any]:
    """The labels of the rows."""
    n = len(offsets) - 1
    if is_list(y) and getattr(y, "ndim", 1) == 1 and len(y) and all(map(is_list, y)) and not _is_column(y, n):
        raise InputTypeError(
            "X is two-dimensional, a sequence of one token in each row, and y a list of label sequences; one sequence "
            f"is [X] with [y], several are {SEVERAL} with a list of labels for each"
        )
    labels = column_or_1d(y, warn=True)
    if len(labels) != n:
        hint = ""
        if labels.dtype.kind in "iu" and sum(labels.tolist()) == n:
            hint = f"; if these are the lengths of sequences, write fit({SEVERAL})"
        raise LengthMismatchError(f"X has {n} rows but y has {len(labels)}{hint}")
    return as_labels(labels)


def _is_column(y: Any, n: int) -> bool:
    """Whether y has lists of one label each, one for each of the n rows."""
    return len(y) == n and all(len(label) == 1 for label in y)
