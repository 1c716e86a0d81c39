"""The linear map tokens x features -> potentials, and its transpose: the only place where X meets W.

theta = X W for the rows of a block, gradient = X' R for the residuals R = d loss / d theta. Three maps, by
the kind of X and the width of theta:

==========  ======================================  ==============================================
`DenseMap`  dense X                                 every pair (feature, label) has a weight; BLAS
`RowsMap`   sparse X, theta as wide as the labels   weights of a feature form a dense padded row
`PairsMap`  sparse X, theta as wide as label pairs  loops over the pairs that have a weight
==========  ======================================  ==============================================

Outside, parameters are compact: one number for each observed pair, ordered by feature, then label. Inside a
map they are `expanded` to the layout in which it computes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import CSR
from sklearn_struct.kernel import kernel
from sklearn_struct.simd import LANES, fma, load, load_part, padded, splat, store, store_part
from sklearn_struct.threads import Pool

__all__ = ["N_PARTS", "DenseMap", "PairsMap", "RowsMap"]

N_PARTS = 16  # pieces of work for the threads; fixed, so that results do not depend on their number
HOT = 65_536  # numbers in the gradient table of the most frequent features: half of a 1 MB cache


class DenseMap:
    """X a dense (n, m) array; parameters are W (m, width), row by row."""

    def __init__(self, X: np.ndarray, width: int) -> None:
        self.X, self.width = X, width
        self.size = self.expanded_size = X.shape[1] * width

    def expand(self, w: np.ndarray) -> np.ndarray:
        return np.asarray(w, dtype=self.X.dtype)

    def compress(self, W: np.ndarray) -> np.ndarray:
        return W

    def forward(self, W: np.ndarray, rows: slice, out: np.ndarray) -> None:
        """``out[:] = X[rows] @ W``."""
        np.matmul(self.X[rows], W.reshape(-1, self.width), out=out)

    def transpose(self, R: np.ndarray, pool: Pool) -> np.ndarray:
        """``X.T @ R``, compact."""
        bounds = np.linspace(0, len(R), N_PARTS + 1).astype(int)
        parts = pool.map(lambda c: self.X[bounds[c] : bounds[c + 1]].T @ R[bounds[c] : bounds[c + 1]], N_PARTS)
        return np.sum(parts, axis=0, dtype=np.float64).ravel()

    def scatter(self, R: np.ndarray, rows: slice, scale: float, W: np.ndarray) -> None:
        """``W += scale * X[rows].T @ R``."""
        W += scale * (self.X[rows].T @ R).ravel()


class PairsMap:
    """X sparse; a weight for each stored pair (feature, column of theta), in loops over the pairs alone.

    Parameters
    ----------
    X : CSR
        n rows, m features.
    pairs : CSR
        m rows: the columns of theta for which each feature has a weight; its data are not used.
    """

    def __init__(self, X: CSR, pairs: CSR) -> None:
        self.X, self.pairs = X, pairs
        self.size = self.expanded_size = len(pairs.indices)

    def expand(self, w: np.ndarray) -> np.ndarray:
        return np.asarray(w, dtype=self.X.data.dtype)

    def compress(self, W: np.ndarray) -> np.ndarray:
        return W

    def forward(self, W: np.ndarray, rows: slice, out: np.ndarray) -> None:
        """``out[:] = X[rows] @ W``."""
        out[:] = 0
        _pairs_forward(self.X, self.pairs, W, rows.start, out)

    def scatter(self, R: np.ndarray, rows: slice, scale: float, W: np.ndarray) -> None:
        """``W += scale * X[rows].T @ R``."""
        _pairs_scatter(self.X, self.pairs, R, rows.start, scale, W)


@kernel
def _pairs_forward(X, pairs, w, first, out):
    indptr, indices, data = X.indptr, X.indices, X.data
    pair_indptr, pair_labels = pairs.indptr, pairs.indices
    for t in range(len(out)):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            f = indices[p]
            for q in range(pair_indptr[f], pair_indptr[f + 1]):
                out[t, pair_labels[q]] += data[p] * w[q]


@kernel
def _pairs_scatter(X, pairs, R, first, scale, w):
    indptr, indices, data = X.indptr, X.indices, X.data
    pair_indptr, pair_labels = pairs.indptr, pairs.indices
    for t in range(len(R)):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            f = indices[p]
            for q in range(pair_indptr[f], pair_indptr[f + 1]):
                w[q] += scale * data[p] * R[t, pair_labels[q]]


class _Rows(NamedTuple):
    """The weights of row r of a table stand, compact, at the pairs (features[r], labels) of a CSR pattern."""

    width: int
    features: np.ndarray
    indptr: np.ndarray
    labels: np.ndarray


class RowsMap:
    """X sparse; the weights of a feature with several labels form a dense row, padded to whole vectors.

    Features with a single label (the large majority in text) stay single numbers. Both kinds are
    renumbered by falling frequency: the `HOT` rows, which fit half of a second-level cache, serve most
    occurrences. Their gradient is scattered token by token; that of the cold rows is gathered feature by
    feature.

    Parameters
    ----------
    X : CSR
        n rows, m features.
    pairs : CSR
        m rows: the labels for which each feature has a weight; its data are not used.
    width : int
        Number of labels.
    """

    def __init__(self, X: CSR, pairs: CSR, width: int) -> None:
        self.width, self.size = width, len(pairs.indices)
        counts = np.bincount(X.indices, minlength=len(pairs.indptr) - 1)
        n_pairs = np.diff(pairs.indptr)
        by_count = np.argsort(-counts, kind="stable")
        by_count = by_count[counts[by_count] > 0]
        row_features = by_count[n_pairs[by_count] > 1]
        self._rows = _Rows(width, row_features, pairs.indptr, pairs.indices)
        single_features = by_count[n_pairs[by_count] == 1]
        self.single_pairs = pairs.indptr[single_features]
        self.single_labels = pairs.indices[self.single_pairs]
        n_hot = min(HOT // padded(width), len(row_features))
        self._hot = self._rows._replace(features=row_features[:n_hot])
        self._cold = self._rows._replace(features=row_features[n_hot:])
        self._n_table = len(row_features) * padded(width)
        self.expanded_size = self._n_table + len(self.single_pairs)
        # transposed twice: the entries of each token come out in the order of the new numbers
        n = len(X.indptr) - 1
        columns = _transpose(_select(X, row_features, len(counts)), len(row_features))
        self.rows, self._cold_columns = _transpose(columns, n), _rows_from(columns, n_hot)
        self._single_columns = _transpose(_select(X, single_features, len(counts)), len(single_features))
        self.singles = _transpose(self._single_columns, n)

    def expand(self, w: np.ndarray) -> np.ndarray:
        W = np.zeros(self.expanded_size, dtype=self.rows.data.dtype)
        _expand(w, self._rows, W)
        W[self._n_table :] = w[self.single_pairs]
        return W

    def compress(self, W: np.ndarray) -> np.ndarray:
        w = np.zeros(self.size)
        _compress(W, self._rows, w)
        w[self.single_pairs] = W[self._n_table :]
        return w

    def forward(self, W: np.ndarray, rows: slice, out: np.ndarray) -> None:
        """``out[:] = X[rows] @ W``."""
        _rows_forward(self.rows, W[: self._n_table], rows.start, out)
        _singles_forward(self.singles, self.single_labels, W[self._n_table :], rows.start, out)

    def scatter(self, R: np.ndarray, rows: slice, scale: float, W: np.ndarray) -> None:
        """``W += scale * X[rows].T @ R``."""
        _observed_scatter(self.rows, R, rows.start, self._rows, scale, W)
        _singles_scatter(self.singles, self.single_labels, R, rows.start, scale, W[self._n_table :])

    def transpose(self, R: np.ndarray, pool: Pool) -> np.ndarray:
        """``X.T @ R``, compact."""
        grad = np.zeros(self.size)
        tokens = np.linspace(0, len(R), N_PARTS + 1).astype(int)
        cold, single = _even_parts(self._cold_columns.indptr), _even_parts(self._single_columns.indptr)

        def part(c: int) -> np.ndarray:
            table = np.zeros(len(self._hot.features) * padded(self.width))
            _rows_scatter(self.rows, R[tokens[c] : tokens[c + 1]], tokens[c], self._hot, 1.0, table)
            _rows_gather(self._cold_columns, R, self._cold, cold[c : c + 2], grad)
            _singles_gather(self._single_columns, R, self.single_labels, self.single_pairs, single[c : c + 2], grad)
            return table

        _compress(np.sum(pool.map(part, N_PARTS), axis=0), self._hot, grad)
        return grad


def _even_parts(indptr: np.ndarray) -> np.ndarray:
    """Bounds of N_PARTS ranges of rows with about equally many entries."""
    bounds = np.searchsorted(indptr, np.linspace(0, indptr[-1], N_PARTS + 1)).clip(0, len(indptr) - 1)
    bounds[0], bounds[-1] = 0, len(indptr) - 1
    return bounds


def _rows_from(X: CSR, first: int) -> CSR:
    """The rows of X from `first` on."""
    start = X.indptr[first]
    return CSR(X.indptr[first:] - start, X.indices[start:].copy(), X.data[start:].copy())


def _select(X: CSR, features: np.ndarray, n_features: int) -> CSR:
    """The columns `features` of X, renumbered in that order."""
    position = np.full(n_features, -1, dtype=np.int32)
    position[features] = np.arange(len(features), dtype=np.int32)
    return _renumber(X, position)


@kernel
def _renumber(X, position):
    kept = 0
    for p in range(len(X.indices)):
        kept += position[X.indices[p]] >= 0
    indptr, indices, data = np.zeros_like(X.indptr), np.empty(kept, np.int32), np.empty(kept, X.data.dtype)
    n = 0
    for t in range(len(indptr) - 1):
        for p in range(X.indptr[t], X.indptr[t + 1]):
            f = position[X.indices[p]]
            if f >= 0:
                indices[n] = f
                data[n] = X.data[p]
                n += 1
        indptr[t + 1] = n
    return CSR(indptr, indices, data)


@kernel
def _transpose(X, n_columns):
    """The CSR of X transposed."""
    indptr = np.zeros(n_columns + 1, np.int64)
    for f in X.indices:
        indptr[f + 1] += 1
    for f in range(n_columns):
        indptr[f + 1] += indptr[f]
    indices, data, place = np.empty(len(X.indices), np.int32), np.empty(len(X.data), X.data.dtype), indptr.copy()
    for t in range(len(X.indptr) - 1):
        for p in range(X.indptr[t], X.indptr[t + 1]):
            f = X.indices[p]
            indices[place[f]] = t
            data[place[f]] = X.data[p]
            place[f] += 1
    return CSR(indptr, indices, data)


@kernel
def _expand(w, rows, table):
    P = padded(rows.width)
    for r in range(len(rows.features)):
        for q in range(rows.indptr[rows.features[r]], rows.indptr[rows.features[r] + 1]):
            table[r * P + rows.labels[q]] = w[q]


@kernel
def _compress(table, rows, w):
    P = padded(rows.width)
    for r in range(len(rows.features)):
        for q in range(rows.indptr[rows.features[r]], rows.indptr[rows.features[r] + 1]):
            w[q] = table[r * P + rows.labels[q]]


@kernel
def _rows_forward(X, table, first, out):
    """out[t] = sum_p data[p] * table[indices[p]]."""
    n, K = out.shape
    for t in range(n):
        lo, hi = X.indptr[first + t], X.indptr[first + t + 1]
        _weighted_sum(X.indices, X.data, lo, hi, table, padded(K), K, out, t * K)


@kernel
def _rows_gather(columns, R, rows, part, grad):
    """The gradient of each row in range(*part): sum over its tokens of data * R[t], at its labels."""
    K = rows.width
    row = np.empty(K, R.dtype)
    for r in range(part[0], part[1]):
        lo, hi = columns.indptr[r], columns.indptr[r + 1]
        _weighted_sum(columns.indices, columns.data, lo, hi, R, K, K, row, 0)
        for q in range(rows.indptr[rows.features[r]], rows.indptr[rows.features[r] + 1]):
            grad[q] = row[rows.labels[q]]


@kernel
def _weighted_sum(indices, data, lo, hi, table, stride, K, out, o):
    """out[o : o + K] = sum_{lo <= p < hi} data[p] * table[indices[p] * stride :][:K], three vectors at a time."""
    zero = table.dtype.type(0)
    k = 0
    while k < K:
        a, b, c = splat(zero), splat(zero), splat(zero)
        n = K - k
        if n > 2 * LANES:
            for p in range(lo, hi):
                x, m = splat(table.dtype.type(data[p])), np.int64(indices[p]) * stride + k
                a = fma(x, load(table, m), a)
                b = fma(x, load(table, m + LANES), b)
                c = fma(x, load_part(table, m + 2 * LANES, n - 2 * LANES, zero), c)
            store(out, o + k, a)
            store(out, o + k + LANES, b)
            store_part(out, o + k + 2 * LANES, c, n - 2 * LANES)
            k += 3 * LANES
        else:
            for p in range(lo, hi):
                x, m = splat(table.dtype.type(data[p])), np.int64(indices[p]) * stride + k
                a = fma(x, load_part(table, m, n, zero), a)
            store_part(out, o + k, a, n)
            k += LANES


@kernel
def _rows_scatter(X, R, first, rows, scale, table):
    """table[indices[p]] += scale * data[p] * R[t] for the rows of the first features; rarer ones come later."""
    indptr, indices, data = X.indptr, X.indices, X.data
    n_rows, K, zero = len(rows.features), rows.width, R.dtype.type(0)
    P = padded(K)
    for t in range(len(R)):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            if indices[p] >= n_rows:
                break
            x = splat(R.dtype.type(scale * data[p]))
            for k in range(0, P, LANES):
                m = np.int64(indices[p]) * P + k
                store(table, m, fma(x, load_part(R, t * K + k, K - k, zero), load(table, m)))


@kernel
def _observed_scatter(X, R, first, rows, scale, table):
    """The same for all rows, at their labels alone: a table that stays may not learn weights that do not exist."""
    indptr, indices, data = X.indptr, X.indices, X.data
    P = padded(rows.width)
    for t in range(len(R)):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            f, m = rows.features[indices[p]], np.int64(indices[p]) * P
            for q in range(rows.indptr[f], rows.indptr[f + 1]):
                table[m + rows.labels[q]] += scale * data[p] * R[t, rows.labels[q]]


@kernel
def _singles_forward(X, labels, weights, first, out):
    indptr, indices, data = X.indptr, X.indices, X.data
    for t in range(len(out)):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            out[t, labels[indices[p]]] += data[p] * weights[indices[p]]


@kernel
def _singles_scatter(X, labels, R, first, scale, weights):
    indptr, indices, data = X.indptr, X.indices, X.data
    for t in range(len(R)):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            weights[indices[p]] += scale * data[p] * R[t, labels[indices[p]]]


@kernel
def _singles_gather(columns, R, labels, pairs, part, grad):
    indptr, indices, data = columns.indptr, columns.indices, columns.data
    for f in range(part[0], part[1]):
        total = 0.0
        for p in range(indptr[f], indptr[f + 1]):
            total += data[p] * R[indices[p], labels[f]]
        grad[pairs[f]] = total
