"""Which columns a parameter means: numbers, names, patterns of names.

A string is a name and nothing else, since any text may be the name of a feature: "word:*" is the
word asterisk. A string with wildcards, which other libraries read as a pattern, gets an error or a
warning that says how patterns are written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral

import numpy as np

from sklearn_struct._warning import warn
from sklearn_struct.containers.sequence_array import SequenceArray
from sklearn_struct.exceptions import InputTypeError

__all__ = ["Features", "columns_named"]

Features = str | re.Pattern[str] | Iterable[str | re.Pattern[str] | int]

WILDCARDS = re.compile(r"\*|\?|\[!?[^\]]+\]")


def columns_named(wanted: Features, X: SequenceArray, parameter: str) -> np.ndarray:
    """The columns of X that a parameter asks for, by number, name, or pattern of the whole name.

    Raises
    ------
    ValueError
        If X has no such feature.
    InputTypeError
        If `wanted` holds something else, or cannot be read twice.

    Warns
    -----
    UserWarning
        If a name has wildcards with which it would match several names.
    """
    # a second fit, or a copy, would find an iterator empty
    if isinstance(wanted, Iterator | bytes | Mapping):
        raise InputTypeError(f"{parameter} must be a list of names, got {type(wanted).__name__}")
    chosen: set[int] = set()
    for key in [wanted] if isinstance(wanted, str | re.Pattern) else wanted:
        chosen.update(_columns(key, X, parameter))
    return np.array(sorted(chosen), dtype=np.int64)


def _columns(key: object, X: SequenceArray, parameter: str) -> list[int]:
    n_features = X.stored.shape[1]
    if isinstance(key, Integral) and not isinstance(key, bool):
        if not 0 <= int(key) < n_features:
            raise ValueError(f"{parameter}: X has no feature {key!r}, it has {n_features}")
        return [int(key)]
    if not isinstance(key, str | re.Pattern) or (
        isinstance(key, re.Pattern) and isinstance(key.pattern, bytes)
    ):
        raise InputTypeError(
            f"{parameter}: {key!r} is neither a name, a pattern of names nor a column number"
        )
    if X.feature_names is None:
        raise ValueError(f"{parameter}={key!r} is a name, but X has no feature names; give numbers")
    if isinstance(key, str):
        return _exactly(key, X.feature_names, parameter)
    # of the whole name: "w" is not all names with a w
    columns = _matching(key, X.feature_names)
    if not columns:
        raise ValueError(f"{parameter}: X has no feature whose whole name matches {key!r}")
    return columns


def _exactly(name: str, names: np.ndarray, parameter: str) -> list[int]:
    """The columns of that name, with advice if it looks like a pattern."""
    columns: list[int] = np.flatnonzero(names == name).tolist()
    pattern = _from_wildcards(name) if WILDCARDS.search(name) else None
    others = _matching(pattern, names) if pattern else []
    if not columns:
        # only if it would match something, else it is just misspelt
        advice = f"; a string is a name, a pattern is written {pattern!r}" if others else ""
        raise ValueError(f"{parameter}: X has no feature {name!r}{advice}")
    if len(others) > len(columns):
        warn(
            f"{parameter}: {name!r} is taken for the feature of that name. If it is a pattern (of "
            f"{len(others)} features), write {pattern!r}; if it is the name, "
            f"re.compile(re.escape({name!r})) says so"
        )
    return columns


def _matching(pattern: re.Pattern[str], names: np.ndarray) -> list[int]:
    return [
        column
        for column, name in enumerate(names)
        if isinstance(name, str) and pattern.fullmatch(name)
    ]


def _from_wildcards(text: str) -> re.Pattern[str] | None:
    """The regular expression that says the same; None if there is none."""
    parts = []
    end = 0
    for place in WILDCARDS.finditer(text):
        inside = re.escape(place[0][1:-1]).replace(r"\-", "-")
        inside = "^" + inside[1:] if inside.startswith("!") else inside
        parts.append(re.escape(text[end : place.start()]))
        parts.append({"*": ".*", "?": "."}.get(place[0], f"[{inside}]"))
        end = place.end()
    try:
        return re.compile("".join([*parts, re.escape(text[end:])]))
    except re.error:  # such as [z-a]
        return None
