"""Loops over the symbols of a few tokens: scores of all states, and expected counts.

Two states at a time, as a loop over states that ends after two or three of them takes longer than
what it does.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel

__all__ = ["add_scores_of_values", "add_weights_of_values"]

FEW = 4  # states, above which weights of a token are added in a loop of their own


@inlined
def _check(code: int, n_values: int) -> None:
    # tables are the users' to change, and memory behind them is nobody's
    if code < 0 or code >= n_values:
        raise IndexError("a stream has a value for which the table of its emissions has no column")


@kernel
def add_scores_of_values(codes: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` (n, K) the columns of a table (K, n_values) that codes (n,) name.

    A code that is no column is an IndexError.
    """
    K, n_values = table.shape
    for k in range(0, K - 1, 2):
        for i in range(len(codes)):
            code = codes[i]
            _check(code, n_values)
            out[i, k] += table[k, code]
            out[i, k + 1] += table[k + 1, code]
    if K % 2:
        for i in range(len(codes)):
            code = codes[i]
            _check(code, n_values)
            out[i, K - 1] += table[K - 1, code]


@kernel
def add_weights_of_values(codes: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """Add weights (n, K) to the rows of `out` (n_values, K) that codes (n,) name, one by one."""
    n_values, K = out.shape
    if K < FEW:
        for k in range(0, K - 1, 2):
            for i in range(len(codes)):
                code = codes[i]
                _check(code, n_values)
                out[code, k] += weight[i, k]
                out[code, k + 1] += weight[i, k + 1]
        if K % 2:
            for i in range(len(codes)):
                code = codes[i]
                _check(code, n_values)
                out[code, K - 1] += weight[i, K - 1]
        return
    for i in range(len(codes)):
        code = codes[i]
        _check(code, n_values)
        for k in range(K):
            out[code, k] += weight[i, k]
