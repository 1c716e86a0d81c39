"""Scores that a token's label shares with given labels beside it, in chains of order 1 and 2."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel

__all__ = ["MOST", "beside"]

# two pairs and three triples
MOST = 5  # rows beside one token


@kernel
def beside(
    y: np.ndarray,
    t: int,
    bounds: tuple[int, int, int, int, bool],
    sides: tuple[bool, bool],
    K: int,
    rows: np.ndarray,
) -> int:
    """List the scores that the labels of token t share with given neighbours: rows of K scores.

    Return their number.

    A row is a table, 0 of pairs and 1 of triples, a clique, counted in the batch, the first column,
    and the step to the column of the next label. Rows with step 1 come first. Only what is scored
    among token t and given labels has one, each once:

        y_{t-1}, t      y_{t-2}, y_{t-1}, t      t, y_{t+1}      y_{t-1}, t, y_{t+1}
        t, y_{t+1}, y_{t+2}

    `bounds` are the tokens of the example, its first pair and triple, and whether there are
    triples; `sides` says whether labels to the left, and to the right, are given. `rows` has room
    for `MOST`.
    """
    lo, hi, e0, m0, triples = bounds
    left = sides[0] and t > lo
    right = sides[1] and t + 1 < hi
    e = e0 + t - 1 - lo
    m = m0 + t - lo  # the triple that begins here
    n = 0
    if left:
        j = y[t - 1]
        n = _write(rows, n, (0, e, j * K, 1))
        if triples and t - 2 >= lo:
            n = _write(rows, n, (1, m - 2, (y[t - 2] * K + j) * K, 1))
    if right:
        k = y[t + 1]
        n = _write(rows, n, (0, e + 1, k, K))
        if triples and left:
            n = _write(rows, n, (1, m - 1, y[t - 1] * K * K + k, K))
        if triples and t + 2 < hi:
            n = _write(rows, n, (1, m, k * K + y[t + 2], K * K))
    return n


@inlined
def _write(rows: np.ndarray, n: int, row: tuple[int, int, int, int]) -> int:
    """One more row."""
    rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3] = row
    return n + 1
