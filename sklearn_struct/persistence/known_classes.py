"""Which classes can be in a file, and what writes and reads what their estimators have learned.

`registry` fills the two tables; nothing else decides about it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

import sklearn_struct
from sklearn_struct.exceptions import InputTypeError, ModelFileError

__all__ = [
    "ELSEWHERE",
    "STATES",
    "State",
    "check_known",
    "class_named",
    "is_known",
    "known_names",
    "state_named",
]


class State(NamedTuple):
    """How what estimators of a class have learned is written and read.

    `put` is called with a fitted estimator and returns JSON, `get` with a new one and that JSON.
    Both get the beginning of the names of arrays, and what the whole file shares. `parts` is a
    parameter that has fitted estimators, and is left to these two. `check` looks at parameters
    where the class itself does not, and raises ModelFileError.
    """

    put: Callable[..., Any]
    get: Callable[..., None]
    parts: str | None = None
    check: Callable[[Any], None] | None = None


# Of the public classes of this package: that of the nearest base, so that a class which learns
# nothing of its own needs no entry.
STATES: dict[type, State] = {}
# Of other classes by their names, with their modules, which are imported when a file needs them.
ELSEWHERE: dict[str, tuple[str, State]] = {}


def known_names() -> list[str]:
    """The names of all classes that can be in a file."""
    ours = [name for name in sklearn_struct.__all__ if _public_class(name) is not None]
    return sorted([*ours, *ELSEWHERE])


def class_named(name: str) -> Any:
    """The class of an estimator in a file; some are imported only when a file has one."""
    ours = _public_class(name)
    if ours is not None:
        return ours
    if name not in ELSEWHERE:
        raise ModelFileError(f"unknown class {name[:50]!r}")
    module, _ = ELSEWHERE[name]
    return getattr(import_module(module), name)


def state_named(name: str) -> State:
    """What writes and reads estimators of the class of this name."""
    cls = class_named(name)
    return ELSEWHERE[name][1] if name in ELSEWHERE else _of_nearest_base(cls)


def is_known(estimator: BaseEstimator) -> bool:
    """Whether it is of a class that can be saved; nothing is imported, as the class of what exists
    was.
    """
    cls = type(estimator)
    name = cls.__name__
    if name in ELSEWHERE:
        module, _ = ELSEWHERE[name]
        # the class itself: another one may have the same name
        return getattr(sys.modules.get(module), name, None) is cls
    return _public_class(name) is cls


def check_known(estimator: BaseEstimator) -> None:
    """Refuse to save estimators of other classes, and of subclasses of those that are known.

    Raises
    ------
    InputTypeError
    """
    if not is_known(estimator):
        raise InputTypeError(
            f"{type(estimator).__name__} cannot be saved; what can are fitted "
            f"{', '.join(known_names())}"
        )


def _public_class(name: str) -> type | None:
    """The class of this name in the package, if a state is known of it or of a base of it."""
    # what is no public name may be a module, which would be imported
    cls = getattr(sklearn_struct, name) if name in sklearn_struct.__all__ else None
    return cls if inspect.isclass(cls) and not STATES.keys().isdisjoint(cls.__mro__) else None


def _of_nearest_base(cls: type) -> State:
    return next(STATES[base] for base in cls.__mro__ if base in STATES)
