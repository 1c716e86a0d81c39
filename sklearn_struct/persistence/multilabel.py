"""What MultiLabelCRF has learned, in a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.encoding.graphs import EDGES
from sklearn_struct.estimators.fitting.prepared_weights import Prepared
from sklearn_struct.estimators.graphs.base_graph import Template
from sklearn_struct.estimators.graphs.clique_features import CliqueFeatures
from sklearn_struct.estimators.multilabel.base_multilabel import pattern_of
from sklearn_struct.estimators.multilabel.multilabel_crf import MultiLabelCRF
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.chains import SOLVER_FIELDS, put_solver, take_solver
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.graphs import put_convergence, take_convergence
from sklearn_struct.persistence.nested_estimators import estimator, put_estimator
from sklearn_struct.persistence.plain_values import (
    Arrays,
    fields,
    labels,
    natural,
    optional,
    put_labels,
    put_optional,
    take_optional,
)

__all__ = ["multilabel", "put_multilabel"]

OPTIONAL = (int, type(None))
FITTED = (dict, type(None))


def put_multilabel(model: MultiLabelCRF, where: str, shared: Shared) -> dict[str, Any]:
    has = vars(model)
    pattern = model._pattern
    arrays = shared.arrays
    columns = [model.classes_] if model._one else model.classes_
    arrays[where + "w"] = np.asarray(model._w, np.float64)
    # flat, as there may be none
    arrays[where + "edges"] = np.asarray(model.edges_, np.int64).ravel()
    arrays[where + "loss_curve"] = np.array(model.loss_curve_, np.float64)
    fitted = None
    if model.estimators_ is not None:
        fitted = [
            None if one is None else put_estimator(one, f"{where}label {j}/", shared)
            for j, one in enumerate(model.estimators_)
        ]
    return {
        "labels": [
            put_labels(arrays, f"{where}label {j}", values) for j, values in enumerate(columns)
        ],
        "one": bool(model._one),
        "n_features": int(pattern.n_features),
        "n_features_in": has.get("n_features_in_"),
        "fit_intercept": bool(pattern.fit_intercept),
        "names": shared.put(has.get("_names_in")),
        "estimators": fitted,
        "n_iter": int(model.n_iter_),
        "t": int(model.t_),
        **put_convergence(model),
        **put_optional(model, "rows_in"),
        **put_solver(model),
    }


def multilabel(model: MultiLabelCRF, stored: dict[str, Any], where: str, shared: Shared) -> None:
    kinds: dict[str, Any] = {"labels": list, "one": bool, "n_features": int}
    kinds |= {"n_features_in": OPTIONAL, "fit_intercept": bool, "names": OPTIONAL}
    kinds |= {"estimators": (list, type(None)), "n_iter": int, "t": int}
    kinds |= {"converged": bool, "inference_report": dict}
    kinds |= optional(stored, rows_in=bool, **SOLVER_FIELDS)
    fields(stored, "the model", **kinds)
    arrays = shared.arrays
    columns = [
        labels(arrays, f"{where}label {j}", values) for j, values in enumerate(stored["labels"])
    ]
    n = len(columns)
    if not n or max(map(len, columns)) > 2 or (stored["one"] and n > 1):
        raise ModelFileError(f"{n} labels of at most two values each cannot be these")
    model._one = stored["one"]
    model.classes_ = columns[0] if stored["one"] else columns
    model.edges_ = _edges(arrays, where, n)
    n_features = natural(stored["n_features"], "n_features")
    by_estimator = stored["estimators"] is not None
    if by_estimator and n_features != n:
        raise ModelFileError(f"{n} labels have a value each, not {n_features}")
    model._pattern = pattern_of(
        n, n_features, len(model.edges_), by_estimator, stored["fit_intercept"]
    )
    model._w = checks.weights(arrays, where + "w", model._pattern.size)
    checks.fit_into(model._w, model.dtype, where + "w")
    model._prepared = Prepared()
    model._stream = None
    model.templates_ = {EDGES: Template(2, False, CliqueFeatures(EDGES))}
    model.templates_[EDGES].features.width = len(model.edges_)
    model.loss_curve_ = arrays.take(where + "loss_curve", np.float64).tolist()
    model.n_iter_ = natural(stored["n_iter"], "n_iter")
    model.t_ = natural(stored["t"], "t")
    _read_estimators(model, stored, where, shared)
    _name_features(model, stored, shared)
    take_convergence(model, stored)
    take_optional(model, stored, "rows_in")
    take_solver(model, stored)


def _edges(arrays: Arrays, where: str, n: int) -> np.ndarray:
    flat = arrays.take(where + "edges", np.int64, 1)
    if len(flat) % 2 or np.any(flat < 0) or np.any(flat >= n):
        raise ModelFileError(f"{where}edges must be pairs of numbers below {n}")
    edges: np.ndarray = flat.reshape(-1, 2)
    if np.any(edges[:, 0] >= edges[:, 1]) or len(np.unique(edges, axis=0)) < len(edges):
        raise ModelFileError(f"{where}edges must be different pairs in order")
    return edges


def _read_estimators(
    model: MultiLabelCRF, stored: dict[str, Any], where: str, shared: Shared
) -> None:
    filed = stored["estimators"]
    if filed is None:
        model.estimators_ = None
        return
    if len(filed) != len(stored["labels"]):
        raise ModelFileError(f"{len(filed)} estimators of {len(stored['labels'])} labels")
    if model.estimator is None:
        raise ModelFileError("there are estimators of labels, but no parameter estimator")
    model.estimators_ = []
    for j, one in enumerate(filed):
        if not isinstance(one, FITTED):
            raise ModelFileError(f"label {j} has no estimator, but a {type(one).__name__}")
        read = None if one is None else estimator(one, f"{where}label {j}/", shared)
        if read is not None and type(read) is not type(model.estimator):
            raise ModelFileError(f"label {j} has an estimator of another kind")
        model.estimators_.append(read)


def _name_features(model: MultiLabelCRF, stored: dict[str, Any], shared: Shared) -> None:
    names = shared.get(stored["names"])
    n = stored["n_features_in"]
    if n is not None:
        model.n_features_in_ = natural(n, "n_features_in")
    n_names = n if names is None else len(names)
    if n_names != n or (stored["estimators"] is None and n != stored["n_features"]):
        raise ModelFileError(f"{n_names} names for {n} features")
    model._names_in = names
