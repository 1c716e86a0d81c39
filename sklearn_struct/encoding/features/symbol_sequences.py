"""Lists of single symbols -> packed sequences of symbols."""

from __future__ import annotations

from numbers import Integral
from typing import TypeVar

import numpy as np

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.containers.sequence_array import SequenceArray

__all__ = ["is_symbol", "symbols"]

T = TypeVar("T")


def symbols(X: T) -> T | SequenceArray:
    """Lists of whole numbers, packed as sequences of symbols; anything else passes through."""
    if not (isinstance(X, list | tuple | np.ndarray) and getattr(X, "ndim", 1) == 1):
        return X
    # one sequence of anything else, and it is read as usual
    if not len(X) or not all(map(_holds_symbols, X)):
        return X
    offsets = np.cumsum([0, *map(len, X)])
    values = [value for sequence in X for value in sequence]
    return SequenceArray(object_array(values), offsets) if values else X


def _holds_symbols(sequence: object) -> bool:
    if isinstance(sequence, np.ndarray):
        return sequence.ndim == 1 and (sequence.dtype.kind in "iu" or len(sequence) == 0)
    return isinstance(sequence, list | tuple) and all(map(is_symbol, sequence))


def is_symbol(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
