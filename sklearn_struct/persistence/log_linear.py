"""Log-linear models to JSON and arrays, and back with every check."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sklearn_struct.containers.csr import CSR, csr
from sklearn_struct.encoding.features.input_label_products import ProductFeatures
from sklearn_struct.estimators.log_linear.input_forms import FunctionForm, PairForm, ProductForm
from sklearn_struct.estimators.log_linear.log_linear_classifier import LogLinearClassifier
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.encoders import Shared, put_vectorizer, vectorizer
from sklearn_struct.persistence.plain_values import Json, fields, labels, natural, put_labels

__all__ = ["joint", "put_joint"]

OPTIONAL = (int, type(None))
FORMS = {PairForm: "table", ProductForm: "products", FunctionForm: "function"}


def put_joint(model: LogLinearClassifier, where: str, shared: Shared) -> dict[str, Any]:
    form = model._form
    arrays = shared.arrays
    kind = FORMS[type(model._form)]
    other = _changed(model)
    if other:
        raise InputTypeError(f"{other} are others than in fit; fit again before you save")
    arrays[where + "w"] = np.asarray(model._w, np.float64)
    arrays[where + "loss_curve"] = np.array(model.loss_curve_, np.float64)
    return {
        "labels": put_labels(arrays, where + "labels", model.classes_),
        "form": kind,
        "fit_intercept": bool(form.fit_intercept),
        "learned": PUT[kind](model, where, shared),
        "n_iter": int(model.n_iter_),
    }


def _changed(model: LogLinearClassifier) -> str:
    """The first parameter that is not what the model was fitted with; "" if there is none."""
    form = model._form
    used = {name: getattr(form, name, None) for name in ("features", "candidates")}
    used["n_features"] = None if isinstance(form, PairForm) else form.vectorizer.n_features
    return next(
        (name for name, value in used.items() if not _same(getattr(model, name), value)), ""
    )


def _same(parameter: object, used: object) -> bool:
    """Whether a parameter is still what the model was fitted with, which has a copy of
    ProductFeatures.
    """
    if isinstance(used, ProductFeatures):
        return type(parameter) is type(used) and all(
            _same(value, vars(used).get(name)) for name, value in vars(parameter).items()
        )
    return parameter is used or (
        isinstance(used, int | str) and isinstance(parameter, int | str) and parameter == used
    )


def joint(model: Any, stored: dict[str, Any], where: str, shared: Shared) -> None:
    kinds = {
        "labels": (str, list),
        "form": str,
        "fit_intercept": bool,
        "learned": dict,
        "n_iter": int,
    }
    _, kind, fit_intercept, learned, n_iter = fields(stored, "the model", **kinds)
    right = {
        "table": model.features is None,
        "products": isinstance(model.features, ProductFeatures),
    }
    if not right.get(kind, kind == "function" and callable(model.features)):
        raise ModelFileError(
            f"{kind[:50]!r} is not the form of a model with features={model.features!r}"
        )
    model.classes_ = labels(shared.arrays, where + "labels", stored["labels"])
    model._form, size = GET[kind](model, fit_intercept, learned, where, shared)
    other = _changed(model)
    if other:
        raise ModelFileError(
            f"a model with {other}={getattr(model, other)!r} is none of {kind[:50]!r}"
        )
    model._w = checks.weights(shared.arrays, where + "w", size)
    model.n_iter_ = natural(n_iter, "n_iter")
    model.loss_curve_ = shared.arrays.take(where + "loss_curve", np.float64).tolist()


# ---- tables


def _put_table(model: LogLinearClassifier, where: str, shared: Shared) -> dict[str, Any]:
    return {
        "n_features": int(model.n_features_in_),
        "names": shared.put(vars(model).get("feature_names_in_")),
    }


def _table(
    model: LogLinearClassifier, fit_intercept: bool, stored: Json, where: str, shared: Shared
) -> tuple[PairForm, int]:
    n_features, names = fields(stored, "a table", n_features=int, names=OPTIONAL)
    model.n_features_in_ = natural(n_features, "n_features")
    K = len(model.classes_)
    if names is not None:
        model.feature_names_in_ = shared.get(names, np.ndarray)
        if len(model.feature_names_in_) != n_features:
            raise ModelFileError(f"{len(model.feature_names_in_)} names for {n_features} features")
    return PairForm(K, fit_intercept), (n_features + fit_intercept) * K


# ---- products


def _put_products(model: Any, where: str, shared: Shared) -> dict[str, Any]:
    form = model._form
    arrays = shared.arrays
    checks.put_pairs(arrays, where + "kept", form.kept)
    if form.spread is not None:
        checks.put_pairs(arrays, where + "pairs", form.pairs)
        checks.put_pairs(arrays, where + "spread", form.spread)
        arrays[where + "spread/data"] = np.asarray(form.spread.data, np.float64)
    encoders = {"context": form.vectorizer, "label": form.label_vectorizer}
    return {name: put_vectorizer(encoder, where, shared) for name, encoder in encoders.items()} | {
        "spread": form.spread is not None
    }


def _products(
    model: Any, fit_intercept: bool, stored: dict[str, Any], where: str, shared: Shared
) -> tuple[ProductForm, int]:
    fields(stored, "products", context=dict, label=dict, spread=bool)
    K = len(model.classes_)
    arrays = shared.arrays
    # made as in `fit`, then filled with what the file has
    form = ProductForm(model.features, model.classes_, fit_intercept, model.min_frequency)
    for encoder, name in ((form.vectorizer, "context"), (form.label_vectorizer, "label")):
        vectorizer(encoder, stored[name], where, shared)
    n = form.vectorizer.n_features_out_
    n_parts = form.label_vectorizer.n_features_out_
    kept = checks.pairs(arrays, where + "kept", n, n_parts)
    form.kept = _matrix(kept, np.ones(len(kept.indices)), n_parts)
    form.pairs = csr(form.kept)
    form.spread = None
    if stored["spread"]:
        form.pairs = checks.pairs(arrays, where + "pairs", n, K)
        spread = checks.pairs(arrays, where + "spread", len(form.pairs.indices), form.kept.nnz)
        data = checks.weights(arrays, where + "spread/data", len(spread.indices))
        form.spread = _matrix(spread, data, form.kept.nnz)
    elif n_parts != K:
        raise ModelFileError(f"{n_parts} parts of labels are not {K} labels")
    return form, form.kept.nnz + K * fit_intercept


def _matrix(pattern: CSR, data: np.ndarray, width: int) -> sp.csr_array:
    return sp.csr_array(
        (data, pattern.indices, pattern.indptr), shape=(len(pattern.indptr) - 1, width)
    )


# ---- any function


def _put_function(model: Any, where: str, shared: Shared) -> dict[str, Any]:
    form = model._form
    shared.arrays[where + "columns"] = np.asarray(form.columns, np.int64)
    shared.arrays[where + "with_intercept"] = np.asarray(form.labels, np.int64)
    return {
        "hashed": form.vectorizer.n_features is not None,
        "encoder": put_vectorizer(form.vectorizer, where, shared),
    }


def _function(
    model: Any, fit_intercept: bool, stored: Any, where: str, shared: Shared
) -> tuple[FunctionForm, int]:
    hashed, encoder = fields(stored, "a function", hashed=bool, encoder=dict)
    n_features = encoder.get("n_features_out") if hashed else None
    if n_features != model.n_features or hashed != (model.n_features is not None):
        raise ModelFileError(
            f"features of n_features={model.n_features} cannot be hashed into {n_features!r} "
            "columns"
        )
    selection = model.min_frequency, n_features
    form = FunctionForm(model.features, model.candidates, model.classes_, fit_intercept, selection)
    vectorizer(form.vectorizer, encoder, where, shared)
    form.columns = checks.ascending(
        shared.arrays, where + "columns", form.vectorizer.n_features_out_
    )
    form.labels = checks.ascending(shared.arrays, where + "with_intercept", len(model.classes_))
    if len(form.labels) and not fit_intercept:
        raise ModelFileError("there are intercepts, which the model has not")
    return form, len(form.columns) + len(form.labels)


PUT = {"table": _put_table, "products": _put_products, "function": _put_function}
GET: dict[str, Any] = {"table": _table, "products": _products, "function": _function}
