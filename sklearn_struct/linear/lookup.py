"""Sparse X to labels by weights that stay, as in prediction: X is read as it is, without numbering its features.

`rows.RowsMap` arranges its X, which pays off over the passes of a fit. Here the table is made for a pattern, once, and
serves any X: the code of a feature says where its weights stand.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.batch import CSR
from sklearn_struct.kernel import kernel
from sklearn_struct.simd import LANES, fma, load, padded, prefetch, splat, store_part

__all__ = ["Lookup", "LookupMap"]

AHEAD = 40  # stored values from now whose weights are fetched into the caches: about two tokens of text


class Lookup:
    """Where the weights of each feature stand: in a dense padded row, or, of a feature with one label, as one number.

    The table has a row of zeros, the rows of features with several labels, and a number for each feature of X. The
    code of a feature is its row (0: it has no weight), or -1 - k if label k is its only one.

    Parameters
    ----------
    pairs : CSR
        m rows: the labels for which each feature has a weight; its data are not used.
    width : int
        Number of labels.
    """

    def __init__(self, pairs: CSR, width: int) -> None:
        self.pairs, self.width = pairs, width
        n_pairs = np.diff(pairs.indptr)
        rows, single = np.flatnonzero(n_pairs > 1), np.flatnonzero(n_pairs == 1)
        self.code = np.zeros(len(n_pairs), dtype=np.int32)
        self.code[rows] = np.arange(1, len(rows) + 1)
        self.code[single] = -1 - pairs.indices[pairs.indptr[single]]
        self.n_table = (len(rows) + 1) * padded(width)


class LookupMap:
    """X sparse, in any order and with duplicates; weights in the layout of a `Lookup`. There is no transpose."""

    def __init__(self, X: CSR, lookup: Lookup) -> None:
        self.X, self.lookup, self.dtype = X, lookup, X.data.dtype
        self.size, self.expanded_size = len(lookup.pairs.indices), lookup.n_table + len(lookup.code)

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        """Write the compact `w` into W; entries of pairs that have no weight are left alone."""
        _expand(w, self.lookup.pairs, self.lookup.code, padded(self.lookup.width), W)

    def compress(self, W: np.ndarray) -> np.ndarray:
        w = np.empty(self.size)
        _compress(W, self.lookup.pairs, self.lookup.code, padded(self.lookup.width), w)
        return w

    def forward(self, W: np.ndarray, rows: slice, out: np.ndarray) -> None:
        """``out[:] = X[rows] @ W``."""
        _lookup_forward(self.X, self.lookup.code, W, self.lookup.n_table, rows.start, out)


@kernel
def _expand(w, pairs, code, P, W):
    indptr, labels, single = pairs.indptr, pairs.indices, len(W) - len(code)
    for f in range(len(code)):
        for q in range(indptr[f], indptr[f + 1]):
            W[np.int64(code[f]) * P + labels[q] if code[f] > 0 else single + f] = w[q]


@kernel
def _compress(W, pairs, code, P, w):
    indptr, labels, single = pairs.indptr, pairs.indices, len(W) - len(code)
    for f in range(len(code)):
        for q in range(indptr[f], indptr[f + 1]):
            w[q] = W[np.int64(code[f]) * P + labels[q] if code[f] > 0 else single + f]


@kernel
def _lookup_forward(X, code, W, single, first, out):
    """out[t] = sum_p data[p] * W[row of feature p] over the stored values p of row first + t, three vectors at a time.

    Features with a single label read the row of zeros, which spares a branch, and are added at the end.
    """
    indptr, indices, data = X.indptr, X.indices, X.data
    n, K = out.shape
    P, zero, last = padded(K), splat(W.dtype.type(0)), len(indices) - 1
    longest = 0
    for t in range(first, first + n):
        longest = max(longest, indptr[t + 1] - indptr[t])
    singles = np.empty(longest + 1, np.int64)  # the values of those features, of one token
    for t in range(n):
        low, high, n_singles = indptr[first + t], indptr[first + t + 1], 0
        for p in range(low, high):
            singles[n_singles] = p
            n_singles += code[indices[p]] < 0
            prefetch(code, indices[min(p + 2 * AHEAD, last)])
            f = indices[min(p + AHEAD, last)]
            m = np.int64(code[f]) * P if code[f] >= 0 else single + f
            for k in range(0, P, LANES):
                prefetch(W, m + k)
        k = 0
        while k < P:
            wide = k + 3 * LANES <= P
            a, b, c = zero, zero, zero
            for p in range(low, high):
                m, x = max(np.int64(code[indices[p]]), 0) * P + k, splat(W.dtype.type(data[p]))
                a = fma(x, load(W, m), a)
                if wide:
                    b = fma(x, load(W, m + LANES), b)
                    c = fma(x, load(W, m + 2 * LANES), c)
            store_part(out, t * K + k, a, K - k)
            if wide:
                store_part(out, t * K + k + LANES, b, K - k - LANES)
                store_part(out, t * K + k + 2 * LANES, c, K - k - 2 * LANES)
            k += 3 * LANES if wide else LANES
        for s in range(n_singles):
            f = indices[singles[s]]
            out[t, -1 - code[f]] += data[singles[s]] * W[single + f]
