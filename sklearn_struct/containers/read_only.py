"""Arrays that are made when they are asked for: writing into them would change nothing."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["as_read_only"]


def as_read_only(made: Any) -> Any:
    """The same values, which numpy refuses to change: of an array, of a sparse matrix, or of those
    in a list, a tuple or a dict. Anything else is given back.

    An array becomes a view, so an array that somebody else holds stays as it is.
    """
    if isinstance(made, np.ndarray):
        view = made.view()
        view.flags.writeable = False
        return view
    if sp.issparse(made):
        return _sparse(made)
    if type(made) is dict:
        return {key: as_read_only(value) for key, value in made.items()}
    if type(made) in (list, tuple):
        return type(made)(as_read_only(value) for value in made)
    return made


def _sparse(matrix: Any) -> Any:
    """A sparse matrix that shares its arrays with another one, with read-only values."""
    view = copy(matrix)
    view.data = as_read_only(matrix.data)
    return view
