"""Fitted searches of scikit-learn to JSON and arrays, and back: they predict, score, and tell what
they have tried.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.named_functions import put_value, value
from sklearn_struct.persistence.nested_estimators import estimator, put_estimator
from sklearn_struct.persistence.plain_values import Json, fields, natural, plain, restore
from sklearn_struct.persistence.search_choices import is_scorer

if TYPE_CHECKING:
    from sklearn.model_selection._search import BaseSearchCV

__all__ = ["check_search", "halving", "put_halving", "put_search", "search"]

OPTIONAL = (int, type(None))
RESOURCES = (
    "min_resources",
    "max_resources",
    "n_remaining_candidates",
    "n_required_iterations",
    "n_possible_iterations",
)
NUMBERS = "fiu"  # kinds of the columns that hold scores, times and ranks
SEVERAL = (list, tuple, set, frozenset, dict)  # forms in which `scoring` has several scores


def put_search(search: BaseSearchCV, where: str, shared: Shared) -> dict[str, Any]:
    results = search.cv_results_
    has = vars(search)
    params = [put_value(candidate, "params", shared.functions) for candidate in results["params"]]
    best = has.get("best_estimator_")
    index = has.get("best_index_")
    score = has.get("best_score_")
    return {
        "best": None if best is None else put_estimator(best, where + "best/", shared),
        "best_index": None if index is None else int(index),
        "best_score": None if score is None else plain(float(score), "best_score_"),
        "multimetric": bool(search.multimetric_),
        "n_splits": int(search.n_splits_),
        "refit_time": plain(float(has["refit_time_"]), "refit_time_")
        if "refit_time_" in has
        else None,
        "params": params,
        "columns": [_put_column(name, column, where, shared) for name, column in results.items()],
    }


def _put_column(name: str, column: np.ndarray, where: str, shared: Shared) -> list[str]:
    """The name of a column of results, and what it is; that of all parameters stands for itself."""
    if name == "params":
        return [name, "params"]
    if isinstance(column, np.ma.MaskedArray):
        return [name, "masked"]
    if column.dtype.kind not in NUMBERS:
        raise InputTypeError(f"cv_results_[{name!r}] holds {column.dtype}, which cannot be saved")
    shared.arrays[f"{where}results/{name}"] = column
    return [name, "numbers"]


def search(restored: Any, stored: dict[str, Any], where: str, shared: Shared) -> None:
    kinds: dict[str, Any] = {
        "best": (dict, type(None)),
        "best_index": OPTIONAL,
        "multimetric": bool,
        "n_splits": int,
    }
    kinds |= {"best_score": (float, dict, type(None)), "refit_time": (float, dict, type(None))}
    fields(stored, "the search", **kinds, params=list, columns=list)
    restored.multimetric_ = stored["multimetric"]
    restored.n_splits_ = natural(stored["n_splits"], "n_splits")
    params = [value(candidate, "params", shared.functions) for candidate in stored["params"]]
    if not params or not all(type(candidate) is dict for candidate in params):
        raise ModelFileError("a search has tried no candidates")
    restored.cv_results_ = _results(stored["columns"], params, where, shared)
    for name in ("best_score", "refit_time"):
        if stored[name] is not None:
            setattr(restored, f"{name}_", _number(stored[name], name))
    if stored["best_index"] is not None:
        restored.best_index_ = natural(stored["best_index"], "best_index")
        if restored.best_index_ >= len(params):
            raise ModelFileError("the best candidate is none of those that were tried")
        restored.best_params_ = params[restored.best_index_]
    if stored["best"] is not None:
        restored.best_estimator_ = estimator(stored["best"], where + "best/", shared)
        if hasattr(restored.best_estimator_, "feature_names_in_"):
            restored.feature_names_in_ = restored.best_estimator_.feature_names_in_
    restored.scorer_ = _scorer(restored)


def put_halving(fitted: BaseSearchCV, where: str, shared: Shared) -> dict[str, Any]:
    """What a halving search has besides: what each iteration tried, and how far the data went."""
    return {
        "search": put_search(fitted, where, shared),
        "resources": {name: int(getattr(fitted, f"{name}_")) for name in RESOURCES},
        "n_resources": list(map(int, fitted.n_resources_)),
        "n_candidates": list(map(int, fitted.n_candidates_)),
    }


def halving(restored: BaseSearchCV, stored: Json, where: str, shared: Shared) -> None:
    kinds = {"search": dict, "resources": dict, "n_resources": list, "n_candidates": list}
    tried, resources, n_resources, n_candidates = fields(stored, "a halving search", **kinds)
    search(restored, tried, where, shared)
    fields(resources, "its resources", **dict.fromkeys(RESOURCES, int))
    for name in RESOURCES:
        setattr(restored, f"{name}_", natural(resources[name], name))
    restored.n_resources_ = _naturals(n_resources, "n_resources")
    restored.n_candidates_ = _naturals(n_candidates, "n_candidates")
    restored.n_iterations_ = len(n_candidates)
    has_all = sum(n_candidates) == len(restored.cv_results_["params"])
    if len(n_resources) != len(n_candidates) or not has_all:
        raise ModelFileError("the iterations have not tried the candidates of the results")


def _naturals(stored: list[Any], what: str) -> list[int]:
    if any(type(number) is not int for number in stored):
        raise ModelFileError(f"{what} must be whole numbers")
    return [natural(number, what) for number in stored]


def check_search(restored: BaseSearchCV) -> None:
    """Refuse a search of what cannot be fitted."""
    if not isinstance(restored.estimator, BaseEstimator):
        raise ModelFileError("a search is one of an estimator's parameters")


def _number(stored: Json, what: str) -> float:
    number = restore(stored)
    if type(number) is not float:
        raise ModelFileError(f"{what} is no number")
    return number


def _results(columns: list[Any], params: list[Any], where: str, shared: Shared) -> dict[str, Any]:
    """`cv_results_`, in which each column has an entry for each candidate."""
    results: dict[str, Any] = {}
    for column in columns:
        if (
            type(column) is not list
            or list(map(type, column)) != [str, str]
            or column[0] in results
        ):
            raise ModelFileError(
                "columns of results are pairs of different names and what they are"
            )
        name, kind = column
        if kind == "params" and name == "params":
            results[name] = params
        elif kind == "masked" and name.startswith("param_"):
            results[name] = _tried(params, name.removeprefix("param_"))
        elif kind == "numbers":
            results[name] = _numbers(f"{where}results/{name}", len(params), shared)
        else:
            raise ModelFileError(f"unknown column of results: {name[:50]!r}")
    if "params" not in results:
        raise ModelFileError("the results lack the parameters of candidates")
    return results


def _numbers(name: str, n: int, shared: Shared) -> np.ndarray:
    dtype = shared.arrays[name].dtype if name in shared.arrays else np.dtype(np.float64)
    column = shared.arrays.take(name, dtype)
    if column.dtype.kind not in NUMBERS or len(column) != n:
        raise ModelFileError(f"{name} must have {n} numbers")
    return column


def _tried(params: list[dict[str, Any]], name: str) -> np.ma.MaskedArray:
    """A parameter of all candidates, masked for those without it, as scikit-learn has it."""
    given = {i: candidate[name] for i, candidate in enumerate(params) if name in candidate}
    try:
        array = np.array(list(given.values()))
    except ValueError:  # of lists of different lengths
        array = np.empty((0, 0))
    # scikit-learn, too, has strings as objects here
    dtype = array.dtype if array.ndim == 1 and array.dtype.kind != "U" else np.dtype(object)
    column = np.ma.MaskedArray(np.empty(len(params), dtype), mask=True)
    for i, item in given.items():
        column[i] = item
    return column


def _scorer(restored: BaseSearchCV) -> Any:
    """What scikit-learn's own fit makes of the parameter `scoring`."""
    from sklearn.metrics import check_scoring  # takes a while to import

    several = isinstance(restored.scoring, SEVERAL)
    if several != restored.multimetric_ and (
        is_scorer(restored.scoring) or not callable(restored.scoring)
    ):
        raise ModelFileError("the search has other scores than its results")
    if callable(restored.scoring):
        return restored.scoring
    check = partial(check_scoring, getattr(restored, "best_estimator_", restored.estimator))
    try:
        if not several:
            return check(restored.scoring)
        by_name = (
            restored.scoring
            if isinstance(restored.scoring, dict)
            else {name: name for name in restored.scoring}
        )
        scorers = {name: check(scoring) for name, scoring in by_name.items()}
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the search cannot score: {error}") from error
    if (
        hasattr(restored, "best_estimator_")
        and not callable(restored.refit)
        and restored.refit not in scorers
    ):
        raise ModelFileError("the search has no such score as it was refitted for")
    return scorers
