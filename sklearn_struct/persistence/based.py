"""Whether the parts of a model over a base distribution can be saved, and fit together when they are read."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from sklearn_struct.encoding.templates import FeatureTemplates
from sklearn_struct.estimators.hmm import HMM
from sklearn_struct.exceptions import InputTypeError, ModelFileError

__all__ = ["check_based", "check_parts"]


def check_parts(model: Any) -> None:
    """Refuse to save other bases than hidden Markov models, and other features than templates and numbers.

    Raises
    ------
    InputTypeError
    """
    if type(model.base_) is not HMM:
        raise InputTypeError(f"a model over a {type(model.base_).__name__} cannot be saved; over an HMM it can")
    if type(model.features_) not in (FeatureTemplates, type(None)):
        raise InputTypeError(f"features of a {type(model.features_).__name__} cannot be saved; FeatureTemplates can")
    if isinstance(model.base, FrozenEstimator) and model.base.estimator is not model.base_:
        raise InputTypeError("the frozen base is another one than in fit; fit again before you save")


def check_based(model: Any) -> None:
    """Refuse a model whose base and features are not those of its weights.

    Raises
    ------
    ModelFileError
    """
    base, encoder = model.base_, model.features_
    if type(base) is not HMM or type(encoder) not in (FeatureTemplates, type(None)):
        raise ModelFileError("a base must be an HMM, and features those of FeatureTemplates")
    if base.classes_.dtype != model.classes_.dtype or base.classes_.tolist() != model.classes_.tolist():
        raise ModelFileError("the base has other labels than the model")
    if base.transition_logprob_.ndim - 1 > model._pattern.order:
        raise ModelFileError("a model of order 1 has a base of order 2")
    if model._stream is not None or hasattr(model, "vectorizer_"):
        raise ModelFileError("a model over a base has neither a stream nor a vectorizer")
    _check_features(model, len(base.vocabulary_))


def _check_features(model: Any, n_streams: int) -> None:
    """The features of the model are those that templates, or streams of numbers, give."""
    base, encoder, names = model.base_, model.features_, model._names_in
    if encoder is None:
        of_numbers = base.vocabulary_.count(None) == n_streams == model.n_features_in_
        if not of_numbers or not isinstance(names, np.ndarray | None):
            raise ModelFileError(f"{n_streams} streams are not the {model.n_features_in_} features of the model")
        return
    if encoder.n_columns_ != n_streams or encoder.n_features_out_ != model.n_features_in_:
        raise ModelFileError(
            f"templates give {encoder.n_features_out_} features of {encoder.n_columns_} columns, "
            f"the model has {model.n_features_in_} of {n_streams}"
        )
    if names is not encoder._learnt and not (base._kind == "numbers" and isinstance(names, np.ndarray | None)):
        raise ModelFileError("the templates do not give the names of the model's features")
