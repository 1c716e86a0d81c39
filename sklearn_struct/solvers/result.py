"""What every solver returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Result"]


class Result(NamedTuple):
    """The point found, the value there (penalty included), iterations done, and whether `tol` was reached."""

    w: np.ndarray
    value: float
    n_iter: int
    converged: bool
