"""Loops over the symbols of a few tokens: scores of all states, and expected counts."""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel

__all__ = ["add_scores_of_values", "add_weights_of_values"]


@kernel
def add_scores_of_values(codes: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """Add to `out` (n, K) the columns of a table (K, n_values) that codes (n,) name.

    A code that is no column is an IndexError.
    """
    K, n_values = table.shape
    for i in range(len(codes)):
        code = codes[i]
        # tables are the users' to change, and memory behind them is nobody's
        if code < 0 or code >= n_values:
            raise IndexError("a table of emissions has fewer columns than its stream has values")
        for k in range(K):
            out[i, k] += table[k, code]


@kernel
def add_weights_of_values(codes: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
    """Add weights (n, K) to the rows of `out` (n_values, K) that codes (n,) name, one by one."""
    n_values, K = out.shape
    for i in range(len(codes)):
        code = codes[i]
        if code < 0 or code >= n_values:
            raise IndexError("a code is none of the values")
        for k in range(K):
            out[code, k] += weight[i, k]
