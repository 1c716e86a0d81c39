"""Hidden Markov models to JSON and arrays, and back with every check."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.estimators.hidden_markov.information_criteria import BaseInformationCriteria
from sklearn_struct.estimators.hidden_markov.learned_counts import (
    check_outcomes,
    check_rates,
    n_streams,
    set_kinds,
)
from sklearn_struct.estimators.hidden_markov.learned_covariances import (
    check_coefficients,
    check_covariances,
    check_weights,
)
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.hidden_markov.gaussians import covariance_shape, no_lags
from sklearn_struct.hidden_markov.markov_chain import named_shapes, order_of
from sklearn_struct.hidden_markov.mixtures import mixture_shape
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import (
    Arrays,
    Json,
    fields,
    labels,
    natural,
    optional,
    plain,
    put_labels,
    put_optional,
    restore,
    take_optional,
)

__all__ = ["hidden", "put_hidden"]

OPTIONAL = (int, type(None))


def put_hidden(hmm: BaseEstimator, where: str, shared: Shared) -> dict[str, Any]:
    arrays = shared.arrays
    covariances = put_optional(hmm, "covariance_type")
    order = order_of(hmm.transition_logprob_)
    for name in named_shapes(len(hmm.classes_), order):
        arrays[where + name] = np.asarray(getattr(hmm, f"{name}_logprob_"), np.float64)
    # not three dimensions
    arrays[where + "transition"] = arrays[where + "transition"].reshape(-1, len(hmm.classes_))
    for s, table in enumerate(hmm.emission_logprob_):
        if table is not None:
            arrays[f"{where}emission/{s}"] = np.asarray(table, np.float64)
    if hmm.means_.size:
        means = np.asarray(hmm.means_, np.float64)
        if means.ndim == 3:
            arrays[where + "mixture_logprob"] = np.asarray(hmm.mixture_logprob_, np.float64)
        lags = np.asarray(hmm.autoregression_, np.float64)
        if lags.size:
            arrays[where + "autoregression"] = lags.reshape(-1, lags.shape[-1])
        arrays[where + "means"] = means.reshape(-1, means.shape[-1])
        name = "variances" if covariances["covariance_type"] == "diag" else "covariances"
        table = np.asarray(hmm.covariances_, np.float64)
        # two dimensions at most
        arrays[where + name] = table.reshape(-1, table.shape[-1]) if table.ndim > 2 else table
    for name in ("rates", "count_logprob"):
        table = np.asarray(getattr(hmm, f"{name}_"), np.float64)
        if table.size:
            arrays[where + name] = table
    arrays[where + "loss_curve"] = np.array(hmm.loss_curve_, np.float64)
    vocabularies = [
        None if values is None else plain(list(values), "vocabulary") for values in hmm.vocabulary_
    ]
    return {
        "labels": put_labels(arrays, where + "labels", hmm.classes_),
        "order": order,
        "vocabularies": vocabularies,
        "kind": hmm._kind,
        "names": shared.put(vars(hmm).get("_names_in")),
        "n_iter": int(hmm.n_iter_),
        **_counted(hmm),
        **put_optional(hmm, "rows_in"),
        **put_optional(hmm, "emissions"),
        **({"n_trials": int(hmm.n_trials_)} if "n_trials_" in vars(hmm) else {}),
        **covariances,
    }


def _counted(hmm: BaseEstimator) -> dict[str, int]:
    """The number of parameters, which earlier files lack."""
    return {"n_parameters": int(hmm.n_parameters_)} if hasattr(hmm, "n_parameters_") else {}


def hidden(hmm: Any, stored: dict[str, Any], where: str, shared: Shared) -> None:
    kinds = {
        "labels": (str, list),
        "order": int,
        "vocabularies": list,
        "kind": str,
        "names": OPTIONAL,
        "n_iter": int,
    }
    _, order, vocabularies, hmm._kind, names, n_iter, *_ = fields(
        stored,
        "the model",
        **kinds,
        **optional(
            stored,
            rows_in=bool,
            covariance_type=str,
            emissions=list,
            n_trials=int,
            n_parameters=int,
        ),
    )
    take_optional(hmm, stored, "rows_in")
    if not checks.is_allowed(hmm, "order", order, usual=1) or hmm._kind not in (
        "numbers",
        "values",
        "rows",
    ):
        raise ModelFileError("no hidden Markov model of order 1 or 2")
    if hmm._kind == "values" and len(vocabularies) != 1:
        raise ModelFileError(f"single values have one stream, not {len(vocabularies)}")
    hmm.classes_ = labels(shared.arrays, where + "labels", stored["labels"])
    K = len(hmm.classes_)
    arrays = shared.arrays
    shapes = named_shapes(K, order)
    in_file = shapes | {"transition": (math.prod(shapes["stop"]), K)}
    for name, shape in in_file.items():
        table = checks.log_probabilities(arrays, where + name, shape)
        setattr(hmm, f"{name}_logprob_", table.reshape(shapes[name]))
    hmm.n_features_in_ = len(vocabularies)
    hmm.n_iter_ = natural(n_iter, "n_iter")
    if "n_parameters" in stored:
        if not isinstance(hmm, BaseInformationCriteria):
            raise ModelFileError("this model does not count its parameters")
        hmm.n_parameters_ = natural(stored["n_parameters"], "n_parameters")
    hmm.vocabulary_ = [None if values is None else _vocabulary(values) for values in vocabularies]
    hmm.emission_logprob_ = [
        None if values is None else _emission(arrays, f"{where}emission/{s}", K, len(values))
        for s, values in enumerate(hmm.vocabulary_)
    ]
    _read_kinds(hmm, stored)
    _read_gaussians(hmm, stored, arrays, where)
    _read_counts(hmm, stored, arrays, where)
    hmm.loss_curve_ = arrays.take(where + "loss_curve", np.float64).tolist()
    hmm._names_in = shared.get(names, np.ndarray)
    if hmm._names_in is not None and len(hmm._names_in) != hmm.n_features_in_:
        raise ModelFileError(f"{len(hmm._names_in)} names for {hmm.n_features_in_} streams")


def _read_kinds(hmm: Any, stored: dict[str, Any]) -> None:
    """How each stream is distributed; files of earlier versions do not say it."""
    if "emissions" not in stored:
        return
    if not all(isinstance(kind, str) for kind in stored["emissions"]):
        raise ModelFileError(f"emissions must be a list of {len(hmm.vocabulary_)} known kinds")
    try:
        set_kinds(hmm, stored["emissions"])
    except ValueError as error:
        raise ModelFileError(str(error)) from error


def _read_counts(hmm: Any, stored: dict[str, Any], arrays: Arrays, where: str) -> None:
    if "n_trials" in stored:
        hmm.n_trials_ = natural(stored["n_trials"], "n_trials")
    checked = (("rates", "poisson", check_rates), ("count_logprob", "multinomial", check_outcomes))
    for name, kind, check in checked:
        shape = (len(hmm.classes_), n_streams(hmm, kind))
        table = arrays.take(where + name, np.float64, 2) if shape[1] else np.empty(shape)
        try:
            setattr(hmm, f"{name}_", check(table, shape))
        except ValueError as error:
            raise ModelFileError(str(error)) from error


def _read_gaussians(hmm: Any, stored: dict[str, Any], arrays: Arrays, where: str) -> None:
    kind = stored.get("covariance_type", "diag")
    if not checks.is_allowed(hmm, "covariance_type", kind, usual="diag"):
        raise ModelFileError(f"no hidden Markov model has covariances of the type {kind!r}")
    K = len(hmm.classes_)
    d = n_streams(hmm, "gaussian")
    take_optional(hmm, stored, "covariance_type")
    name = "variances" if kind == "diag" else "covariances"
    hmm.mixture_logprob_ = np.zeros((K, 1))
    shape: tuple[int, ...] = (K, d)
    wanted = covariance_shape(kind, K, d)
    if d and where + "mixture_logprob" in arrays:
        hmm.mixture_logprob_ = arrays.take(where + "mixture_logprob", np.float64, 2)
        M = hmm.mixture_logprob_.shape[1]
        shape = (K, M, d)
        wanted = mixture_shape(kind, K, M, d)
    hmm.means_ = np.empty(shape)
    hmm.covariances_ = np.ones(wanted)
    hmm.autoregression_ = no_lags(K, d)
    if d and where + "autoregression" in arrays:
        lags = arrays.take(where + "autoregression", np.float64, 2)
        if lags.shape[1] != d or len(lags) % (K * d):
            raise ModelFileError(f"autoregression has the shape {lags.shape}")
        hmm.autoregression_ = lags.reshape(K, -1, d, d)
    if d:
        hmm.means_ = _numbers(arrays, where + "means", (math.prod(shape[:-1]), d)).reshape(shape)
        in_file = (math.prod(wanted[:-1]), wanted[-1]) if len(wanted) > 2 else wanted
        hmm.covariances_ = _numbers(arrays, where + name, in_file).reshape(wanted)
    if kind == "diag" and np.any(hmm.covariances_ <= 0):
        raise ModelFileError("variances must be positive")
    try:
        check_covariances(hmm.covariances_, kind, shape)
        check_coefficients(hmm.autoregression_, shape) if hmm.autoregression_.size else None
        check_weights(hmm.mixture_logprob_, (K, hmm.mixture_logprob_.shape[1]))
    except ValueError as error:
        raise ModelFileError(str(error)) from error


def _numbers(arrays: Arrays, name: str, shape: tuple[int, ...]) -> np.ndarray:
    numbers = arrays.take(name, np.float64, len(shape))
    if numbers.shape != shape or not np.all(np.isfinite(numbers)):
        raise ModelFileError(f"{name} must have finite numbers of shape {shape}")
    return numbers


def _emission(arrays: Arrays, name: str, K: int, n_values: int) -> np.ndarray:
    """A table with a column for each value, and perhaps one for others."""
    # a column for all other values, where the model has one
    more = name in arrays and arrays[name].shape == (K, n_values + 1)
    return checks.log_probabilities(arrays, name, (K, n_values + more))


def _vocabulary(stored: Json) -> dict[Any, int]:
    values = restore(stored)
    try:
        codes = {value: code for code, value in enumerate(values)}
    except TypeError as error:
        raise ModelFileError("a vocabulary has values that cannot be looked up") from error
    if not isinstance(values, list) or len(codes) != len(values):
        raise ModelFileError("a vocabulary must be a list of different values")
    return codes
