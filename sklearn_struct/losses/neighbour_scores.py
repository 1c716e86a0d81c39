"""Which edge scores a token has together with labels that are given beside it, in chains of first
and second order.
"""

from __future__ import annotations

from sklearn_struct.compiled.kernel import kernel

__all__ = ["MOST", "beside"]

MOST = 5  # rows beside one token


@kernel
def beside(y, t, bounds, sides, K, rows):
    """Write the rows of K edge scores that belong to the labels of token t beside those given;
    return their number.

    A row is an edge, counted in the batch, the first column, and the step to the column of the next
    label. Rows with step 1 come first. Only what is scored among token t and given labels has one,
    each once:

        y_{t-1}, t        y_{t-2}, y_{t-1}, t        t, y_{t+1}        y_{t-1}, t, y_{t+1}        t, y_{t+1}, y_{t+2}

    `bounds` are the tokens of the example, its first edge and the order of the chain; `sides` says
    whether labels to the left, and to the right, are given. `rows` has room for `MOST`.
    """
    lo, hi, e0, order = bounds
    left = sides[0] and t > lo
    right = sides[1] and t + 1 < hi
    e = e0 + t - 1 - lo
    n = 0
    if left:
        j = y[t - 1]
        rows[n, 0] = e
        rows[n, 1] = j * K
        rows[n, 2] = 1
        n += 1
        if order == 2 and t - 2 >= lo:
            rows[n, 0], rows[n, 1], rows[n, 2] = e, ((y[t - 2] + 1) * K + j) * K, 1
            n += 1
    if right:
        k = y[t + 1]
        rows[n, 0] = e + 1
        rows[n, 1] = k
        rows[n, 2] = K
        n += 1
        if order == 2 and left:
            rows[n, 0], rows[n, 1], rows[n, 2] = e + 1, (y[t - 1] + 1) * K * K + k, K
            n += 1
        if order == 2 and t + 2 < hi:
            rows[n, 0], rows[n, 1], rows[n, 2] = e + 2, (K + k) * K + y[t + 2], K * K
            n += 1
    return n
