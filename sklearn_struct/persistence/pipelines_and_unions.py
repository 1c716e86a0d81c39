"""Estimators that consist of others to JSON, and back: pipelines, unions, and what wraps a single
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import FeatureUnion, Pipeline

from sklearn_struct.encoding.features.vectorizer import SequenceVectorizer
from sklearn_struct.estimators.chains.linear_chain_crf import LinearChainCRF
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.nested_estimators import estimator, put_estimator
from sklearn_struct.persistence.plain_values import Json, fields, natural, plain, restore

__all__ = [
    "check_inner",
    "check_pipeline",
    "check_union",
    "drop_in",
    "pipeline",
    "put_drop_in",
    "put_pipeline",
    "put_token_transformer",
    "put_union",
    "token_transformer",
    "union",
]

OPTIONAL = (int, type(None))
# as many as have numbers in int32
WIDEST = 2**31  # columns that a transformer may say that it gives


def put_pipeline(pipeline: Pipeline, where: str, shared: Shared) -> list[Any]:
    for name in ("memory", "transform_input"):
        if getattr(pipeline, name, None) is not None:
            raise InputTypeError(f"a pipeline's {name} cannot be saved; set it to None")
    return _put_parts(pipeline.steps, f"{where}step ", shared)


def pipeline(restored: Pipeline, stored: Json, where: str, shared: Shared) -> None:
    restored.steps = _parts(stored, f"{where}step ", shared)
    check_pipeline(restored)


def check_pipeline(restored: Pipeline) -> None:
    """Refuse steps of which scikit-learn could not make use."""
    for name in ("memory", "transform_input"):
        if getattr(restored, name, None) is not None:
            raise ModelFileError(f"a pipeline's {name} must be None")
    # also steps that are parameters, whose file may say what no `fit` ever saw
    _check_parts(restored.steps)
    for _, step in restored.steps[:-1]:
        if step != "passthrough" and not hasattr(step, "transform"):
            raise ModelFileError("a model must be the last step of a pipeline")
    last = restored.steps[-1][1]
    # scikit-learn would fail at the first prediction
    if last == "drop":
        raise ModelFileError("the last step of a pipeline cannot be dropped")


def put_union(union: FeatureUnion, where: str, shared: Shared) -> list[Any]:
    return _put_parts(union.transformer_list, f"{where}part ", shared)


def union(restored: FeatureUnion, stored: Json, where: str, shared: Shared) -> None:
    restored.transformer_list = _parts(stored, f"{where}part ", shared)
    check_union(restored)


def check_union(restored: FeatureUnion) -> None:
    """Refuse transformers of which scikit-learn could not make use."""
    _check_parts(restored.transformer_list)
    if not all(
        isinstance(part, str) or hasattr(part, "transform") for _, part in restored.transformer_list
    ):
        raise ModelFileError("a union is one of transformers")
    if all(isinstance(part, str) and part == "drop" for _, part in restored.transformer_list):
        raise ModelFileError("a union has no transformer")


def _put_parts(
    parts: Sequence[tuple[str, BaseEstimator | str]], where: str, shared: Shared
) -> list[Any]:
    return [
        [
            plain(name, "steps"),
            part if isinstance(part, str) else put_estimator(part, f"{where}{i}/", shared),
        ]
        for i, (name, part) in enumerate(parts)
    ]


def _parts(stored: Json, where: str, shared: Shared) -> list[tuple[str, Any]]:
    """Names and fitted estimators, or strings that stand for some."""
    if type(stored) is not list or not all(
        type(part) is list and len(part) == 2 for part in stored
    ):
        raise ModelFileError("its parts are pairs of a name and an estimator")
    return [
        (restore(name), part if isinstance(part, str) else estimator(part, f"{where}{i}/", shared))
        for i, (name, part) in enumerate(stored)
    ]


def _check_parts(parts: Sequence[tuple[str, BaseEstimator | str]]) -> None:
    """Pairs of different names and estimators, or strings that stand for some; at least one."""
    if not isinstance(parts, list | tuple) or not parts:
        raise ModelFileError("its parts are a list of pairs of a name and an estimator")
    for part in parts:
        if not isinstance(part, list | tuple) or len(part) != 2 or not isinstance(part[0], str):
            raise ModelFileError("its parts are pairs of a name and an estimator")
        if part[1] not in ("passthrough", "drop") and not _is_estimator(part[1]):
            raise ModelFileError("its parts are estimators, or 'passthrough'")
    names = [name for name, _ in parts]
    # at two underscores scikit-learn parts a step's name from that of its parameter
    if len(set(names)) < len(names) or any("__" in name for name in names):
        raise ModelFileError("the names of parts must differ, without two underscores")


def _is_estimator(part: object) -> bool:
    return isinstance(part, BaseEstimator)


# ---- one inside another


def check_inner(wrapper: BaseEstimator) -> None:
    """Refuse a wrapper around what is no transformer."""
    inner = wrapper.transformer
    if not _is_estimator(inner) or not hasattr(inner, "fit") or not hasattr(inner, "transform"):
        raise ModelFileError("it must have an estimator that transforms")


def put_token_transformer(wrapper: BaseEstimator, where: str, shared: Shared) -> dict[str, Any]:
    return {
        "transformer": put_estimator(wrapper.transformer_, where + "transformer/", shared),
        "n_features_out": int(wrapper.n_features_out_),
        "names": shared.put(wrapper._names_in),
    }


def token_transformer(wrapper: Any, stored: Any, where: str, shared: Shared) -> None:
    kinds = {"transformer": dict, "n_features_out": int, "names": OPTIONAL}
    inner, n_features_out, names = fields(stored, "the transformer", **kinds)
    wrapper.transformer_ = estimator(inner, where + "transformer/", shared)
    if not hasattr(wrapper.transformer_, "transform"):
        raise ModelFileError("it must have an estimator that transforms")
    wrapper.n_features_out_ = natural(n_features_out, "n_features_out")
    if wrapper.n_features_out_ >= WIDEST:
        raise ModelFileError(f"there are no {n_features_out} features")
    wrapper._names_in = shared.get(names, np.ndarray)


def put_drop_in(crf: BaseEstimator, where: str, shared: Shared) -> dict[str, Any]:
    """The interface of another library around a pipeline."""
    return {"pipeline": put_estimator(crf.crf_, where + "pipeline/", shared)}


def drop_in(crf: BaseEstimator, stored: Json, where: str, shared: Shared) -> None:
    [inner] = fields(stored, "the model", pipeline=dict)
    model = estimator(inner, where + "pipeline/", shared)
    steps = [type(step) for _, step in model.steps] if isinstance(model, Pipeline) else []
    if steps != [SequenceVectorizer, LinearChainCRF]:
        raise ModelFileError("it must have a vectorizer and a chain")
    crf._crf = model
