"""What every solver returns, and what one pass over a batch hands on to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ["Callback", "Result", "Stream"]

# (n_iter, w, value) after each iteration -> whether to stop
Callback = Callable[[int, np.ndarray, float], bool]


class Result(NamedTuple):
    """The point found, the value there (penalty included), iterations done, whether `tol` was
    reached; by how much the value is above the lowest one at most, and the largest entry of the
    (pseudo-)gradient, where a solver knows.
    """

    w: np.ndarray
    value: float
    n_iter: int
    converged: bool
    gap: float = np.nan
    steepest: float = np.nan


class Stream(NamedTuple):
    """The last iterate, the mean that serves predictions, the steps that made it, and a step length
    to keep.
    """

    w: np.ndarray
    mean: np.ndarray
    n: int = 0
    step: float = 1.0
