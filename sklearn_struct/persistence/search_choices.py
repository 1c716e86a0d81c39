"""What searches choose by, as JSON and back: splitters and distributions of scikit-learn and scipy,
our own scorers.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence.plain_values import Json, plain, restore

__all__ = ["get", "is_scorer", "put", "same", "unsavable"]

# the module and the parameters of each, which are attributes
SPLITTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "KFold": ("sklearn.model_selection", ("n_splits", "shuffle", "random_state")),
    "ShuffleSplit": (
        "sklearn.model_selection",
        ("n_splits", "test_size", "train_size", "random_state"),
    ),
    "GroupKFold": ("sklearn.model_selection", ("n_splits",)),
    "GroupShuffleSplit": (
        "sklearn.model_selection",
        ("n_splits", "test_size", "train_size", "random_state"),
    ),
    "LeaveOneGroupOut": ("sklearn.model_selection", ()),
    "LeaveOneOut": ("sklearn.model_selection", ()),
    "TimeSeriesSplit": (
        "sklearn.model_selection",
        ("n_splits", "max_train_size", "test_size", "gap"),
    ),
    "KeepUnlabeled": ("sklearn_struct.model_selection", ("cv",)),
}
DISTRIBUTIONS = (
    "beta",
    "expon",
    "gamma",
    "halfnorm",
    "loguniform",
    "lognorm",
    "norm",
    "randint",
    "uniform",
)
OURS = "sklearn_struct.metrics.scorers"
SCORERS = (
    "bracket_f1",
    "log_likelihood",
    "mean_iou",
    "sequence_accuracy",
    "span_f1",
    "span_precision",
    "span_recall",
    "token_accuracy",
)


def put(value: Any, what: str) -> dict[str, Any] | None:
    """JSON for `get`; None for anything else than these."""
    cls = type(value)
    # by name first, as the modules need not be imported to look
    module, names = SPLITTERS.get(cls.__name__, ("", ()))
    if module and getattr(sys.modules.get(module), cls.__name__, None) is cls:
        params = [plain(getattr(value, name), f"{what}.{name}", _put_inner) for name in names]
        return {"splitter": [cls.__name__, params]}
    if cls.__module__.startswith("scipy.stats.") and getattr(value, "dist", None) is not None:
        name = value.dist.name
        args = list(value.args)
        kwargs = value.kwds
        if name in DISTRIBUTIONS:
            return {"distribution": [name, plain(args, what), plain(kwargs, what)]}
    if is_scorer(value) or getattr(value, "__module__", "") == OURS:
        for name in SCORERS:
            if same(value, _scorer(name)):
                return {"scorer": name}
    return None


def is_scorer(value: object) -> bool:
    """Whether this is a scorer that scikit-learn made, which gives one number."""
    return type(value).__module__.startswith("sklearn.metrics.")


def same(value: object, known: object) -> bool:
    """Whether one function stands for the other; `clone` makes copies of scorers, which are not
    equal to them.
    """
    if value is known or (callable(value) and value == known):
        return True
    # scorers have no == of their own
    return is_scorer(value) and type(value) is type(known) and vars(value) == vars(known)


def _put_inner(value: object, what: str) -> dict[str, Any]:
    """A splitter that another one asks."""
    splitter = put(value, what)
    if splitter is None:
        raise unsavable(value, what)
    return splitter


def unsavable(value: object, what: str) -> InputTypeError:
    """The error of a parameter that no file holds; `what` says where it is."""
    hint = ""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        hint = f"; set {what} to an int, or to None"
    elif callable(getattr(value, "split", None)):
        hint = (
            f"; set {what} to a number, to a list of pairs (train, test), "
            f"or to one of {', '.join(SPLITTERS)}"
        )
    return InputTypeError(f"{what}: {value!r} ({type(value).__name__}) cannot be saved{hint}")


def get(kind: str, content: Json) -> Any:
    """What `put` was given, or ModelFileError."""
    if kind == "scorer" and content in SCORERS:
        return _scorer(content)
    # exact types: a file's JSON has no subclasses, and a str in the place of a list has items, too
    if type(content) is list and content and type(content[0]) is str:
        name, *rest = content
        try:
            if kind == "splitter" and name in SPLITTERS and len(rest) == 1:
                module, names = SPLITTERS[name]
                return getattr(import_module(module), name)(
                    **dict(zip(names, restore(rest[0], get), strict=True))
                )
            if kind == "distribution" and name in DISTRIBUTIONS and len(rest) == 2:
                return _distribution(name, restore(rest[0]), restore(rest[1]))
        except ModelFileError:
            raise
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"{name} cannot have such parameters: {error}") from error
    raise ModelFileError(f"unknown kind of value: {kind[:50]}")


def _scorer(name: str) -> Any:
    return getattr(import_module(OURS), f"{name}_scorer")


def _distribution(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if any(type(number) not in (int, float) for number in (*args, *kwargs.values())):
        raise TypeError("they are no numbers")
    return getattr(import_module("scipy.stats"), name)(*args, **kwargs)
