"""A two-dimensional X: sequences of one token each, or one long sequence given by mistake."""

from __future__ import annotations

from numbers import Number
from typing import NoReturn, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from sklearn_struct.containers.data_frames import is_frame, refuse_lazy
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.containers.typing import Label, Sequences
from sklearn_struct.encoding.sequences import is_list
from sklearn_struct.exceptions import EmptyDataError, InputTypeError, LengthMismatchError

__all__ = [
    "check_table",
    "check_targets",
    "column",
    "has_label_a_row",
    "one_column",
    "refuse_after_sequences",
    "refuse_one_dimension",
    "refuse_without_labels",
]

_A_LABEL = "y has one label an input; of a table of 0 and 1 take numpy.argmax(y, axis=1)"
SEVERAL = "SequenceArray.from_flat(X, lengths)"


def refuse_without_labels(n: int, name: str) -> NoReturn:
    """Raise for n rows without y: as sequences of one token they have no transitions to learn."""
    raise EmptyDataError(
        f"X is two-dimensional, a sequence of one token in each of its {n} rows, and y is None, so "
        f"that {name} has no transitions to learn from; one sequence is fit([X]), several are "
        f"fit({SEVERAL}), sequences of symbols are lists of strings, of whole numbers or of "
        "booleans, those of single numbers are arrays of shape (n, 1), and single tokens are "
        f"fit(X, [None] * {n})"
    )


def refuse_one_dimension(X: Sequences) -> None:
    """Raise ValueError, which begins as scikit-learn's, for single values: they may be a sequence
    of symbols or of numbers, or numbers of single tokens.
    """
    if is_list(X) and len(getattr(X, "shape", (1,))) == 1 and not is_list(X[0]):
        raise ValueError(
            "Expected 2D array, got 1D array instead: X has single values; one sequence of symbols "
            "is [X], with strings, whole numbers or booleans, and one of numbers "
            "[numpy.reshape(X, (-1, 1))]. Reshape your data by numpy.reshape(X, (-1, 1)) if each "
            "value is a token alone, or by numpy.reshape(X, (1, -1)) if all are one token"
        )


def refuse_after_sequences(X: Sequences, name: str) -> NoReturn:
    """Raise for numbers, or rows of numbers, that are given to a model of longer sequences."""
    rows = len(getattr(X, "shape", (1,))) == 2 or is_list(X[0])
    what = "two-dimensional, a sequence of one token in each row" if rows else "one-dimensional"
    raise InputTypeError(
        f"X is {what}, but {name} was fitted on longer sequences; one sequence is [X], several are "
        f"{SEVERAL}, and single tokens are [[token], [token], ...]"
    )


def has_label_a_row(y: object) -> TypeGuard[Sequences]:
    """Whether y has one label for each row of a two-dimensional X, and no sequences of labels."""
    if getattr(y, "ndim", 1) != 1 or isinstance(y, SequenceArray) or not is_list(y):
        return False
    return any(entry is not None and not is_list(entry) for entry in y)


def column(y: ArrayLike | Sequences, offsets: np.ndarray) -> np.ndarray:
    """The labels of the rows."""
    n = len(offsets) - 1
    if (
        is_list(y)
        and getattr(y, "ndim", 1) == 1
        and len(y)
        and all(map(is_list, y))
        and not _is_column(y, n)
    ):
        raise InputTypeError(
            "X is two-dimensional, a sequence of one token in each row, and y a list of label "
            f"sequences; one sequence is [X] with [y], several are {SEVERAL} with a list of labels "
            "for each"
        )
    labels = one_column(y)
    if len(labels) != n:
        hint = ""
        # whole numbers that sum to the number of rows are hmmlearn's `lengths`
        if labels.dtype.kind in "iu" and sum(labels.tolist()) == n:
            hint = f"; if these are the lengths of sequences, write fit({SEVERAL})"
        raise LengthMismatchError(f"X has {n} rows but y has {len(labels)}{hint}")
    return labels


def one_column(y: ArrayLike | Sequences) -> np.ndarray:
    """The labels of single inputs, as a one-dimensional array.

    The errors are scikit-learn's, but for lists of which numpy makes no array.
    """
    try:
        table = np.asarray(y)
    except (TypeError, ValueError):
        entries = list(y) if is_list(y) else [y]
        i = next((i for i, label in enumerate(entries) if is_list(label)), 0)
        raise InputTypeError(
            f"y[{i}] is a {type(entries[i]).__name__}, which cannot be a label: {_A_LABEL}"
        ) from None
    if table.ndim == 2 and table.shape[1] != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {table.shape} instead: {_A_LABEL}"
        )
    labels: np.ndarray = column_or_1d(y, warn=True)
    return labels


def check_targets(labels: np.ndarray | list[Label]) -> None:
    """scikit-learn's check that these are classes, for labels that it can compare.

    It fails inside numpy for labels of several kinds, which get errors of their own elsewhere.
    """
    kinds = {
        type(label) for label in (labels.tolist() if isinstance(labels, np.ndarray) else labels)
    }
    # it sorts them, which fails for mixed types
    if all(issubclass(kind, str) for kind in kinds) or all(
        issubclass(kind, Number) for kind in kinds
    ):
        check_classification_targets(labels)


def check_table(X: object) -> None:
    """Raise InputTypeError, with the place, unless a two-dimensional X holds numbers.

    scikit-learn checks all else.
    """
    if sp.issparse(X):
        return
    refuse_lazy(X, "X")
    try:
        table = np.asarray(X)
        numbers = table if table.dtype.kind in "biufc" else table.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError(
            f"{_no_number(X)}X cannot be read as a table of numbers: {error}"
        ) from None
    if numbers.dtype.kind == "c":
        raise ValueError(
            "Complex data not supported: X has complex numbers; give real and imaginary parts as "
            "columns"
        )
    if is_frame(X) and numbers.shape[1:] == (0,):
        raise EmptyDataError(f"X has no columns, its shape is {numbers.shape}")


def _no_number(X: object) -> str:
    """Where the first item stands that is no number, in words."""
    # rows, as iterating a frame gives the names of columns
    table = X.to_numpy() if hasattr(X, "to_numpy") else X
    for i, row in enumerate(table if is_list(table) else ()):
        for j, value in enumerate(row if is_list(row) else ()):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                return f"X[{i}], feature {j}: {value!r} is not a number; "
    return ""


def _is_column(y: Sequences, n: int) -> bool:
    """Whether y has lists of one label each, one for each of the n rows."""
    return len(y) == n and all(len(label) == 1 for label in y)
