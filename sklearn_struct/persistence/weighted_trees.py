"""Log-linear models of trees over a grammar to JSON and arrays, and back with every check."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from sklearn_struct.estimators.trees.base_parser import BaseParser
from sklearn_struct.estimators.trees.pcfg import PCFG
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.grammars.fragments import TEMPLATES, Fragments, exist
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.nested_estimators import estimator, put_estimator
from sklearn_struct.persistence.plain_values import Json, fields, natural

__all__ = ["put_weighted", "weighted"]


def put_weighted(parser: BaseParser, where: str, shared: Shared) -> dict[str, Any]:
    if type(parser.base_) is not PCFG:
        raise InputTypeError(
            f"a model over a {type(parser.base_).__name__} cannot be saved; over a PCFG it can"
        )
    is_frozen = isinstance(parser.base, FrozenEstimator)
    if parser.base_._model is not parser._model or (
        is_frozen and parser.base.estimator is not parser.base_
    ):
        raise InputTypeError("the base is another one than in fit; fit again before you save")
    arrays = shared.arrays
    for j, codes in enumerate(parser._fragments.codes):
        arrays[f"{where}fragments/{j}"] = np.asarray(codes, np.int64)
    arrays[where + "w"] = np.asarray(parser.coef_, np.float64)
    arrays[where + "constant"] = np.array([parser.constant_], np.float64)
    arrays[where + "loss_curve"] = np.array(parser.loss_curve_, np.float64)
    return {
        "base": put_estimator(parser.base_, where + "base/", shared),
        "templates": list(parser._fragments.templates),
        "per_node": bool(parser._per_node),
        "n_iter": int(parser.n_iter_),
    }


def weighted(parser: BaseParser, stored: Json, where: str, shared: Shared) -> None:
    kinds = {"base": dict, "templates": list, "per_node": bool, "n_iter": int}
    of_base, templates, parser._per_node, n_iter = fields(stored, "the model", **kinds)
    parser.base_ = base = estimator(of_base, where + "base/", shared)
    if type(base) is not PCFG:
        raise ModelFileError("the base of weighted trees must be a PCFG")
    if not all(template in TEMPLATES for template in templates):
        raise ModelFileError("there are templates that do not exist")
    parser._codes = base._codes
    parser._model = base._model
    parser._tag_counts = base._tag_counts
    parser.symbols_ = base.symbols_
    parser.tags_ = base.tags_
    arrays = shared.arrays
    largest = np.iinfo(np.int64).max
    codes = [
        checks.ascending(arrays, f"{where}fragments/{j}", largest) for j in range(len(templates))
    ]
    parser._fragments = Fragments(tuple(templates), tuple(codes))
    if not exist(parser._fragments, parser._model):
        raise ModelFileError(f"{where}fragments: there are pieces that no tree has")
    parser.coef_ = checks.weights(arrays, where + "w", parser._fragments.size)
    parser.constant_ = float(checks.weights(arrays, where + "constant", 1)[0])
    parser.n_iter_ = natural(n_iter, "n_iter")
    parser.loss_curve_ = arrays.take(where + "loss_curve", np.float64).tolist()
    if isinstance(parser.base, FrozenEstimator):
        parser.base = FrozenEstimator(base)
