"""Random settings of all that is nested in a fitted estimator: then it does as documented, or says
what is wrong.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from public_estimators import public_classes
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, Options, StrOptions

from fuzz import inputs
from fuzz.errors import is_clear, told
from fuzz.subjects import SETTINGS, Subject, drawn, made, quietly
from sklearn_struct import (
    FeatureTemplates,
    PrototypeFeatures,
    SequenceArray,
    SequenceUnion,
    SequenceVectorizer,
)
from sklearn_struct.persistence import load, save

GOOD = {
    "as before",
    "otherwise, as documented",
    "a clear error",
    "an error in an estimator of scikit-learn's",
}
PATIENCE = 20.0

# Parameters that predictions read, besides those of `_settings`; any other is for the next fit.
READ: dict[type, set[str]] = {
    SequenceVectorizer: {"dtype", "keep_zeros"},
    FeatureTemplates: {"dtype"},
    PrototypeFeatures: {"column"},
    SequenceUnion: {"transformer_list"},
}
METHODS = "predict", "predict_proba", "transform", "score_samples", "score", "get_feature_names_out"


def prepare() -> None:
    inputs.prepare()


family = inputs.family


def case(number: int) -> str:
    classes = public_classes()
    rng = np.random.RandomState(number)
    subject = drawn(classes[number % len(classes)], rng)
    model = subject.fitted()
    before = outcomes(model, subject)
    targets = list(nested(model))
    free = False
    changed: list[Any] = []
    said = []
    for _ in range(rng.choice([1, 2, 3], p=[0.7, 0.2, 0.1])):
        target = targets[rng.randint(len(targets))]
        names = sorted(target.get_params(deep=False))
        if not names:
            continue
        name = names[rng.randint(len(names))]
        value = setting(target, name, rng)
        changed.append(target)
        free |= _is_foreign(target)
        free |= name in READ.get(type(target), getattr(type(target), "_settings", ()))
        said.append(f"{type(target).__name__}.{name}={value!r}"[:100])
        try:
            target.set_params(**{name: value})
        except Exception as error:
            return _of_set_params(target, error) or f"set_params: {', '.join(said)}: {told(error)}"
    found = outcomes(model, subject) | {"save": saved(model, subject)}
    for name, outcome in found.items():
        if isinstance(outcome, Exception) and not is_clear(outcome):
            if any(map(_is_foreign, changed)):
                return "an error in an estimator of scikit-learn's"
            return f"an obscure error: {name} after {', '.join(said)}: {told(outcome)}"
    if isinstance(found["save"], str) and found["save"]:
        return f"{found['save']} after {', '.join(said)}"
    if all(found[name] == before[name] for name in before):
        return "as before"
    errors = [name for name in before if isinstance(found[name], Exception)]
    others = [name for name in before if found[name] != before[name] and name not in errors]
    if others and not free:
        return f"another result: {others} after {', '.join(said)}"
    return "a clear error" if errors else "otherwise, as documented"


def _is_foreign(estimator: Any) -> bool:
    """Whether it is scikit-learn's own, whose errors are not ours to word."""
    return type(estimator).__module__.split(".")[0] != "sklearn_struct"


def _of_set_params(estimator: Any, error: Exception) -> str:
    if is_clear(error):
        return "a clear error"
    return "an error in an estimator of scikit-learn's" if _is_foreign(estimator) else ""


def nested(estimator: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """The estimator, and all in its parameters and in what it has learned."""
    seen = set() if seen is None else seen
    if id(estimator) in seen:
        return
    seen.add(id(estimator))
    if isinstance(estimator, BaseEstimator):
        yield estimator
        for value in list(vars(estimator).values()):
            yield from nested(value, seen)
    elif type(estimator) in (list, tuple):
        for value in estimator:
            yield from nested(value, seen)
    elif type(estimator) is dict:
        yield from nested(list(estimator.values()), seen)


def setting(estimator: Any, name: str, rng: np.random.RandomState) -> Any:
    """A value for a parameter: one that it may have, or anything."""
    way = rng.rand()
    if way < 0.5:
        offered = of_constraints(type(estimator), name)
        if offered:
            return offered[rng.randint(len(offered))]
    if way < 0.6:
        models = [made(cls, SETTINGS.get(cls, [{}])[0]) for cls in public_classes()]
        return models[rng.randint(len(models))]
    if way < 0.7:
        return inputs.changed(getattr(estimator, name), rng)
    return inputs.anything(rng)


@cache
def of_constraints(cls: type, name: str) -> list[Any]:
    """Values within, at and just beyond the bounds of a parameter."""
    found: list[Any] = []
    for constraint in getattr(cls, "_parameter_constraints", {}).get(name, ()):
        if isinstance(constraint, StrOptions | Options):
            found += sorted(constraint.options, key=str)
        elif isinstance(constraint, Interval):
            for bound in (constraint.left, constraint.right):
                found += (
                    []
                    if bound is None
                    else [bound, bound + 1, bound - 1, bound + 0.5, 2 * bound + 10]
                )
        elif constraint == "boolean":
            found += [True, False]
        elif constraint is None:
            found.append(None)
    return found


# ---------------------------------------------------------------- what comes of it


def outcomes(model: Any, subject: Subject) -> dict[str, Any]:
    """What all methods give, or their errors."""
    found = {}
    for name in METHODS:
        if hasattr(type(model), name):
            found[name] = attempt(lambda name=name: comparable(_call(model, name, subject)))
    return found


def _call(model: Any, name: str, subject: Subject) -> Any:
    X = copy.deepcopy(subject.X)  # transformers of scikit-learn's may be told to write into it
    given = {"score": (X, subject.y), "get_feature_names_out": ()}.get(name, (X,))
    return getattr(model, name)(*given)


def attempt(function: Callable[[], Any]) -> Any:
    try:
        return quietly(function)
    except Exception as error:
        return error


def comparable(result: Any) -> Any:
    """As plain lists, rounded, since float types of X may differ."""
    if isinstance(result, SequenceArray):
        return comparable(result.tokens), result.offsets.tolist()
    if hasattr(result, "toarray"):
        return comparable(result.toarray())
    if isinstance(result, np.ndarray) and result.dtype.kind == "f":
        return np.round(result, 9).tolist()
    if isinstance(result, list | tuple) or (
        isinstance(result, np.ndarray) and result.dtype == object
    ):
        return [comparable(item) for item in result]
    return result.tolist() if isinstance(result, np.ndarray) else str(result)


def saved(model: Any, subject: Subject) -> Any:
    """An error of `save`, or what is wrong with what it has saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        error = attempt(lambda: save(model, path))
        if error is not None:
            return error
        loaded = attempt(lambda: load(path))
    if isinstance(loaded, Exception):
        return loaded
    again = outcomes(loaded, subject)
    now = outcomes(model, subject)
    for name, outcome in now.items():
        failed = isinstance(outcome, Exception)
        if (type(again[name]) is not type(outcome)) if failed else (again[name] != outcome):
            return f"another result of what was saved: {name}"
    return ""
