"""Types of nodes in a file: pairs (type, label) of ``classes_`` say all, but which are hidden."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.encoding.labels.typed_labels import TypedLabels, of_pairs
from sklearn_struct.exceptions import InputTypeError, ModelFileError, UnknownLabelError
from sklearn_struct.persistence.plain_values import plain, restore

__all__ = ["put_hidden", "read_typed"]


def put_hidden(typed: TypedLabels) -> list[Any]:
    """The names of the hidden types."""
    return [plain(name, "a type of nodes") for name in sorted(typed.hidden)]


def read_typed(classes: np.ndarray, stored: list[Any]) -> TypedLabels:
    """The labels of each type, from pairs (type, label) that are sorted and all different."""
    pairs = classes.tolist()
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
            raise ModelFileError(f"{pair!r} is no pair of a type of nodes and a label")
    hidden = restore(stored)
    if not all(isinstance(name, str) for name in hidden) or hidden != sorted(set(hidden)):
        raise ModelFileError("hidden types of nodes are names, sorted and all different")
    try:
        typed = of_pairs(pairs, frozenset(hidden))
    except (InputTypeError, UnknownLabelError) as error:
        raise ModelFileError(f"a type of nodes has labels that cannot be: {error}") from None
    for name in hidden:
        states = typed.classes.get(name, np.zeros(0)).tolist()
        if not states or any(type(k) is not int for k in states) or states != [*range(len(states))]:
            raise ModelFileError(f"the hidden type {name!r} has other states than 0, 1, ...")
    return typed
