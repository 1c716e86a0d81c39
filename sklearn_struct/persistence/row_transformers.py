"""scikit-learn's transformers of tables to JSON and arrays, and back with every check."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Json, fields, natural, plain, restore

__all__ = ["LEARNED", "put_rows", "rows"]

OPTIONAL = (int, type(None))
OF_FEATURES, OF_COMPONENTS, OF_BOTH, NUMBER, N_COMPONENTS = range(5)  # shapes of what is learned
COUNT = {"n_samples_seen_": NUMBER}  # a number, or one for each feature
SVD = dict.fromkeys(
    ("explained_variance_", "explained_variance_ratio_", "singular_values_"), OF_COMPONENTS
)
LEARNED: dict[str, dict[str, int]] = {
    "FunctionTransformer": {},
    "MaxAbsScaler": {"max_abs_": OF_FEATURES, "scale_": OF_FEATURES, **COUNT},
    "MinMaxScaler": {
        **dict.fromkeys(("scale_", "min_", "data_min_", "data_max_", "data_range_"), OF_FEATURES),
        **COUNT,
    },
    "Normalizer": {},
    "PCA": {
        "components_": OF_BOTH,
        "mean_": OF_FEATURES,
        **SVD,
        "noise_variance_": NUMBER,
        "n_samples_": NUMBER,
        "n_components_": N_COMPONENTS,
    },
    "RobustScaler": {"center_": OF_FEATURES, "scale_": OF_FEATURES},
    "StandardScaler": {"mean_": OF_FEATURES, "var_": OF_FEATURES, "scale_": OF_FEATURES, **COUNT},
    "TruncatedSVD": {"components_": OF_BOTH, **SVD},
}
WITHOUT = {  # parameters without which something learned may be None
    ("RobustScaler", "center_"): "with_centering",
    ("RobustScaler", "scale_"): "with_scaling",
    ("StandardScaler", "mean_"): "with_mean",
    ("StandardScaler", "var_"): "with_std",
    ("StandardScaler", "scale_"): "with_std",
}


def put_rows(transformer: BaseEstimator, where: str, shared: Shared) -> dict[str, Any]:
    learned = {}
    for name in LEARNED[type(transformer).__name__]:
        value = getattr(transformer, name)
        if isinstance(value, np.ndarray) and value.ndim:
            shared.arrays[where + name] = value
            learned[name] = "array"
        else:
            learned[name] = plain(value, name)
    n_features = vars(transformer).get("n_features_in_")
    return {
        "n_features": None if n_features is None else int(n_features),
        "names": shared.put(vars(transformer).get("feature_names_in_")),
        "learned": learned,
    }


def rows(transformer: BaseEstimator, stored: Json, where: str, shared: Shared) -> None:
    n_features, names, learned = fields(
        stored, "the transformer", n_features=OPTIONAL, names=OPTIONAL, learned=dict
    )
    shapes = LEARNED[type(transformer).__name__]
    if learned.keys() != shapes.keys() or (shapes and n_features is None):
        raise ModelFileError(
            f"a {type(transformer).__name__} has learned {', '.join(shapes)}, and of how many "
            "features"
        )
    if n_features is not None:
        transformer.n_features_in_ = natural(n_features, "n_features")
    if names is not None:
        transformer.feature_names_in_ = shared.get(names, np.ndarray)
        if len(transformer.feature_names_in_) != n_features:
            raise ModelFileError(
                f"{len(transformer.feature_names_in_)} names for {n_features} features"
            )
    for name in shapes:
        setattr(transformer, name, _value(transformer, name, learned[name], where, shared))


def _value(transformer: BaseEstimator, name: str, stored: Json, where: str, shared: Shared) -> Any:
    """Something that was learned, of the right shape. The first in each table has that of the
    others.
    """
    kind = type(transformer).__name__
    shape = LEARNED[type(transformer).__name__][name]
    if stored == "array":
        return _array(where + name, _shape(transformer, where + name, shape, shared), shared)
    value = restore(stored)
    if value is None and (kind, name) in WITHOUT and not getattr(transformer, WITHOUT[kind, name]):
        return None
    is_number = type(value) in (int, float) and 0 <= value < 2**63
    if shape == N_COMPONENTS and is_number and value == len(transformer.components_):
        return value
    if shape != NUMBER or not is_number:
        raise ModelFileError(f"{where}{name} cannot be {str(value)[:50]}")
    # as scikit-learn has it
    return np.float64(value) if isinstance(value, float) else np.int64(value)


def _shape(transformer: BaseEstimator, name: str, shape: int, shared: Shared) -> tuple[int, ...]:
    """What an array must have; how many components there are the first one of them says."""
    n_features = transformer.n_features_in_
    if shape == OF_BOTH:
        return len(shared.arrays.get(name, ())), n_features
    return (len(transformer.components_),) if shape == OF_COMPONENTS else (n_features,)


def _array(name: str, shape: tuple[int, ...], shared: Shared) -> np.ndarray:
    """Finite numbers."""
    if name not in shared.arrays or shared.arrays[name].shape != shape:
        raise ModelFileError(f"there is no array {name!r} of shape {shape}")
    array = shared.arrays.pop(name)
    if array.dtype.kind not in "fi" or not np.all(np.isfinite(array)):
        raise ModelFileError(f"{name} must have finite numbers")
    return array
