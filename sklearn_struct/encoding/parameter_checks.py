"""Checks of parameters that are read after `fit`, since `set_params` may have changed them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import (
    Interval,
    make_constraint,
    validate_parameter_constraints,
)

from sklearn_struct.containers.memory_checks import reserve
from sklearn_struct.containers.typing import Seed
from sklearn_struct.exceptions import InputTypeError

__all__ = ["N_JOBS", "check_as_fitted", "check_count", "check_flag", "check_params", "generator"]

# joblib's meaning: None is one, -1 all cores; 0 means nothing
N_JOBS = [
    None,
    Interval(Integral, 1, None, closed="left"),
    Interval(Integral, None, -1, closed="right"),
]

# kinds of values that equal values of the same kind in all that is asked of them
_PLAIN = (type(None), bool, int, str)


def check_params(estimator: BaseEstimator, *names: str) -> None:
    """Raise scikit-learn's InvalidParameterError unless `fit` would take these parameters.

    scikit-learn's own check looks at all parameters. This one takes part of a microsecond for each,
    so that the prediction of a single sentence does not wait for it.
    """
    cls: Any = type(estimator)
    for name in names:
        value = getattr(estimator, name)
        # plain values are what they were when they were checked before
        kind: Any = type(value)
        if kind in _PLAIN and _is_satisfied(cls, name, kind, value):
            continue
        if isinstance(value, np.timedelta64):  # numpy counts it among the whole numbers
            raise InputTypeError(
                f"the {name!r} parameter of {cls.__name__} cannot be a span of time, got {value!r}"
            )
        try:
            satisfied = any(
                constraint.is_satisfied_by(value) for constraint in _constraints(cls, name)
            )
        except TypeError:  # a Fraction is Real for scikit-learn, but numpy cannot compare it
            raise InputTypeError(
                f"the {name!r} parameter of {cls.__name__} cannot be a {kind.__name__}: {value!r}"
            ) from None
        if not satisfied:
            validate_parameter_constraints(
                {name: cls._parameter_constraints[name]}, {name: value}, cls.__name__
            )


@lru_cache(maxsize=1024)
def _is_satisfied(cls: Any, name: str, kind: Any, value: Any) -> bool:
    """Whether `fit` would take a plain value, whose `kind` keeps 1, 1.0 and True apart."""
    return any(constraint.is_satisfied_by(value) for constraint in _constraints(cls, name))


# making the constraints is what takes scikit-learn most of its time
@cache
def _constraints(cls: type[BaseEstimator], name: str) -> list[Any]:
    return [make_constraint(constraint) for constraint in cls._parameter_constraints[name]]


def check_count(value: object, name: str, n_bytes: int = 0, least: int = 1) -> None:
    """Raise unless an argument is a whole number of at least `least`, for which there is memory."""
    # True is an integer to Python, and a duration is one to numpy
    if not isinstance(value, Integral) or isinstance(value, bool | np.timedelta64):
        raise InputTypeError(f"{name} must be a whole number, got {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    if int(value) >= 1 << 62:  # sums of two still fit int64
        raise ValueError(f"{name} must be below 2**62")
    # asked before, since an array of this size may be granted and only fail when it is written
    reserve(int(value) * n_bytes, f"{name}={value}")


def check_flag(value: object, name: str) -> None:
    """Raise unless an argument of this name is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputTypeError(f"{name} must be True or False, got {type(value).__name__}")


def generator(random_state: Seed) -> np.random.RandomState:
    """The generator that an argument asks for; scikit-learn's error for what is no seed."""
    validate_parameter_constraints(
        {"random_state": ["random_state"]}, {"random_state": random_state}, "sample"
    )
    rng: np.random.RandomState = check_random_state(random_state)
    return rng


def check_as_fitted(estimator: BaseEstimator, learned: Mapping[str, object]) -> None:
    """Raise ValueError if a parameter has changed that gives what was learned its meaning."""
    for name, value in learned.items():
        now = getattr(estimator, name)
        # == of arrays or of foreign objects may be anything but a bool
        if not (now is value or (isinstance(now, str | Integral) and now == value)):
            kind = type(estimator).__name__
            raise ValueError(
                f"{name} of this {kind} was {value!r} in fit and is {now!r}: set it back, or fit "
                "again"
            )
