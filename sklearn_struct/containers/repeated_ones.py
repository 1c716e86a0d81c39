"""Values of sparse rows that are all 1, as those of text are: one number in memory, seen as many.

Fits and predictions read no values of such rows. Whoever else asks for the matrix gets an ordinary
one: compiled code of others wants values that follow each other, and that it may write to.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

__all__ = ["are_ones", "ones", "rows_of", "written_out"]

# values that are written out at once: a view takes longer to make than a few numbers
FEW = 10_000


def ones(n: int, dtype: DTypeLike) -> np.ndarray:
    """n ones; if they are many, a view of a single one, which nobody may write to."""
    if n <= FEW:
        return np.ones(n, dtype)
    return np.broadcast_to(np.ones(1, dtype), n)


def are_ones(values: np.ndarray) -> bool:
    """Whether values are a single 1 in memory."""
    return values.strides == (0,) and len(values) > 1 and values[0] == 1


def written_out(tokens: sp.csr_array) -> sp.csr_array:
    """The matrix with a number in memory for each value, which may be written to."""
    data = tokens.data
    if data.strides != (0,) or data.flags.writeable:
        return tokens
    filled = np.full(len(data), data[0] if len(data) else 0, data.dtype)
    return sp.csr_array((filled, tokens.indices, tokens.indptr), shape=tokens.shape)


def rows_of(tokens: sp.csr_array, rows: np.ndarray) -> sp.csr_array:
    """The chosen rows."""
    if not are_ones(tokens.data):
        return tokens[rows]
    # scipy would write all values out for each choice: its indices serve as well, whatever they are
    shape = (tokens.shape[0], tokens.shape[1])
    chosen = sp.csr_array((tokens.indices, tokens.indices, tokens.indptr), shape=shape)[rows]
    chosen.data = ones(len(chosen.indices), tokens.dtype)
    return chosen
