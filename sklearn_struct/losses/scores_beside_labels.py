"""Scores that labels of tokens and of edges share with given labels beside them, in chains of order
1 and 2.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.inference.chains.flat_tuples import Triples

__all__ = ["MOST", "beside", "beside_edge", "numbers_of_edges"]

# two pairs and three triples
MOST = 5  # rows beside one token


@kernel
def beside(
    y: np.ndarray,
    t: int,
    bounds: tuple[int, int, int, int, int],
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

    `bounds` are the tokens of the example, its first pair and triple, and how many columns triples
    have, 0 where there are none; `sides` says whether labels to the left, and to the right, are
    given. `rows` has room for `MOST`.
    """
    lo, hi, e0, m0, width = bounds
    triples = width > 0
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


@kernel
def beside_edge(
    y: np.ndarray,
    edge: tuple[int, int],
    bounds: tuple[int, int, int, int, int],
    sides: tuple[bool, bool],
    widths: tuple[int, int],
    rows: np.ndarray,
) -> int:
    """List the scores that the label pairs of an edge share with given neighbours, as `beside`.

    They are those of triples: with the label before the first token of `edge`, if that is given,
    and with the one behind the last. Tokens may be those of two edges, the first and the last of a
    window. `widths` are the numbers of labels and of pairs, `rows` has room for two.
    """
    a, b = edge
    lo, hi, _, m0, width = bounds
    K, n_pairs = widths
    n = 0
    if width > 0 and sides[0] and a > lo:
        n = _write(rows, n, (1, m0 + a - 1 - lo, y[a - 1] * n_pairs, 1))
    if width > 0 and sides[1] and b + 1 < hi:
        n = _write(rows, n, (1, m0 + b - 1 - lo, y[b + 1], K))
    return n


def numbers_of_edges(tables: Triples, widths: list[int]) -> int:
    """How many numbers a token of a window needs for tables of its own: triples change the pairs at
    its ends, and without them all windows share what the sequences share.
    """
    return sum(widths) if tables.triple.shape[1] > 0 else 0


@inlined
def _write(rows: np.ndarray, n: int, row: tuple[int, int, int, int]) -> int:
    """One more row."""
    rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3] = row
    return n + 1
