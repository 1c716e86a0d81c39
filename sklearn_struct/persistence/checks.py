"""What indices and weights from a file must be before kernels may use them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._param_validation import make_constraint

from sklearn_struct.containers.csr import CSR
from sklearn_struct.exceptions import ModelFileError
from sklearn_struct.persistence.plain_values import Arrays

__all__ = [
    "ascending",
    "fit_into",
    "is_allowed",
    "log_probabilities",
    "n_rows",
    "number",
    "pairs",
    "put_number",
    "put_pairs",
    "weights",
]


def ascending(arrays: Arrays, name: str, end: int) -> np.ndarray:
    """Different numbers below `end`, in order."""
    numbers = arrays.take(name, np.int64)
    if len(numbers) and (
        numbers[0] < 0 or numbers[-1] >= end or np.any(numbers[1:] <= numbers[:-1])
    ):
        raise ModelFileError(f"{name} must be ascending numbers below {end}")
    return numbers


def n_rows(model: Any) -> int:
    """How many rows of weights a model has: one for each label, or for each state of labels."""
    states = vars(model).get("_states")
    return len(model.classes_) if states is None else len(states.label)


def put_pairs(arrays: Arrays, where: str, pattern: CSR) -> None:
    """Which entries of a matrix in compressed rows exist."""
    arrays[where + "/indptr"] = np.asarray(pattern.indptr, np.int64)
    arrays[where + "/indices"] = np.asarray(pattern.indices, np.int32)


def pairs(arrays: Arrays, where: str, n_rows: int, width: int) -> CSR:
    """Pairs, checked so that kernels may use them: rows within bounds, columns in each row
    ascending.
    """
    indptr = arrays.take(where + "/indptr", np.int64)
    indices = arrays.take(where + "/indices", np.int32)
    if (
        len(indptr) != n_rows + 1
        or indptr[0] != 0
        or indptr[-1] != len(indices)
        or np.any(indptr[1:] < indptr[:-1])
    ):
        raise ModelFileError(f"{where}: its rows have other bounds than its pairs")
    # only after its bounds are known to be right: a file may say anything
    row = np.repeat(np.arange(n_rows), np.diff(indptr))
    inside = np.all(indices >= 0) and np.all(indices < width)
    if not inside or np.any((indices[1:] <= indices[:-1]) & (row[1:] == row[:-1])):
        raise ModelFileError(
            f"{where}: the pairs of a feature must be ascending numbers below {width}"
        )
    return CSR(indptr, indices, np.empty(0, np.int32))


def weights(arrays: Arrays, name: str, size: int) -> np.ndarray:
    w = arrays.take(name, np.float64)
    if len(w) != size or not np.all(np.isfinite(w)):
        raise ModelFileError(f"{name} must have {size} finite weights")
    return w


def fit_into(numbers: np.ndarray, dtype: str, name: str) -> None:
    """Raise unless weights are also finite in the float type in which predictions read them."""
    most = np.max(np.abs(numbers), initial=0.0)
    if not most <= float(np.finfo(dtype).max):
        raise ModelFileError(
            f"{name} must have weights that are finite in {dtype}, and one is {most:.4g}"
        )


def log_probabilities(arrays: Arrays, name: str, shape: tuple[int, ...]) -> np.ndarray:
    logs = arrays.take(name, np.float64, len(shape))
    # a probability of 1 may be a little more by rounding; nan fails here, too
    if logs.shape != shape or not np.all(logs < 1e-6):
        raise ModelFileError(f"{name} must have log-probabilities of shape {shape}")
    return logs


def is_allowed(estimator: Any, name: str, value: object, usual: object = None) -> bool:
    """Whether a parameter of this name may have this value; a file may say anything.

    A class that has no such parameter has what is `usual`, if that is given.
    """
    constraints = type(estimator)._parameter_constraints.get(name)
    if constraints is None:
        return usual is not None and value == usual
    return any(make_constraint(constraint).is_satisfied_by(value) for constraint in constraints)


def put_number(arrays: Arrays, name: str, value: int, usual: int) -> None:
    """A number that files have only where it is not the usual one, since older files lack it."""
    if value != usual:
        arrays[name] = np.array([value])


def number(arrays: Arrays, name: str, usual: int, estimator: Any) -> int:
    """What `put_number` has written; the last part of the name is that of a parameter."""
    if name not in arrays:
        return usual
    numbers = arrays.take(name, np.int64).tolist()
    value: int = numbers[0] if len(numbers) == 1 else usual
    if value == usual or not is_allowed(estimator, name.split("/")[-1], value):
        raise ModelFileError(f"{name} is {numbers[:5]}, which no such model has")
    return value
