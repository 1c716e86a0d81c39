"""Arrays a few rows at a time: what is computed of all rows at once needs as much memory as they
do.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

__all__ = ["first_row", "row_pieces"]

NUMBERS = 1 << 14  # of a piece: an eighth of a megabyte, which the caches of processors hold


def row_pieces(table: np.ndarray, share: int = 1) -> list[slice]:
    """Slices of rows that together are all of an array, with `NUMBERS` numbers or a share of that,
    where several arrays are made of a piece.
    """
    step = max(NUMBERS // share // max(prod(table.shape[1:]), 1), 1)
    return [slice(first, first + step) for first in range(0, len(table), step)]


def first_row(table: np.ndarray, is_bad: Callable[[np.ndarray], np.ndarray]) -> int | None:
    """The first row in which `is_bad` says of a number that it is; None if there is no such row."""
    # of the few numbers of a sentence slices would take longer than the look
    pieces = [slice(0, None)] if table.size <= NUMBERS else row_pieces(table)
    for rows in pieces:
        bad = is_bad(table[rows])
        if np.count_nonzero(bad):
            first: int = rows.start
            return first + int(np.argmax(bad.reshape(len(bad), -1).any(axis=1)))
    return None
