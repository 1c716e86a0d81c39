"""`TokenWindows` to JSON and arrays, and back with every check."""

from __future__ import annotations

from typing import Any

from sklearn_struct.encoding.features.token_windows import TokenWindows, Window
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence.encoders import OPTIONAL, Shared
from sklearn_struct.persistence.plain_values import Json, fields

__all__ = ["put_windows", "windows"]

# an offset further away reaches beyond any sequence
FARTHEST = 1 << 62


def put_windows(estimator: TokenWindows, where: str, shared: Shared) -> dict[str, Any]:
    offsets, padding, indicator = estimator._window
    return {
        "n_features": int(estimator.n_features_in_),
        "names": shared.put(estimator._names_in),
        "offsets": [max(min(d, FARTHEST), -FARTHEST) for d in offsets],
        "padding": padding,
        "indicator": indicator,
    }


def windows(estimator: TokenWindows, stored: Json, where: str, shared: Shared) -> None:
    """Give new windows what others have learnt."""
    n_features, number, offsets, padding, indicator = fields(
        stored,
        "the windows",
        n_features=int,
        names=OPTIONAL,
        offsets=list,
        padding=str,
        indicator=bool,
    )
    right = all(type(d) is int and abs(d) <= FARTHEST for d in offsets)
    if not right or len(set(offsets)) < len(offsets) or not offsets:
        raise ModelFileError(f"{where}: offsets must be different whole numbers")
    if padding not in ("zeros", "edge") or n_features < 1:
        raise ModelFileError(f"{where}: no windows: {padding[:50]!r}, {n_features} features")
    names = shared.get(number)
    n_names = n_features
    if names is not None:
        n_names = sum(map(len, names.indexes)) if hasattr(names, "indexes") else len(names)
    if n_names != n_features:
        raise ModelFileError(f"{n_names} names for {n_features} features")
    estimator._learn_window(Window(tuple(offsets), padding, indicator), n_features, names)
