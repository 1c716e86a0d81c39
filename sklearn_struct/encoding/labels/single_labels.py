"""y with one label for each input: of rows, or of whole sequences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sklearn_struct.encoding.labels import label_codes
from sklearn_struct.encoding.two_dimensional_input import check_targets, one_column
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownLabelError

__all__ = ["distinct", "encode", "read"]


def read(y: Any, n: int, inputs: str, estimator: str) -> list[Any]:
    """The labels of y, one for each of n `inputs`, as errors call these."""
    if y is None:
        raise ValueError(
            f"This {estimator} estimator requires y to be passed, but the target y is None."
        )
    for i, label in enumerate(y if isinstance(y, list | tuple) else ()):
        # among strings, numpy would make a string of it
        if isinstance(label, float) and label != label:
            raise UnknownLabelError(f"y[{i}]: the label is not a number (NaN)")
    y = one_column(y)
    if len(y) != n:
        raise LengthMismatchError(f"X has {n} {inputs} but y has {len(y)} labels")
    labels: list[Any] = y.tolist()
    return labels


def distinct(labels: list[Any]) -> np.ndarray:
    """The distinct labels, sorted: ``classes_``."""
    with _without_tokens():
        classes = label_codes.unique_labels(labels, np.arange(len(labels) + 1))
        check_targets(labels)
        return classes


def encode(labels: list[Any], classes: np.ndarray, unseen: int | None = None) -> np.ndarray:
    """Codes of labels in `classes`; with `unseen`, that is the code of other labels."""
    with _without_tokens():
        return label_codes.encode(labels, classes, np.arange(len(labels) + 1), unseen)


@contextmanager
def _without_tokens() -> Iterator[None]:
    """Errors about labels name an input, not the only token of a sequence."""
    try:
        yield
    except (InputTypeError, UnknownLabelError) as error:
        raise type(error)(str(error).replace(", token 0: ", ": ", 1)) from None
