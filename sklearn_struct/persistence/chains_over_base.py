"""Chains over a base distribution to JSON and arrays, and back; their parts must fit together."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from sklearn_struct.containers.structures import clique_sizes
from sklearn_struct.encoding.features.template_windows import texts
from sklearn_struct.encoding.features.templates import FeatureTemplates
from sklearn_struct.estimators.hidden_markov.hmm import HMM
from sklearn_struct.estimators.m_estimation.distant_features import read_templates
from sklearn_struct.exceptions import InputTypeError, ModelFileError
from sklearn_struct.hidden_markov.markov_chain import order_of
from sklearn_struct.objectives.distant_pairs import pair_numbers
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.chains import put_chain, read_chain
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.nested_estimators import estimator, put_estimator
from sklearn_struct.persistence.plain_values import Json, fields, optional

__all__ = ["based", "put_based"]


def put_based(model: BaseEstimator, where: str, shared: Shared) -> dict[str, Any]:
    _check_parts(model)
    encoder = model.features_
    arrays = shared.arrays
    arrays[where + "inputs"] = np.asarray(model.input_coef_, np.float64)
    arrays[where + "constant"] = np.array([model.constant_], np.float64)
    return {  # the encoder first: what spells out its names is known by them
        "features": None
        if encoder is None
        else put_estimator(encoder, where + "features/", shared),
        "base": put_estimator(model.base_, where + "base/", shared),
        "chain": put_chain(model, where, shared),
        **_put_distant(model, where, shared),
    }


def based(model: BaseEstimator, stored: Json, where: str, shared: Shared) -> None:
    kinds = {"features": (dict, type(None)), "base": dict, "chain": dict}
    # of models without pairs, and of earlier versions, there is nothing
    if isinstance(stored, dict):
        kinds |= optional(stored, distant=dict)
    encoder, base, chain, *distant = fields(stored, "the model", **kinds)
    model.features_ = None if encoder is None else estimator(encoder, where + "features/", shared)
    model.base_ = estimator(base, where + "base/", shared)
    # after the base and the encoder, which its names may refer to
    read_chain(model, chain, where, shared)
    arrays = shared.arrays
    n_inputs = model.n_features_in_ if np.size(arrays.get(where + "inputs", ())) else 0
    model.input_coef_ = checks.weights(arrays, where + "inputs", n_inputs)
    model.constant_ = float(checks.weights(arrays, where + "constant", 1)[0])
    _check_based(model)
    model.distant_pairs_ = None
    model.distant_coef_ = np.empty(0)
    if distant:
        _read_distant(model, distant[0], where, shared)
    # the parameter and what was learned are one model, as before it was saved
    if isinstance(model.base, FrozenEstimator):
        model.base = FrozenEstimator(model.base_)


def _put_distant(model: BaseEstimator, where: str, shared: Shared) -> dict[str, Any]:
    """Pairs of tokens at any distance, where a model has weights of such."""
    distant = model.distant_pairs_
    if distant is None:
        return {}
    shared.arrays[where + "pairs"] = np.asarray(distant.pairs.ravel(), np.int64)
    shared.arrays[where + "distant"] = np.asarray(model.distant_coef_, np.float64)
    return {
        "distant": {
            "encoder": put_estimator(distant.encoder, where + "distant/", shared),
            "templates": [list(pair) for pair in distant.templates],
        }
    }


def _read_distant(model: Any, stored: Json, where: str, shared: Shared) -> None:
    read, templates = fields(stored, "distant pairs", encoder=dict, templates=list)
    encoder = estimator(read, where + "distant/", shared)
    numbers = shared.arrays.take(where + "pairs", np.int64)
    model.distant_coef_ = checks.weights(shared.arrays, where + "distant", len(numbers) // 4)
    try:
        distant = read_templates(templates)
    except ValueError as error:
        raise ModelFileError(str(error)) from None
    K = len(model.classes_)
    if (
        distant is None
        or type(encoder) is not FeatureTemplates
        or encoder.n_columns_ != len(model.base_.vocabulary_)
        or texts(encoder) != distant.encoder.templates
    ):
        raise ModelFileError("distant pairs are not of the templates that encode them")
    pairs = numbers.reshape(-1, 4) if len(numbers) % 4 == 0 else np.empty((0, 4), np.int64)
    ends = np.array([encoder.n_features_out_, K, encoder.n_features_out_, K])
    steps = np.diff(pair_numbers(pairs, encoder.n_features_out_, K))
    if len(numbers) % 4 or np.any((pairs < 0) | (pairs >= ends)) or np.any(steps <= 0):
        raise ModelFileError("distant pairs must be ascending, of known features and labels")
    model.distant_pairs_ = distant._replace(encoder=encoder, pairs=pairs)


def _check_parts(model: BaseEstimator) -> None:
    """Refuse to save other bases than hidden Markov models, and other features than templates and
    numbers.

    Raises
    ------
    InputTypeError
    """
    if type(model.base_) is not HMM:
        raise InputTypeError(
            f"a model over a {type(model.base_).__name__} cannot be saved; over an HMM it can"
        )
    if type(model.features_) not in (FeatureTemplates, type(None)):
        raise InputTypeError(
            f"features of a {type(model.features_).__name__} cannot be saved; FeatureTemplates can"
        )
    if isinstance(model.base, FrozenEstimator) and model.base.estimator is not model.base_:
        raise InputTypeError(
            "the frozen base is another one than in fit; fit again before you save"
        )


def _check_based(model: BaseEstimator) -> None:
    """Refuse a model whose base and features are not those of its weights.

    Raises
    ------
    ModelFileError
    """
    base = model.base_
    encoder = model.features_
    if type(base) is not HMM or type(encoder) not in (FeatureTemplates, type(None)):
        raise ModelFileError("a base must be an HMM, and features those of FeatureTemplates")
    if (
        base.classes_.dtype != model.classes_.dtype
        or base.classes_.tolist() != model.classes_.tolist()
    ):
        raise ModelFileError("the base has other labels than the model")
    # a family that the base scores and the model lacks
    if set(clique_sizes(order_of(base.transition_logprob_))) - {
        family.size for family in model._pattern.families
    }:
        raise ModelFileError("a model of order 1 has a base of order 2")
    if model._stream is not None or hasattr(model, "vectorizer_"):
        raise ModelFileError("a model over a base has neither a stream nor a vectorizer")
    _check_features(model, len(base.vocabulary_))


def _check_features(model: BaseEstimator, n_streams: int) -> None:
    """The features of the model are those that templates, or streams of numbers, give."""
    base = model.base_
    encoder = model.features_
    names = model._names_in
    if encoder is None:
        of_numbers = base.vocabulary_.count(None) == n_streams == model.n_features_in_
        if not of_numbers or not isinstance(names, np.ndarray | None):
            raise ModelFileError(
                f"{n_streams} streams are not the {model.n_features_in_} features of the model"
            )
        return
    if encoder.n_columns_ != n_streams or encoder.n_features_out_ != model.n_features_in_:
        raise ModelFileError(
            f"templates give {encoder.n_features_out_} features of {encoder.n_columns_} columns, "
            f"the model has {model.n_features_in_} of {n_streams}"
        )
    if names is not encoder._learnt and not (
        base._kind == "numbers" and isinstance(names, np.ndarray | None)
    ):
        raise ModelFileError("the templates do not give the names of the model's features")
