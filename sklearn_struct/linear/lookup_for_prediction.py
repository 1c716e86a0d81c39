"""The map of sparse X to potentials in prediction, where weights stay the same for any X.

`padded_rows.RowsMap` numbers the features of its X anew, which pays off over the passes of a fit.
Here the features of a pattern are numbered once, and X is read block by block, as it is.
"""

from __future__ import annotations

import numpy as np

from sklearn_struct.compiled.kernel import kernel
from sklearn_struct.compiled.simd import at, padded, prefetch
from sklearn_struct.containers.csr import CSR
from sklearn_struct.linear.padded_row_kernels import rows_forward
from sklearn_struct.linear.pass_kernels import scores
from sklearn_struct.linear.stored_values import AHEAD, Entries, has_single
from sklearn_struct.linear.vectors_side_by_side import ONE, Grains

__all__ = ["Lookup", "LookupMap"]


class Lookup:
    """Where the weights of each feature stand: in a dense padded row, or as one number.

    The code of a feature is its row, or -1 - k if label k is its only one. Row 0 is all zeros, and
    what has no row of its own reads it: that is quicker than a branch. Behind the rows there is one
    number for each feature.

    Parameters
    ----------
    pairs : CSR
        m rows: the labels for which each feature has a weight; its data are not used.
    width : int
        Number of labels.
    """

    def __init__(self, pairs: CSR, width: int) -> None:
        self.pairs = pairs
        self.width = width
        n_pairs = np.diff(pairs.indptr)
        rows = np.flatnonzero(n_pairs > 1)
        single = np.flatnonzero(n_pairs == 1)
        self.code = np.zeros(len(n_pairs), dtype=np.int32)
        self.code[rows] = np.arange(1, len(rows) + 1)
        # one array says which of three a feature is: 0 none, > 0 a row, < 0 a single label; -1 - k,
        # as label 0 has no sign
        self.code[single] = -1 - pairs.indices[pairs.indptr[single]]
        self.n_table = (len(rows) + 1) * padded(width)


class LookupMap:
    """X sparse, weights in the layout of a `Lookup`; forward only.

    The values of a row may be in any order, also with duplicates.
    """

    def __init__(self, X: CSR, lookup: Lookup) -> None:
        self.X = X
        self.step = 0 if has_single(X) else 1
        self.lookup = lookup
        self.dtype = X.data.dtype
        self.size = len(lookup.pairs.indices)
        self.expanded_size = lookup.n_table + len(lookup.code)

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        """Write the compact `w` into W; entries of pairs that have no weight are left alone."""
        _expand(w, self.lookup.pairs, self.lookup.code, padded(self.lookup.width), W)

    @property
    def grains(self) -> Grains:
        return [(self.lookup.n_table, padded(self.lookup.width)), (len(self.lookup.code), 1)]

    def forward(
        self, W: np.ndarray, rows: slice, out: np.ndarray, scales: np.ndarray = ONE
    ) -> None:
        """``out[:] = X[rows] @ sum_c scales[c] * W_c``."""
        X = self.X
        table = len(scales) * self.lookup.n_table
        # only this block's values are translated, so that a prediction of one sentence costs that
        # alone
        bounds = X.indptr[rows.start : rows.stop + 1]
        low = int(bounds[0])
        high = int(bounds[-1])
        features = X.indices[low:high]
        step = self.step
        data = X.data[low * step :]
        bounds = bounds - low if low else bounds
        table_rows = np.empty(high - low + AHEAD, np.int32)
        single = np.empty(high - low + 1, np.int32)
        n_single = _look_up(features, self.lookup.code, W[table:], table_rows, single)
        values = Entries(bounds, table_rows, data, step)
        if scales is ONE:
            # what a fit has compiled; single numbers are looked up, not listed
            scores(values, W[:table], values, table_rows, W[:0], 0, out)
        else:
            rows_forward(values, W[:table], 0, scales, out)
        looked_up = Entries(bounds, features, data, step)
        _add_singles(looked_up, self.lookup.code, W[table:], single[:n_single], scales, out)


@kernel
def _expand(w: np.ndarray, pairs: CSR, code: np.ndarray, P: int, W: np.ndarray) -> None:
    indptr = pairs.indptr
    labels = pairs.indices
    single = len(W) - len(code)
    for f in range(len(code)):
        row = np.int64(at(code, f))
        for q in range(indptr[f], indptr[f + 1]):
            W[row * P + labels[q] if row > 0 else single + f] = w[q]


@kernel
def _look_up(
    features: np.ndarray,
    code: np.ndarray,
    weights: np.ndarray,
    rows: np.ndarray,
    single: np.ndarray,
) -> np.uint64:
    """Write the row of each value, and list those whose feature has a single label; their number.

    The weights of these are fetched into the caches.
    """
    s = np.uint64(0)
    for p in range(len(features)):
        c = at(code, at(features, p))
        rows[p] = c if c > 0 else 0
        # written in any case, and kept by counting it: a branch here would be guessed wrong often
        single[s] = p
        s += np.uint64(c < 0)
    # what is read ahead of the last value must be a row that exists
    for p in range(len(features), len(rows)):
        rows[p] = 0
    for i in range(s):
        # all at once, now that they are listed: the additions behind need not wait for memory
        prefetch(weights, np.int64(at(features, at(single, i))) * (len(weights) // len(code)))
    return s


@kernel
def _add_singles(
    X: Entries,
    code: np.ndarray,
    weights: np.ndarray,
    single: np.ndarray,
    scales: np.ndarray,
    out: np.ndarray,
) -> None:
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    t = 0
    for p in single:
        while indptr[t + 1] <= p:
            t += 1
        f = at(indices, p)
        for copy in range(len(scales)):
            x = out.dtype.type(scales[copy] * at(data, p * step))
            out[t, -1 - at(code, f)] += x * at(weights, np.int64(f) * len(scales) + copy)
