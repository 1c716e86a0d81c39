"""Hidden Markov models whose transitions depend on inputs to JSON and arrays, and back with every
check.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.containers.structures import n_columns
from sklearn_struct.estimators.hidden_markov.learned_counts import n_streams
from sklearn_struct.estimators.hidden_markov.stream_learning import INPUT, LARGEST
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.hidden_markov import hidden, put_hidden

__all__ = ["put_driven", "read_driven"]


def put_driven(model: Any, where: str, shared: Shared) -> dict[str, Any]:
    slopes = np.asarray(model.transition_coef_, np.float64)
    if slopes.size:
        # not three dimensions
        shared.arrays[where + "transition_coef"] = slopes.reshape(-1, slopes.shape[-1])
    return put_hidden(model, where, shared)


def read_driven(model: Any, stored: dict[str, Any], where: str, shared: Shared) -> None:
    hidden(model, stored, where, shared)
    K = len(model.classes_)
    p = n_streams(model, INPUT)
    shape = (n_columns(K, 2), p)
    name = where + "transition_coef"
    slopes = shared.arrays.take(name, np.float64, 2) if p else np.empty(shape)
    if slopes.shape != shape or not np.all(np.abs(slopes) <= LARGEST):
        raise ModelFileError(f"{name} must have finite numbers of shape {shape}")
    model.transition_coef_ = slopes.reshape(K, K, p)
