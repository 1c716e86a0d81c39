"""Fits and predictions in several threads: a fit publishes its result in one step.

Whatever reads an estimator meanwhile reads the result of one fit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from types import FunctionType
from typing import Any, Protocol, TypeVar

from sklearn_struct.containers.read_only import as_read_only

__all__ = ["Published", "as_published", "publishes"]

T = TypeVar("T")
FITS = {"fit", "fit_transform", "partial_fit"}


class Estimator(Protocol):
    """What an estimator of scikit-learn has that is needed here."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Names of the parameters."""


class Published:
    """Mixin, before `BaseEstimator`: several threads may fit one estimator and predict by it.

    A fit works on a draft, whose attributes replace those of the estimator when all is done. So
    after an exception, also Ctrl-C, the estimator is as it was before. All other public methods and
    properties of a class work on the attributes at the time of the call, which no fit changes.

    What a property makes of learned attributes is read-only, since nobody reads what is written
    into it. An attribute that it only hands on is not.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, member in list(vars(cls).items()):
            if name.startswith("_"):
                continue
            if isinstance(member, FunctionType):
                setattr(cls, name, publishes(member) if name in FITS else _reads(member))
            elif isinstance(member, property) and member.fget is not None:
                getter = _read_only(member.fget) if name.endswith("_") else member.fget
                setattr(cls, name, property(_reads(getter), member.fset, member.fdel))
            elif isinstance(member, cached_property):
                member.func = _reads(member.func)


def as_published(estimator: T) -> T:
    """The estimator as it is now: later fits do not change this view."""
    view = object.__new__(type(estimator))
    # the same dict, no copy: a fit replaces it by another, and never changes it
    view.__dict__ = vars(estimator)
    return view


def publishes(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Let this method of an estimator work on a draft."""

    @wraps(fit)
    def on_draft(self: Estimator, *args: Any, **options: Any) -> Any:
        before = dict(vars(self))
        draft = object.__new__(type(self))
        draft.__dict__ = dict(before)
        result = fit(draft, *args, **options)
        _publish(draft, self, before)
        return self if result is draft else result  # callers must not get hold of the draft

    return on_draft


def _publish(draft: Estimator, estimator: Estimator, before: dict[str, Any]) -> None:
    """Give the estimator the attributes of the draft; parameters that were set meanwhile stay."""
    attributes = dict(vars(draft))
    now = vars(estimator)
    for name in type(estimator)._get_param_names():
        if name in attributes and attributes[name] is before.get(name):
            attributes[name] = now[name]
    estimator.__dict__ = attributes  # one assignment, which no other thread sees half done


def _read_only(getter: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Let arrays be read-only that the getter of a property makes."""

    @wraps(getter)
    def of_attributes(self: Any) -> Any:
        value = getter(self)
        is_stored = any(value is attribute for attribute in vars(self).values())
        return value if is_stored else as_read_only(value)

    return of_attributes


def _reads(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let this method, or the getter of a property, work on the attributes of one fit."""

    @wraps(method)
    def on_published(self: Estimator, *args: Any, **options: Any) -> Any:
        view = as_published(self)
        result = method(view, *args, **options)
        return self if result is view else result

    return on_published
