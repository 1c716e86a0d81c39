"""What it costs to take one label for another, as a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, NonFiniteError

__all__ = ["read_cost"]


def read_cost(
    cost: ArrayLike | None, classes: np.ndarray, dtype: DTypeLike = np.float64
) -> np.ndarray | None:
    """The parameter `cost`, checked; None is the Hamming cost.

    `dtype` is that of the potentials which it is added to.

    Raises
    ------
    LengthMismatchError, InputTypeError, NonFiniteError
        If it is no matrix (n_labels, n_labels) of finite numbers.
    ValueError
        If a number is negative, or a right label costs something.
    """
    if cost is None:
        return None
    try:
        if np.asarray(cost).dtype.kind == "c":
            raise TypeError("they are complex")
        table = np.asarray(cost, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputTypeError(f"cost is no matrix of numbers: {error}") from None
    K = len(classes)
    if table.shape != (K, K):
        raise LengthMismatchError(f"cost has shape {table.shape}, but {K} labels need ({K}, {K})")
    labels = classes.tolist()
    for wrong, kind, problem in (
        (~(np.abs(table) <= np.finfo(dtype).max), NonFiniteError, f"be finite in {dtype}"),
        (table < 0, ValueError, "not be negative"),
        ((table != 0) & np.eye(K, dtype=bool), ValueError, "be 0 where the label is right"),
    ):
        if np.any(wrong):
            j, k = np.argwhere(wrong)[0]
            raise kind(
                f"cost[{j}, {k}] of {labels[k]!r} in the place of {labels[j]!r} must {problem}, "
                f"got {table[j, k]}"
            )
    return table
