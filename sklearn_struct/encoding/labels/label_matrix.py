"""Matrices of labels, of which each row has some and lacks the others -> codes 0 and 1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets

from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

__all__ = ["LabelMatrix", "codes_in", "read_matrix"]


class LabelMatrix(NamedTuple):
    """Codes (n_rows, n_labels); for each column the values that 0 and 1 stand for; and whether y
    was one-dimensional.
    """

    codes: np.ndarray
    classes: list[np.ndarray]
    single: bool


def read_matrix(y: Any, n_rows: int) -> LabelMatrix:
    """The labels of a fit.

    Raises
    ------
    InputTypeError
        If y is no table.
    LengthMismatchError
        If it has another number of rows than X.
    ValueError
        If a column has more than two values.
    """
    table, single = _table(y, n_rows)
    check_classification_targets(table)
    classes = [_values(column, j, single) for j, column in enumerate(table.T)]
    return LabelMatrix(_encode(table, classes), classes, single)


def codes_in(y: Any, classes: list[np.ndarray], single: bool, n_rows: int) -> np.ndarray:
    """Codes of the labels y, as in a fit; -1 for values that it has not seen.

    Raises
    ------
    InputTypeError, LengthMismatchError
        If y is no table, or one of another number of rows or labels.
    """
    table, _ = _table(y, n_rows)
    if table.shape[1] != len(classes):
        raise LengthMismatchError(f"y has {table.shape[1]} labels, but {len(classes)} in fit")
    return _encode(table, classes)


def _table(y: Any, n_rows: int) -> tuple[np.ndarray, bool]:
    """y as a dense table, and whether it has one dimension."""
    if sp.issparse(y):
        table = y.toarray()
    else:
        try:
            table = check_array(y, dtype=None, ensure_2d=False, input_name="y")
        except ValueError as error:
            if "inhomogeneous" not in str(error):
                raise
            raise InputTypeError(
                "y must be a matrix (n_samples, n_labels) of 0 and 1; MultiLabelBinarizer of "
                "scikit-learn makes one of lists of labels"
            ) from None
    if table.ndim > 2:
        raise InputTypeError(f"y must have one or two dimensions, got {table.ndim}")
    if len(table) != n_rows:
        raise LengthMismatchError(f"X has {n_rows} rows but y has {len(table)}")
    single = table.ndim == 1
    return (table[:, None] if single else table), single


def _values(column: np.ndarray, j: int, single: bool) -> np.ndarray:
    """The values that codes stand for: 0 and 1, or the two that a column has."""
    values = np.unique(column)
    if values.dtype.kind in "biuf" and np.isin(values, (0, 1)).all():
        # a label that all rows have, or none, is still one that rows may lack
        return np.array([0, 1]).astype(values.dtype)
    if len(values) > 2:
        # the words are scikit-learn's
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass. "
            f"{'y' if single else f'Column {j} of y'} has {len(values)} values: give a column of 0 "
            "and 1 for each label, as label_binarize or MultiLabelBinarizer make them"
        )
    return values


def _encode(table: np.ndarray, classes: list[np.ndarray]) -> np.ndarray:
    codes = np.full(table.shape, -1, np.int32)
    for j, values in enumerate(classes):
        for code, value in enumerate(values.tolist()):
            codes[table[:, j] == value, j] = code
    return codes
