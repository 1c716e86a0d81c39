"""Types of nodes -> numbers, in the order of their names."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from sklearn_struct.encoding.sequences import as_list, is_list
from sklearn_struct.exceptions import InputTypeError, LengthMismatchError, UnknownValueError

__all__ = ["flat_types", "numbers_of"]


def flat_types(types: list[Any], offsets: np.ndarray) -> list[str]:
    """The types of all nodes, one graph after the other.

    Raises
    ------
    InputTypeError
        With the place, if types are no list, or one is no string.
    LengthMismatchError
        With the place, if a graph has types of another number of nodes.
    """
    parts = []
    for i, (given, n) in enumerate(zip(types, np.diff(offsets).tolist(), strict=True)):
        names = as_list(given)
        if not is_list(names):
            raise InputTypeError(
                f"X[{i}]: types of nodes must be a list of strings, got {type(names).__name__}"
            )
        names = names.tolist() if isinstance(names, np.ndarray) else list(names)
        if len(names) != n:
            raise LengthMismatchError(f"X[{i}]: types of {len(names)} nodes, but there are {n}")
        for t, name in enumerate(names):
            if not isinstance(name, str):
                raise InputTypeError(f"X[{i}], node {t}: a type is a string, got {name!r}")
        # strings of numpy become Python's, as files have them
        parts.append(map(str, names))
    return list(chain.from_iterable(parts))


def numbers_of(types: list[str], known: list[str], offsets: np.ndarray) -> np.ndarray:
    """The number that each node's type has among the `known` ones.

    Raises
    ------
    UnknownValueError
        With the place, for another type.
    """
    number = {name: i for i, name in enumerate(known)}
    for position, name in enumerate(types if set(types) - set(known) else ()):
        if name not in number:
            i = int(np.searchsorted(offsets, position, side="right")) - 1
            raise UnknownValueError(
                f"X[{i}], node {position - offsets[i]}: the type {name!r} was not seen in fit "
                f"(known: {', '.join(map(repr, known))})"
            )
    return np.fromiter(map(number.__getitem__, types), np.int64, len(types))
