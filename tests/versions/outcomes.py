"""What a fitted estimator has learned and what it says, in a form in which versions can be
compared.

A value becomes an `Outcome`: a digest of its structure and of all its bits, and, to say how far two
are apart, its numbers and its words one after the other. Classes count by name alone, wherever they
live.
"""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from versions import renamed
from versions.data import Data

__all__ = ["FAILED", "Outcome", "answers", "attempt", "learned", "outcome", "parameters", "quietly"]

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_edge_proba",
    "predict_nbest",
    "predict_marginals",
    "log_proba",
    "log_joint",
    "marginals",
    "score_samples",
    "score",
    "sample",
    "replace_oov",
    "transform",
    "get_feature_names_out",
)
OPAQUE = {
    "tagger_",
    "cv_results_",
    "refit_time_",
    "multimetric_",
}  # times, and objects of a peer's interface
FAILED = "failed: "


class Outcome(NamedTuple):
    """A value without its Python objects."""

    digest: str
    numbers: np.ndarray
    words: list[str]

    @property
    def failure(self) -> str:
        """What went wrong, if something did."""
        return self.words[0] if self.words and self.words[0].startswith(FAILED) else ""


def outcome(value: Any) -> Outcome:
    parts = _Parts()
    parts.add(value)
    numbers = np.concatenate(parts.numbers) if parts.numbers else np.zeros(0)
    return Outcome(parts.digest.hexdigest(), numbers, parts.words)


class _Parts:
    """Gathers a value piece by piece."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.numbers: list[np.ndarray] = []
        self.words: list[str] = []

    def add(self, value: Any) -> None:
        if isinstance(value, np.ndarray) and value.dtype != object:
            self._array(value)
        elif sp.issparse(value):
            csr = sp.csr_array(value)
            self._open("sparse", *csr.shape)
            for part in (csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)):
                self._array(part)
        elif isinstance(value, dict):
            self._open("dict", len(value))
            for key, item in value.items():
                self.add(key)
                self.add(item)
        elif isinstance(value, list | tuple | np.ndarray):
            self._open("sequence", len(value))
            for item in value:
                self.add(item)
        elif isinstance(value, set | frozenset):
            self.add(sorted(value, key=repr))
        elif isinstance(value, Number | np.generic) and not isinstance(value, bool | np.str_):
            self._array(np.asarray(value))
        elif hasattr(value, "tokens") and hasattr(value, "offsets"):
            self._open("SequenceArray")
            self.add([value.tokens, np.asarray(value.offsets)])
        else:
            self._word(value)

    def _open(self, *what: Any) -> None:
        self.digest.update(repr(what).encode())

    def _array(self, array: np.ndarray) -> None:
        self._open(array.dtype.str, array.shape)
        if array.dtype.kind in "biufc":
            self.digest.update(np.ascontiguousarray(array).tobytes())
            self.numbers.append(array.ravel().astype(np.float64))
        else:
            for item in array.ravel().tolist():
                self._word(item)

    def _word(self, value: Any) -> None:
        """Of other objects their class and public attributes."""
        if value is None or isinstance(value, str | bytes | bool | np.bool_):
            text = str(value)
        elif inspect.isroutine(value) or inspect.isclass(value):
            text = value.__name__
        else:
            text = type(value).__name__
            for name, item in sorted(getattr(value, "__dict__", {}).items()):
                if not name.startswith("_"):
                    self.add([name, item])
        self._open("word", text)
        self.words.append(text)


def quietly(function: Callable[[], Any]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function()


def attempt(function: Callable[[], Any]) -> Outcome:
    """What a function returns; of an error its class and message."""
    try:
        return outcome(quietly(function))
    except Exception as error:
        return outcome(f"{FAILED}{type(error).__name__}: {error}")


# ---- of estimators


def learned(estimator: Any, prefix: str = "") -> dict[str, Outcome]:
    """All public attributes that end with an underscore, also those of estimators inside."""
    everything: dict[str, Outcome] = {}
    for name in sorted({*vars(estimator), *dir(type(estimator))}):
        if name.startswith("_") or not name.endswith("_") or name in OPAQUE:
            continue
        try:
            value = quietly(lambda name=name: getattr(estimator, name))
        except AttributeError:
            continue
        if callable(value):
            continue
        key = prefix + renamed.newest(name, renamed.ATTRIBUTES)
        if isinstance(value, BaseEstimator):
            everything |= learned(value, f"{key}.")
        else:
            everything[key] = outcome(value)
            if name == "loss_curve_" and len(value):
                # two ways to one minimum differ in all but this
                everything[f"{key}[-1]"] = outcome(value[-1])
    for name, part in _inside(estimator):
        everything |= learned(part, f"{prefix}{name}.")
    return everything


def _inside(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Steps of a pipeline and transformers of a union."""
    for name in ("steps", "transformer_list"):
        for key, part in getattr(estimator, name, ()):
            if isinstance(part, BaseEstimator):
                yield key, part


def answers(estimator: Any, data: Data) -> dict[str, Outcome]:
    """What all methods say of data that was not fitted."""
    said: dict[str, Outcome] = {}
    for name in METHODS:
        function = renamed.method(estimator, name)
        if function is None or (name == "get_feature_names_out" and hasattr(estimator, "predict")):
            continue
        arguments = _arguments(name, function, data)
        if arguments is None:
            continue
        if name == "sample" and getattr(estimator, "stop", True) is False:
            arguments["length"] = 6
        said[f"{name}()"] = attempt(lambda f=function, given=arguments: f(**given))
    return said


def _arguments(name: str, function: Any, data: Data) -> dict[str, Any] | None:
    """What a method is given under the names that it has for it; None if something is missing."""
    known = inspect.signature(function).parameters
    given = {"X": data.X_test, "y": data.y_test}
    if name == "sample":
        given |= {"n_samples": 2, "random_state": 0}
    elif name == "predict_nbest":
        given |= {"n": 3}
    arguments = {key: value for key, value in given.items() if key in known}
    return None if "y" in arguments and data.y_test is None else arguments


def parameters(estimator: Any) -> dict[str, Outcome]:
    """All parameters, also nested ones, under their newest names; of estimators the class alone."""
    known: dict[str, Outcome] = {}
    for name, value in estimator.get_params(deep=True).items():
        key = renamed.newest(name, renamed.PARAMETERS)
        known[f"parameter {key}"] = outcome(
            type(value).__name__ if isinstance(value, BaseEstimator) else _flat(value)
        )
    return known


def _flat(value: Any) -> Any:
    """Estimators inside of lists by their class."""
    if isinstance(value, list | tuple):
        return [_flat(item) for item in value]
    return type(value).__name__ if isinstance(value, BaseEstimator) else value
