"""Parameters to JSON and back. A function is known by the name that the caller gives it; a file holds no code.

Estimators among the parameters are kept by their own parameters; nothing uses what they may have learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from sklearn_struct.encoding.joint_features import ProductFeatures
from sklearn_struct.encoding.templates import FeatureTemplates
from sklearn_struct.estimators.hmm import HMM
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence.values import fields, plain, restore

__all__ = ["Functions", "check_params", "put_params"]

Functions = Mapping[str, Callable[..., Any]]
PARTS = ("context", "label", "keep")  # functions of ProductFeatures
ESTIMATORS: dict[str, Any] = {"features": FeatureTemplates, "base": HMM}  # parameters that may be estimators
FROZEN = {"frozen": "base_"}  # a base that is the fitted one


def put_params(estimator: Any, functions: Functions) -> dict[str, Any]:
    """The parameters of an estimator as JSON."""
    return {key: _put(value, key, functions) for key, value in estimator.get_params(deep=False).items()}


def _put(value: Any, what: str, functions: Functions) -> Any:
    if what == "base" and type(value) is FrozenEstimator:
        return FROZEN
    if type(value) is ESTIMATORS.get(what):
        return {"estimator": {"class": type(value).__name__, "params": put_params(value, functions)}}
    if not callable(value) or isinstance(value, type | np.dtype):
        return plain(value, what)
    for name, function in functions.items():
        if value == function:
            return {"function": name}
    if type(value) is ProductFeatures:
        return {"products": [_put(getattr(value, part), f"{what}.{part}", functions) for part in PARTS]}
    raise InputTypeError(
        f"{what}: {value!r} is a Python function, which no file holds; give it a name that save and load know, as in "
        f"functions={{{what.split('.')[-1]!r}: {getattr(value, '__name__', 'function')}}}"
    )


def check_params(cls: type, params: Any, functions: Functions) -> Any:
    """A new estimator with these parameters; those that the file lacks, as it is older, have their defaults."""
    restored = {name: _get(value, name, functions) for name, value in params.items()}
    unknown = sorted(restored.keys() - cls().get_params(deep=False).keys())  # type: ignore[attr-defined]
    if unknown:
        raise ModelFileError(f"{cls.__name__} has no parameter {unknown[0]!r}")
    estimator = cls(**restored)
    try:
        estimator._validate_params()  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise ModelFileError(str(error)) from error
    return estimator


def _get(value: Any, what: str, functions: Functions) -> Any:
    """A parameter, or ModelFileError; of a frozen base the form alone."""
    if what == "base" and value == FROZEN:
        return FrozenEstimator(HMM())
    [(kind, content)] = value.items() if type(value) is dict and len(value) == 1 else [("", None)]
    if kind == "estimator" and what in ESTIMATORS:
        return _estimator(content, ESTIMATORS[what], functions)
    if kind == "products":
        parts = [_get(part, "", functions) for part in content] if type(content) is list else []
        if len(parts) != len(PARTS) or not callable(parts[0]) or not all(p is None or callable(p) for p in parts):
            raise ModelFileError("ProductFeatures have a function of the context, and two others or None")
        return ProductFeatures(*parts)
    if kind == "function":
        if type(content) is not str or content not in functions:
            raise ModelFileError(f"it needs the function {str(content)[:50]!r} that save knew: give it in `functions`")
        return functions[content]
    return restore(value)


def _estimator(stored: Any, cls: Any, functions: Functions) -> Any:
    """An estimator of this class, not fitted."""
    name, params = fields(stored, "an estimator", **{"class": str, "params": dict})
    if name != cls.__name__:
        raise ModelFileError(f"{name[:50]!r} instead of {cls.__name__}")
    return check_params(cls, params, functions)
