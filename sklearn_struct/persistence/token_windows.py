"""`TokenWindows` to JSON and arrays, and back with every check."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.ragged import object_array
from sklearn_struct.encoding.features.token_windows import (
    Learned,
    TokenWindows,
    Window,
    learn,
    learned,
)
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.plain_values import Json, fields, put_texts, texts

__all__ = ["put_windows", "windows"]

# an offset further away reaches beyond any sequence
FARTHEST = 1 << 62


def put_windows(estimator: TokenWindows, where: str, shared: Shared) -> dict[str, Any]:
    (offsets, padding, indicator), n_features, names = learned(estimator)
    if names is not None:
        spelt = np.asarray(names() if callable(names) else names, dtype=object)
        put_texts(shared.arrays, where + "names", spelt.tolist())
    return {
        "n_features": n_features,
        "named": names is not None,
        "offsets": [max(min(d, FARTHEST), -FARTHEST) for d in offsets],
        "padding": padding,
        "indicator": indicator,
    }


def windows(estimator: TokenWindows, stored: Json, where: str, shared: Shared) -> None:
    """Give new windows what others have learnt."""
    n_features, named, offsets, padding, indicator = fields(
        stored,
        "the windows",
        n_features=int,
        named=bool,
        offsets=list,
        padding=str,
        indicator=bool,
    )
    right = all(type(d) is int and abs(d) <= FARTHEST for d in offsets)
    if not right or len(set(offsets)) < len(offsets) or not offsets:
        raise ModelFileError(f"{where}: offsets must be different whole numbers")
    if padding not in ("zeros", "edge") or n_features < 1:
        raise ModelFileError(f"{where}: no windows: {padding[:50]!r}, {n_features} features")
    names = object_array(texts(shared.arrays, where + "names")) if named else None
    if names is not None and len(names) != n_features:
        raise ModelFileError(f"{len(names)} names for {n_features} features")
    learn(estimator, Learned(Window(tuple(offsets), padding, indicator), n_features, names))
