"""What is made of a structure once, and kept as long as the structure lives."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy as np

from sklearn_struct.containers.structures import Structure

__all__ = ["of_structure"]

T = TypeVar("T")

# by the identity of the offsets: weak references to all arrays of the structure, and the values
_KEPT: dict[int, tuple[list[weakref.ref[np.ndarray]], dict[Hashable, Any]]] = {}


def of_structure(structure: Structure, key: Hashable, make: Callable[[], T]) -> T:
    """``make()``, or what it has returned for this key of the same structure before.

    A fit infers the same structures hundreds of times; how they are read does not change. What is
    made must not hold the structure's own arrays, as these would live as long as the process.
    """
    arrays = [structure.offsets]
    for family in structure.families:
        arrays += family
    number = id(structure.offsets)
    kept = _KEPT.get(number)
    # another structure may have the same offsets, and a later array the same number
    if kept is None or not _are(kept[0], arrays):
        # With the offsets the values go. `forget` is at hand also while the interpreter ends, when
        # names of modules are gone.
        forget = _KEPT.pop
        owner = weakref.ref(structure.offsets, lambda _: forget(number, None))
        kept = [owner, *map(weakref.ref, arrays[1:])], {}
        _KEPT[number] = kept
    values = kept[1]
    if key not in values:
        values[key] = make()
    value: T = values[key]
    return value


def _are(references: list[weakref.ref[np.ndarray]], arrays: list[np.ndarray]) -> bool:
    return len(references) == len(arrays) and all(
        reference() is array for reference, array in zip(references, arrays, strict=True)
    )
