"""Parameters, labels and names as JSON and arrays, exactly, and back with every check."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.exceptions import InputTypeError, ModelFileError

__all__ = [
    "Arrays",
    "Json",
    "fields",
    "labels",
    "natural",
    "optional",
    "plain",
    "put_labels",
    "put_optional",
    "put_texts",
    "restore",
    "take_optional",
    "texts",
]

# what JSON holds; its lists and objects are checked where they are read
Json: TypeAlias = dict[str, Any] | list[Any] | str | int | float | None

TYPES: dict[str, Any] = {"float64": np.float64, "float32": np.float32, "float": float}
LONGEST = 1000  # characters of a pattern; ten may take 30 ms to compile
FLOATS = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}


def _matrix(rows: list[Any]) -> np.ndarray:
    matrix = np.array(rows)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError("not a matrix of numbers")
    return matrix


def _pattern(parts: list[Any]) -> re.Pattern[str]:
    text, flags = parts
    if not isinstance(text, str) or type(flags) is not int or len(text) > LONGEST:
        raise TypeError("not a pattern of texts, and its flags")
    pattern = re.compile(text, flags & ~re.DEBUG)  # which prints
    if pattern.flags != flags:
        raise ValueError("not the flags of the pattern")
    return pattern


COLLECTIONS: dict[str, Any] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "array": object_array,
    "matrix": _matrix,
    "dict": dict,
    "pattern": _pattern,
}


class Arrays(dict[str, np.ndarray]):
    """The arrays of a file by name; each is taken once."""

    def take(self, name: str, dtype: DTypeLike, ndim: int = 1) -> np.ndarray:
        if name not in self or self[name].dtype != dtype or self[name].ndim != ndim:
            raise ModelFileError(
                f"there is no array {name!r} of {ndim} dimensions of {np.dtype(dtype)}"
            )
        return self.pop(name)


def plain(value: Any, what: str, other: Callable[[Any, str], Any] | None = None) -> Any:
    """A value as JSON from which `restore` makes an equal one; InputTypeError if that cannot be.

    `other` gives objects, with one field, for values of any other kind.
    """
    # of dates it would be None, or a number
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    kind = type(value)
    if value is None or kind in (bool, int):
        return value
    if kind is float:
        return value if np.isfinite(value) else {"float": str(value)}
    if kind is str:
        return (
            value if _has_utf8(value) else {"characters": [ord(character) for character in value]}
        )
    if kind is list:
        return [plain(item, what, other) for item in value]
    if kind is tuple:
        return {"tuple": [plain(item, what, other) for item in value]}
    if kind in (set, frozenset):
        items = [plain(item, what, other) for item in value]
        # the order of a set hangs on the process, and on how it was made; a file must not
        return {kind.__name__: sorted(items, key=json.dumps)}
    if kind is np.ndarray and value.ndim == 1 and value.dtype.kind in "biufUO":
        return {"array": plain(value.tolist(), what, other)}
    if kind is np.ndarray and value.ndim == 2 and value.dtype.kind in "biuf":
        return {"matrix": plain(value.tolist(), what, other)}
    if kind in (dict, Counter):
        return {
            "dict": [
                [plain(key, what, other), plain(item, what, other)] for key, item in value.items()
            ]
        }
    if kind is re.Pattern and isinstance(value.pattern, str):
        return {"pattern": [plain(value.pattern, what), value.flags]}
    if isinstance(value, np.dtype):
        value = value.type
    for name, known in TYPES.items():
        if value is known:
            return {"type": name}
    if other is not None:
        return other(value, what)
    raise InputTypeError(f"{what}: {value!r} ({kind.__name__}) cannot be saved")


def _has_utf8(text: str) -> bool:
    """JSON merges two surrogates that stand side by side."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def restore(value: Json, other: Callable[[str, Any], Any] | None = None) -> Any:
    """The value that `plain` was given, or ModelFileError; `other` reads kinds that are not known
    here.
    """
    if isinstance(value, list):
        return [restore(item, other) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ModelFileError(f"unknown kind of value: {', '.join(value)[:50]}")
    [(kind, content)] = value.items()
    table = FLOATS if kind == "float" else TYPES if kind == "type" else {}
    if isinstance(content, str) and content in table:
        return table[content]
    if isinstance(content, list) and (kind == "characters" or kind in COLLECTIONS):
        items = content if kind == "characters" else restore(content, other)
        try:
            return "".join(map(chr, items)) if kind == "characters" else COLLECTIONS[kind](items)
        except (TypeError, ValueError, OverflowError, RecursionError, re.error) as error:
            raise ModelFileError(f"{kind} of values that it cannot have") from error
    if other is not None:
        return other(kind, content)
    raise ModelFileError(f"unknown kind of value: {kind[:50]}")


def fields(value: Json, where: str, **kinds: Any) -> list[Any]:
    """The values of an object that has these fields and no others, each of the type, or one of the
    types, given.
    """
    if type(value) is not dict or value.keys() != kinds.keys():
        raise ModelFileError(f"{where} must have the fields {', '.join(kinds)}")
    for name, kind in kinds.items():
        # not isinstance, to which True is an int
        if type(value[name]) not in (kind if isinstance(kind, tuple) else (kind,)):
            raise ModelFileError(f"{where}: {name} cannot be of type {type(value[name]).__name__}")
    return [value[name] for name in kinds]


def optional(stored: dict[str, Any], **kinds: Any) -> dict[str, Any]:
    """Those of the kinds whose fields are there; files of earlier versions lack them."""
    return {name: kind for name, kind in kinds.items() if name in stored}


def put_optional(estimator: BaseEstimator, name: str) -> dict[str, Any]:
    """A private attribute, if the estimator has it, as a field that may lack."""
    return {name: getattr(estimator, f"_{name}")} if hasattr(estimator, f"_{name}") else {}


def take_optional(estimator: BaseEstimator, stored: dict[str, Any], name: str) -> None:
    """Give the estimator what `put_optional` put, if it is there."""
    if name in stored:
        setattr(estimator, f"_{name}", stored[name])


def natural(value: int, where: str) -> int:
    if not 0 <= value < 2**63:
        raise ModelFileError(f"{where} is not a number of things: {value}")
    return value


def put_texts(arrays: Arrays, name: str, strings: list[str]) -> None:
    """Strings, each of any characters, as UTF-8 and where each ends."""
    for j, text in enumerate(strings):
        if not isinstance(text, str):
            raise InputTypeError(
                f"feature name {j}: {text!r} ({type(text).__name__}) cannot be saved; names are "
                "strings"
            )
    # lone surrogates, which undecodable file names have, are not UTF-8, but valid in Python's
    # strings
    parts = [str.encode(text, "utf-8", "surrogatepass") for text in strings]
    arrays[name + "/utf8"] = np.frombuffer(b"".join(parts), np.uint8)
    arrays[name + "/ends"] = np.cumsum([len(part) for part in parts], dtype=np.int64)


def texts(arrays: Arrays, name: str) -> list[str]:
    """What `put_texts` was given."""
    data = arrays.take(name + "/utf8", np.uint8).tobytes()
    ends = arrays.take(name + "/ends", np.int64)
    bounds = np.concatenate([[0], ends])
    if bounds[-1] != len(data) or np.any(bounds[1:] < bounds[:-1]):
        raise ModelFileError(f"{name}: strings do not end where they should")
    try:
        return [
            data[lo:hi].decode("utf-8", "surrogatepass") for lo, hi in pairwise(bounds.tolist())
        ]
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{name}: a string is not UTF-8") from error


def put_labels(arrays: Arrays, name: str, classes: np.ndarray) -> Any:
    """Labels: numbers as they are, strings and bytes as tables of characters; else JSON, which is
    returned.
    """
    kind = classes.dtype.kind
    if kind in "US":
        character = np.uint32 if kind == "U" else np.uint8
        arrays[name] = np.ascontiguousarray(classes).view(character).reshape(len(classes), -1)
    # safetensors has no numbers of 16 bytes
    elif kind in "biuf" and classes.dtype.itemsize <= 8:
        arrays[name] = classes
    elif kind == "O":
        return [plain(label, f"label {label!r}") for label in classes.tolist()]
    else:
        raise InputTypeError(f"labels of type {classes.dtype} cannot be saved")
    return kind


def labels(arrays: Arrays, name: str, stored: Any) -> np.ndarray:
    """What `put_labels` was given: distinct and sorted."""
    if isinstance(stored, list):
        classes = object_array(restore(stored))
    elif stored in ("U", "S"):
        table = arrays.take(name, np.uint32 if stored == "U" else np.uint8, 2)
        # behind the last code point of Unicode numpy would fail only when a label is read
        if not 0 < table.shape[1] < 2**28 or (stored == "U" and np.any(table > 0x10FFFF)):
            raise ModelFileError(f"{name} are not strings")
        classes = table.view(f"{stored}{table.shape[1]}")[:, 0]
    else:
        # of any type that is there; without the array, take says so
        classes = arrays.take(name, arrays[name].dtype if name in arrays else np.dtype(float))
        if classes.dtype.kind != stored:
            raise ModelFileError(f"{name} are not of the kind {stored!r}")
    if not len(classes) or not _increasing(classes.tolist()):
        raise ModelFileError(f"{name} must be sorted and all different")
    return classes


def _increasing(items: list[Any]) -> bool:
    try:
        return (
            len(set(items)) == len(items)
            # a single NaN is compared with nothing else
            and items[0] == items[0]
            and all(a < b for a, b in pairwise(items))
        )
    except TypeError:
        return False
