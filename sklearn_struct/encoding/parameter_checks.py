"""Parameters that are read after `fit`: `set_params` may have changed them since, so they are
looked at again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import (
    Interval,
    make_constraint,
    validate_parameter_constraints,
)

from sklearn_struct.containers.memory import reserve
from sklearn_struct.exceptions import InputTypeError

__all__ = ["N_JOBS", "check_as_fitted", "check_count", "check_flag", "check_params", "generator"]

N_JOBS = [
    None,
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
]


def check_params(estimator: Any, *names: str) -> None:
    """Raise scikit-learn's InvalidParameterError unless these parameters have values that `fit`
    would take.

    The same as its own check of all parameters, but in a microsecond each, since single sentences
    are predicted, too.
    """
    cls: Any = type(estimator)
    for name in names:
        value = getattr(estimator, name)
        if isinstance(value, np.timedelta64):  # which numpy counts among the whole numbers
            raise InputTypeError(
                f"the {name!r} parameter of {cls.__name__} cannot be a span of time, got {value!r}"
            )
        try:
            satisfied = any(
                constraint.is_satisfied_by(value) for constraint in _constraints(cls, name)
            )
        except TypeError:  # fractions are real numbers for scikit-learn, and none for numpy
            kind = type(value).__name__
            raise InputTypeError(
                f"the {name!r} parameter of {cls.__name__} cannot be a {kind}: {value!r}"
            ) from None
        if not satisfied:
            validate_parameter_constraints(
                {name: cls._parameter_constraints[name]}, {name: value}, cls.__name__
            )


@cache
def _constraints(cls: Any, name: str) -> list[Any]:
    return [make_constraint(constraint) for constraint in cls._parameter_constraints[name]]


def check_count(value: Any, name: str, n_bytes: int = 0) -> None:
    """Raise unless an argument of this name is a whole number of at least 1, and there is memory
    for so many.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputTypeError(f"{name} must be a whole number, got {type(value).__name__}")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")
    if int(value) >= 1 << 62:
        raise ValueError(f"{name} must be below 2**62")
    reserve(int(value) * n_bytes, f"{name}={value}")


def check_flag(value: Any, name: str) -> None:
    """Raise unless an argument of this name is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputTypeError(f"{name} must be True or False, got {type(value).__name__}")


def generator(random_state: Any) -> np.random.RandomState:
    """The random numbers that an argument asks for; scikit-learn's own error for what is no seed."""
    validate_parameter_constraints(
        {"random_state": ["random_state"]}, {"random_state": random_state}, "sample"
    )
    return check_random_state(random_state)


def check_as_fitted(estimator: Any, learned: Mapping[str, Any]) -> None:
    """Raise ValueError if a parameter without which what was learned has no meaning is not as in
    `fit`.
    """
    for name, value in learned.items():
        now = getattr(estimator, name)
        if not (now is value or (isinstance(now, str | Integral) and now == value)):
            kind = type(estimator).__name__
            raise ValueError(
                f"{name} of this {kind} was {value!r} in fit and is {now!r}: set it back, or fit "
                "again"
            )
