"""Any estimator to JSON and arrays, and back with every check, also as a part of another one."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_struct._whole_fits import as_published
from sklearn_struct.encoding import parameter_checks
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.known_classes import check_known, state_named
from sklearn_struct.persistence.named_functions import check_params, put_params
from sklearn_struct.persistence.plain_values import fields

__all__ = ["estimator", "put_estimator"]

# scikit-learn asks a pipeline's first and last step for their tags, so with each the time doubles
DEEPEST = 8


def put_estimator(estimator: BaseEstimator, where: str, shared: Shared) -> dict[str, Any]:
    """A fitted estimator as JSON; its arrays go to those of `shared`, under names that begin with
    `where`.
    """
    check_known(estimator)
    name = type(estimator).__name__
    state = state_named(name)
    if where.count("/") > DEEPEST:
        raise InputTypeError(
            f"estimators inside each other cannot be saved if they are more than {DEEPEST}"
        )
    # all attributes of one fit, whatever other threads do meanwhile
    estimator = as_published(estimator)
    _check_parts(estimator, state.parts)
    check_is_fitted(estimator)
    known = getattr(type(estimator), "_parameter_constraints", {})
    read = {"n_jobs", *getattr(type(estimator), "_settings", ())} & set(known)
    # what is wrong here may be right in the file, as a Python number
    parameter_checks.check_params(estimator, *sorted(read))
    params = put_params(estimator, shared.functions)
    return {"class": name, "params": params, "state": state.put(estimator, where, shared)}


def _check_parts(estimator: BaseEstimator, parts: str | None) -> None:
    """Refuse steps, or the like, of a form that scikit-learn could not go through."""
    pairs = getattr(estimator, parts) if parts is not None else []
    if not isinstance(pairs, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
    ):
        kind = type(estimator).__name__
        raise InputTypeError(f"{parts} of this {kind} must be a list of pairs (name, estimator)")


def estimator(stored: Any, where: str, shared: Shared) -> Any:
    """The estimator of which `put_estimator` made this."""
    name, params, learned = fields(
        stored, "an estimator", **{"class": str, "params": dict, "state": (dict, list)}
    )
    if where.count("/") > DEEPEST:
        raise ModelFileError(f"it has more than {DEEPEST} estimators inside each other")
    restored = check_params(name, params, shared.functions)
    state_named(name).get(restored, learned, where, shared)
    return restored
