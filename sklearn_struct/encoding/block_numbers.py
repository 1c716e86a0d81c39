"""Blocks of nodes that users give: a number for each node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_struct.exceptions import InputTypeError, LengthMismatchError

__all__ = ["block_numbers"]


def block_numbers(graphs: Any, rule: Callable[[Any], Any], offsets: np.ndarray) -> np.ndarray:
    """The number (n_nodes,), int64, of the block of each node within its graph.

    The rule gives something for each node that is equal for the nodes of a block. Where nodes are
    the labels of tokens, it may give a table (n_tokens, n_rows).

    Raises
    ------
    InputTypeError, LengthMismatchError
        With the place, if what the rule gives is no array, or not as long as the graph.
    """
    numbers = [np.empty(0, np.int64)]
    for i, n in enumerate(np.diff(offsets).tolist()):
        given = rule(graphs[i])
        try:
            names = np.asarray(given)
            # row after row, as nodes are
            _, number = np.unique(names.ravel(order="F"), return_inverse=True)
        except (TypeError, ValueError) as error:
            raise InputTypeError(
                f"X[{i}]: blocks must give a number or a name for each node: {error}"
            ) from None
        if names.ndim == 0 or len(number) != n:
            raise LengthMismatchError(
                f"X[{i}] has {n} nodes but blocks gives an array of shape {names.shape}"
            )
        numbers.append(number.ravel())
    return np.concatenate(numbers)
