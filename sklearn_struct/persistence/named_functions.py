"""Parameters to JSON and back. A function is known by the name that the caller gives it; a file
holds no code.

Estimators among the parameters are kept by their own parameters; nothing uses what they may have
learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from sklearn_struct.encoding.features.input_label_products import ProductFeatures
from sklearn_struct.encoding.features.lexicon import Lexicon
from sklearn_struct.estimators.hidden_markov.hmm import HMM
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence import search_choices as choices
from sklearn_struct.persistence.known_classes import class_named, is_known, state_named
from sklearn_struct.persistence.plain_values import Json, fields, plain, restore

__all__ = ["Functions", "check_params", "put_params", "put_value", "value"]

Functions = Mapping[str, Callable[..., Any]]
PARTS = ("context", "label", "keep")  # functions of ProductFeatures
WORDS = ("phrases", "name", "key", "case_sensitive")  # parameters of a Lexicon
FROZEN = {"frozen": "base_"}  # a base that is the fitted one
DEEPEST = 8  # estimators inside each other, as in `nested_estimators`


def put_params(estimator: BaseEstimator, functions: Functions) -> dict[str, Any]:
    """The parameters of a fitted estimator as JSON, but for the one that has its parts."""
    params = estimator.get_params(deep=False)
    params.pop(state_named(type(estimator).__name__).parts, None)
    is_frozen = type(params.get("base")) is FrozenEstimator
    return {
        key: FROZEN if is_frozen and key == "base" else put_value(value, key, functions)
        for key, value in params.items()
    }


def put_value(value: object, what: str, functions: Functions) -> Any:
    """A parameter of any kind as JSON; `what` names it, and where it is inside of others."""
    return plain(value, what, partial(_put_other, functions=functions))


def _put_other(value: Any, what: str, functions: Functions) -> Any:
    """What is no plain value, as JSON that `_get_other` reads."""
    for name, known in functions.items():
        if choices.same(value, known):
            return {"function": name}
    if type(value) is ProductFeatures:
        return {
            "products": [
                put_value(getattr(value, part), f"{what}.{part}", functions) for part in PARTS
            ]
        }
    if type(value) is Lexicon:
        params = value.get_params()
        return {
            "lexicon": {key: put_value(params[key], f"{what}.{key}", functions) for key in WORDS}
        }
    if is_known(value):
        # scikit-learn's checks take twice the time with each level
        if what.count(".") > DEEPEST:
            raise InputTypeError(
                f"{what}: more than {DEEPEST} estimators inside each other cannot be saved"
            )
        params = value.get_params(deep=False).items()
        stored = {key: put_value(param, f"{what}.{key}", functions) for key, param in params}
        return {"estimator": {"class": type(value).__name__, "params": stored}}
    choice = choices.put(value, what)
    if choice is not None:
        return choice
    if not callable(value) or isinstance(value, type):
        raise choices.unsavable(value, what)
    raise InputTypeError(
        f"{what}: {value!r} is a Python function, which no file holds; give it a name that save "
        "and load know, as in "
        f"functions={{{what.split('.')[-1]!r}: {getattr(value, '__name__', 'function')}}}"
    )


def check_params(name: str, params: dict[str, Json], functions: Functions) -> Any:
    """A new estimator with these parameters; those that the file lacks, as it is older, have their
    defaults.

    It has no parts yet, and a frozen base is not the right one yet: both are learned.
    """
    parts = state_named(name).parts
    restored = {}
    for key, stored in params.items():
        # the base itself is read with what was learned
        frozen = key == "base" and stored == FROZEN
        restored[key] = FrozenEstimator(HMM()) if frozen else value(stored, key, functions)
    if parts is not None:
        if parts in restored:
            raise ModelFileError(f"{name} has {parts} that are not fitted")
        return _new(name, {**restored, parts: []})
    return _checked(name, _new(name, restored))


def _new(name: str, restored: dict[str, Any]) -> Any:
    """An estimator with parameters that its class allows."""
    cls = class_named(name)
    unknown = sorted(restored.keys() - set(cls._get_param_names()))
    if unknown:
        raise ModelFileError(f"{name} has no parameter {unknown[0]!r}")
    try:
        estimator = cls(**restored)
        if hasattr(estimator, "_parameter_constraints"):
            # as `fit` would: predictions trust parameters
            estimator._validate_params()
    # the first one where a parameter without default lacks
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(error)) from error
    return estimator


def _checked(name: str, estimator: BaseEstimator) -> Any:
    check = state_named(name).check
    if check is not None:
        check(estimator)
    return estimator


def value(stored: Json, what: str, functions: Functions) -> Any:
    """What `put_value` was given, or ModelFileError."""
    return restore(stored, partial(_get_other, what=what, functions=functions))


def _get_other(kind: str, content: Json, what: str, functions: Functions) -> Any:
    """What `_put_other` was given, or ModelFileError."""
    if kind == "function":
        if type(content) is not str or content not in functions:
            raise ModelFileError(
                f"it needs the function {str(content)[:50]!r} that save knew: give it in "
                "`functions`"
            )
        return functions[content]
    if kind == "products":
        parts = [value(part, what, functions) for part in content] if type(content) is list else []
        if (
            len(parts) != len(PARTS)
            or not callable(parts[0])
            or not all(p is None or callable(p) for p in parts)
        ):
            raise ModelFileError(
                "ProductFeatures have a function of the context, and two others or None"
            )
        return ProductFeatures(*parts)
    if kind == "lexicon":
        return _lexicon(content, what, functions)
    if kind == "estimator":
        if what.count(".") > DEEPEST:
            raise ModelFileError(f"it has more than {DEEPEST} estimators inside each other")
        name, params = fields(content, "an estimator", **{"class": str, "params": dict})
        restored = {
            key: value(stored, f"{what}.{key}", functions) for key, stored in params.items()
        }
        return _checked(name, _new(name, restored))
    return choices.get(kind, content)


def _lexicon(content: Json, what: str, functions: Functions) -> Lexicon:
    """A lexicon of phrases that are phrases."""
    wanted = {"phrases": (list, dict), "name": str, "key": str, "case_sensitive": bool}
    fields(content, "a Lexicon", **wanted)
    params = {key: value(stored, what, functions) for key, stored in dict(content).items()}  # type: ignore[arg-type]
    lexicon = Lexicon(**params)
    try:
        lexicon([], 0, 0)
    except InputTypeError as error:
        raise ModelFileError(str(error)) from error
    return lexicon
