"""The large arrays in the state of a partition, wherever they are in it.

A state consists of tuples, lists, dicts, arrays, and objects of this package and of scipy. Arrays
may be views of others; whoever writes into one writes into all views of the same memory, so this
memory is moved as a whole.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Buffer", "maps_of", "memory_of", "replaced", "roots_of", "taken_buffers"]

# bytes of an array from which on it is worth a page of a file
LARGE = 1 << 16
# bytes of a line of the cache, at which vectors begin
LINE = 64
PACKAGES = ("sklearn_struct", "scipy")
GIVEN = ("sklearn_struct.containers.", "sklearn_struct.encoding.", "scipy.")


def root_of(array: np.ndarray) -> tuple[np.ndarray, Any]:
    """The array whose memory this one is a view of, and what that one is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array, array.base


def roots_of(state: Any) -> list[np.ndarray]:
    """The large arrays of a state that are in memory."""
    roots = {}
    for array in _arrays(state, set()):
        root, base = root_of(array)
        contiguous = root.flags.c_contiguous or root.flags.f_contiguous
        if root.nbytes >= LARGE and contiguous and not isinstance(base, mmap.mmap):
            roots[root.ctypes.data] = root
    return list(roots.values())


def memory_of(state: Any) -> int:
    """Bytes of all arrays of a state, of those that share memory once."""
    roots = {}
    for array in _arrays(state, set()):
        root, _ = root_of(array)
        roots[id(root)] = root
    return sum(root.nbytes for root in roots.values())


def maps_of(state: Any) -> list[mmap.mmap]:
    """The files in which a state has arrays."""
    maps = {}
    for array in _arrays(state, set()):
        _, base = root_of(array)
        if isinstance(base, mmap.mmap):
            maps[id(base)] = base
    return list(maps.values())


class Buffer(NamedTuple):
    """An array of zeros that some object of a state had, and has to have when it works."""

    owner: Any
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype

    def give(self) -> None:
        """Let the object have it again."""
        n_bytes = int(np.prod(self.shape)) * self.dtype.itemsize
        # pages of the system are zeros already: to write them would take as long as to use them
        memory = np.zeros(n_bytes + LINE, np.uint8)
        start = -memory.ctypes.data % LINE
        array = memory[start : start + n_bytes].view(self.dtype).reshape(self.shape)
        vars(self.owner)[self.name] = array


def taken_buffers(state: Any) -> list[Buffer]:
    """Take away the large arrays that objects of a state write anew each time: what is written
    into files would have to be read first.
    """
    taken = []
    for owner in list(_objects(state, set())):
        for name in getattr(type(owner), "buffers", ()):
            array = vars(owner).get(name)
            if array is not None and array.nbytes >= LARGE:
                taken.append(Buffer(owner, name, array.shape, array.dtype))
                del vars(owner)[name]
    return taken


def _objects(value: Any, seen: set[int]) -> Iterator[Any]:
    """All objects in a value."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if _is_object(value):
        yield value
    for part in _parts(value):
        yield from _objects(part, seen)


def _is_object(value: Any) -> bool:
    package = type(value).__module__.split(".")[0]
    return package in PACKAGES and hasattr(value, "__dict__") and not isinstance(value, type)


def _is_given(value: Any) -> bool:
    """Whether this may be an object that users have, too: a matrix of scipy, sequences, names."""
    return _is_object(value) and type(value).__module__.startswith(GIVEN)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif _is_object(value):
        yield from vars(value).values()


def _arrays(value: Any, seen: set[int]) -> Iterator[np.ndarray]:
    """All arrays of numbers in a value."""
    if type(value) is np.ndarray:
        if value.dtype != object:
            yield value
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    for part in _parts(value):
        yield from _arrays(part, seen)


def replaced(state: Any, pages: mmap.mmap, places: dict[int, int]) -> Any:
    """The state, in which arrays of these addresses, and views of them, are those of a file.

    Lists, dicts and data may be those that the user gave: these stay as they are, and the state
    gets others. All other objects of the package are changed in their place.
    """
    return _Replacement(pages, places)(state)


class _Replacement:
    def __init__(self, pages: mmap.mmap, places: dict[int, int]) -> None:
        self.pages = pages
        self.places = places
        # what has been looked at, by its address, and what stands in its place
        self.done: dict[int, tuple[Any, Any]] = {}

    def __call__(self, value: Any) -> Any:
        if type(value) is np.ndarray:
            return self._array(value)
        if isinstance(value, tuple):
            parts = [self(part) for part in value]
            if all(new is old for new, old in zip(parts, value, strict=True)):
                return value
            return type(value)._make(parts) if hasattr(value, "_make") else tuple(parts)
        if id(value) in self.done:
            return self.done[id(value)][1]
        new = value
        if isinstance(value, list | dict):
            new = copy(value)
        elif _is_given(value):
            # without what its class does when it is copied
            new = object.__new__(type(value))
            vars(new).update(vars(value))
        self.done[id(value)] = value, new
        if isinstance(value, list):
            new[:] = [self(part) for part in value]
        elif isinstance(value, dict) or _is_object(value):
            table = new if isinstance(value, dict) else vars(new)
            for name in list(table):
                table[name] = self(table[name])
        return new

    def _array(self, array: np.ndarray) -> np.ndarray:
        root, _ = root_of(array)
        place = self.places.get(root.ctypes.data)
        if place is None or array.dtype == object:
            return array
        shift = array.ctypes.data - root.ctypes.data
        return np.ndarray(
            array.shape, array.dtype, self.pages, place + shift, strides=array.strides
        )
