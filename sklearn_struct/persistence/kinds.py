"""Which classes can be in a file, and by which functions. `states` fills the table; nothing else
decides about it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from sklearn_struct.exceptions import InputTypeError, ModelFileError

__all__ = ["KINDS", "Kind", "class_named", "is_known", "name_of"]


class Kind(NamedTuple):
    """Where a class is, and how what its estimators have learned is written and read.

    `put` is called with a fitted estimator and returns JSON, `get` with a new one and that JSON.
    Both get the beginning of the names of arrays, and what the whole file shares. `parts` is a
    parameter that has fitted estimators, and is left to these two. `check` looks at parameters
    where the class itself does not, and raises ModelFileError.
    """

    module: str
    put: Callable[..., Any]
    get: Callable[..., None]
    parts: str | None = None
    check: Callable[[Any], None] | None = None


KINDS: dict[str, Kind] = {}


def class_named(name: str) -> Any:
    """The class of an estimator in a file; some are imported only when a file has one."""
    if name not in KINDS:
        raise ModelFileError(f"unknown class {name[:50]!r}")
    return getattr(import_module(KINDS[name].module), name)


def name_of(estimator: Any) -> str:
    """The name of an estimator's class, if estimators of this very class can be saved."""
    name = type(estimator).__name__
    if not is_known(estimator):
        raise InputTypeError(
            f"{name} cannot be saved; what can are fitted {', '.join(sorted(KINDS))}"
        )
    return name


def is_known(estimator: Any) -> bool:
    """Whether it is of a class that can be saved; nothing is imported, as the class of what exists
    was.
    """
    cls = type(estimator)
    kind = KINDS.get(cls.__name__)
    return kind is not None and getattr(sys.modules.get(kind.module), cls.__name__, None) is cls
