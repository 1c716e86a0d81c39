"""Hidden semi-Markov models to JSON and arrays, and back with every check."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence import checks
from sklearn_struct.persistence.encoders import Shared
from sklearn_struct.persistence.hidden_markov import hidden, put_hidden

__all__ = ["put_durations", "read_durations"]


def put_durations(hsmm: Any, where: str, shared: Shared) -> dict[str, Any]:
    shared.arrays[where + "duration"] = np.asarray(hsmm.duration_logprob_, np.float64)
    parameters = np.asarray(hsmm.duration_params_, np.float64)
    if parameters.size:
        shared.arrays[where + "duration_params"] = parameters
    return put_hidden(hsmm, where, shared)


def read_durations(hsmm: Any, stored: dict[str, Any], where: str, shared: Shared) -> None:
    hidden(hsmm, stored, where, shared)
    arrays = shared.arrays
    K = len(hsmm.classes_)
    name = where + "duration"
    n_lengths = arrays[name].shape[-1] if name in arrays and arrays[name].ndim else 1
    if n_lengths < 1:
        raise ModelFileError(f"{name} has no durations")
    hsmm.duration_logprob_ = checks.log_probabilities(arrays, name, (K, n_lengths))
    hsmm.duration_params_ = np.empty((K, 0))
    name = where + "duration_params"
    if name in arrays:
        parameters = arrays.take(name, np.float64, 2)
        good = len(parameters) == K and np.all((parameters > 0) & np.isfinite(parameters))
        if not good:
            raise ModelFileError(f"{name} must have positive numbers, a row for each of {K} labels")
        hsmm.duration_params_ = parameters
