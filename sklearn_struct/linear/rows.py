"""Sparse X to labels: the weights of a feature form a dense row, padded to whole vectors.

Features with a single label (the large majority in text) stay single numbers. The `HOT` rows, those of the most
frequent features, fit half of a second-level cache and serve most occurrences: their gradient is scattered token by
token. That of the other, cold rows is gathered feature by feature. Those and the single numbers are numbered as
they first occur, so that memory is read nearly in order.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from sklearn_struct.batch import CSR
from sklearn_struct.kernel import kernel
from sklearn_struct.simd import (
    LANES,
    aligned,
    cast,
    fma,
    keep,
    load,
    load_part,
    padded,
    prefetch,
    splat,
    store,
    store_part,
)
from sklearn_struct.threads import N_PARTS, Pool, even_parts, parts

__all__ = ["RowsMap"]

HOT = 65_536  # numbers in the gradient table of the most frequent features: half of a 1 MB cache
SINGLE = 1 << 30  # first number of the features with a single label, before they are shared out
AHEAD = 40  # stored values from now whose rows are fetched into the caches: about two tokens of text


class _Entries(NamedTuple):
    """Stored values, token by token or feature by feature; where all are 1, `data` holds one and `step` is 0.

    `indices` goes on for AHEAD more.
    """

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    step: int


class _Rows(NamedTuple):
    """The weights of row r of a table stand, compact, at the pairs (features[r], labels) of a CSR pattern."""

    width: int
    features: np.ndarray
    indptr: np.ndarray
    labels: np.ndarray


class RowsMap:
    """X sparse, weights as dense rows of a table and as single numbers.

    Parameters
    ----------
    X : CSR
        n rows, m features.
    pairs : CSR
        m rows: the labels for which each feature has a weight; its data are not used.
    width : int
        Number of labels.
    once : bool, default=False
        For a single product: without the order by frequency, and without `transpose`.
    """

    def __init__(self, X: CSR, pairs: CSR, width: int, once: bool = False) -> None:
        self.width, self.size, self.dtype = width, len(pairs.indices), X.data.dtype
        n_pairs = np.diff(pairs.indptr)
        hot = np.flatnonzero(n_pairs > 1)
        if not once:
            self.counts = np.bincount(X.indices, minlength=len(n_pairs))
            hot = hot[self.counts[hot] > 0]
            hot = hot[np.argsort(-self.counts[hot], kind="stable")[: HOT // padded(width)]]
        self.n_hot, number = len(hot), np.full(len(n_pairs), -1, dtype=np.int32)
        number[hot] = np.arange(self.n_hot)
        data, step = (np.ones(1, X.data.dtype), 0) if np.all(X.data == 1) else (X.data, 1)
        kind = np.minimum(n_pairs, 2).astype(np.int8)
        stored = _Entries(X.indptr, X.indices, data, step)
        self.entries, self.singles = _split(stored, kind, number, self.n_hot)
        self.rows = _Rows(width, _in_order(number, kind == 2), pairs.indptr, pairs.indices)
        self.single_features = _in_order(number - SINGLE, kind == 1)
        self.single_pairs = pairs.indptr[self.single_features]
        stored_singles = self.singles.indices[: self.singles.indptr[-1]]
        self.single_labels = pairs.indices[self.single_pairs[stored_singles]]  # of each stored value
        self._n_table = len(self.rows.features) * padded(width)
        self.expanded_size = self._n_table + len(self.single_pairs)

    @cached_property
    def masks(self) -> np.ndarray:
        """One bit for each number of the table that is a weight."""
        return _masks(self.rows)

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        """Write the compact `w` into W; entries of pairs that have no weight are left alone."""
        _expand(w, self.rows, self.single_pairs, W)

    def compress(self, W: np.ndarray) -> np.ndarray:
        w = np.zeros(self.size)
        _compress(W, padded(self.width), self.rows, w)
        w[self.single_pairs] = W[self._n_table :]
        return w

    def forward(self, W: np.ndarray, rows: slice, out: np.ndarray) -> None:
        """``out[:] = X[rows] @ W``."""
        _rows_forward(self.entries, W, rows.start, out)
        _singles_forward(self.singles, self.single_labels, W[self._n_table :], rows.start, out)

    def scatter(self, R: np.ndarray, rows: slice, scale: float, W: np.ndarray) -> None:
        """``W += scale * X[rows].T @ R``, for pairs that have a weight."""
        _rows_scatter(
            self.entries, R.reshape(-1), self.width, rows.start, self.masks, self.width, scale, W[: self._n_table]
        )
        _singles_scatter(self.singles, self.single_labels, R, rows.start, scale, W[self._n_table :])

    def transpose(self, dtype: np.dtype) -> _RowsTranspose:
        return _RowsTranspose(self, dtype)


class _RowsTranspose:
    """X' R, once all rows of R are put, which are kept padded."""

    def __init__(self, of: RowsMap, dtype: np.dtype) -> None:
        self.of, self.stride = of, padded(of.width)
        n_tokens = len(of.entries.indptr) - 1
        self.no_masks = np.empty(0, dtype=np.uint8)  # the sums of unobserved pairs are never read
        self.R = aligned(n_tokens * self.stride, dtype)
        self.tables = aligned(N_PARTS * of.n_hot * self.stride, dtype).reshape(N_PARTS, -1)
        no_places, self.places = np.empty(0, np.int32), np.empty(len(of.single_labels), np.int32)
        self.columns = _columns(of.entries, of.n_hot, of.counts[of.rows.features[of.n_hot :]], no_places)
        self.single_bounds = _columns(of.singles, 0, of.counts[of.single_features], self.places).indptr
        self.values = np.empty(len(self.places), dtype)

    def put(self, R: np.ndarray, rows: slice) -> None:
        """Keep the residuals of some rows; those at single numbers go to the place where their sum is taken."""
        _put(R, self.R, rows.start)
        _put_singles(self.of.singles, self.of.single_labels, R, rows.start, self.places, self.values)

    def product(self, pool: Pool, out: np.ndarray) -> None:
        """Write ``X.T @ R``, compact."""
        out[:] = 0.0
        of, tokens = self.of, parts(len(self.of.entries.indptr) - 1)
        cold, single = even_parts(self.columns.indptr), even_parts(self.single_bounds)

        def part(c: int) -> None:
            self.tables[c] = 0
            R = self.R[tokens[c].start * self.stride : tokens[c].stop * self.stride]
            _rows_scatter(of.entries, R, self.stride, tokens[c].start, self.no_masks, of.width, 1.0, self.tables[c])
            sums = np.empty((cold[c, 1] - cold[c, 0], of.width), self.R.dtype)
            _rows_forward(self.columns, self.R, cold[c, 0], sums)
            features = of.rows.features[of.n_hot :][cold[c, 0] : cold[c, 1]]
            _compress(sums.reshape(-1), of.width, of.rows._replace(features=features), out)
            _singles_sum(self.values, self.single_bounds, of.single_pairs, single[c], out)

        pool.map(part, N_PARTS)
        hot = of.rows._replace(features=of.rows.features[: of.n_hot])
        _compress(np.sum(self.tables, axis=0), self.stride, hot, out)


def _in_order(number: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The chosen features that have a number, by number."""
    features = np.flatnonzero(chosen & (number >= 0))
    ordered = np.empty_like(features)
    ordered[number[features]] = features
    return ordered


def _split(X: _Entries, kind: np.ndarray, number: np.ndarray, n_hot: int) -> tuple[_Entries, _Entries]:
    """Share the values of each token out to rows (kind 2, hot ones first) and singles (kind 1)."""
    rows, singles = _unset(X, len(X.indices)), _unset(X, len(X.indices))
    later = np.empty(np.max(np.diff(X.indptr), initial=0), dtype=np.int64)
    n_rows, n_singles = _share_out(X, kind, number, n_hot, later, rows, singles)
    return _trim(rows, n_rows), _trim(singles, n_singles)


def _unset(X: _Entries, n: int) -> _Entries:
    """Room for n values of the kind of X."""
    data = np.ones(n * X.step + 1, dtype=X.data.dtype)
    return _Entries(np.zeros_like(X.indptr), np.empty(n + AHEAD, dtype=np.int32), data, X.step)


def _trim(X: _Entries, n: int) -> _Entries:
    """Without the memory behind the first n values, which was never touched."""
    X.indices[n : n + AHEAD] = 0
    return X._replace(indices=X.indices[: n + AHEAD], data=X.data[: n * X.step + 1])


@kernel
def _share_out(X, kind, number, n_hot, later, rows, singles):
    """Fill rows and singles; return their numbers of values.

    Hot rows have their numbers; the other features get theirs as they occur, singles from SINGLE on. `later` is
    room for the values of a token.
    """
    indptr, indices, data, step = X.indptr, X.indices, X.data, X.step
    row_indices, row_data, single_indices, single_data = rows.indices, rows.data, singles.indices, singles.data
    known_rows, known_singles, r, s = n_hot, 0, 0, 0
    for t in range(len(indptr) - 1):
        n_later = 0
        for p in range(indptr[t], indptr[t + 1]):
            f = indices[p]
            if number[f] < 0 and kind[f] == 2:
                number[f] = known_rows
                known_rows += 1
            elif number[f] < 0 and kind[f] == 1:
                number[f] = SINGLE + known_singles
                known_singles += 1
            if number[f] >= SINGLE:
                single_indices[s], single_data[s * step] = number[f] - SINGLE, data[p * step]
                s += 1
            elif number[f] >= n_hot:
                later[n_later] = p
                n_later += 1
            elif number[f] >= 0:
                row_indices[r], row_data[r * step] = number[f], data[p * step]
                r += 1
        for q in range(n_later):
            row_indices[r], row_data[r * step] = number[indices[later[q]]], data[later[q] * step]
            r += 1
        rows.indptr[t + 1], singles.indptr[t + 1] = r, s
    return r, s


def _columns(X: _Entries, first: int, counts: np.ndarray, places: np.ndarray) -> _Entries:
    """The values of features from `first` on, which have `counts` of them; `places`, if any, gets where each went."""
    columns = _unset(X, int(np.sum(counts)))
    columns.indices[len(columns.indices) - AHEAD :] = 0
    columns = columns._replace(indptr=np.concatenate([[0], np.cumsum(counts)]))
    _transpose(X, first, columns, columns.indptr[:-1].copy(), places)
    return columns


@kernel
def _transpose(X, first, columns, place, places):
    """Fill the columns and, if there is room, places; `place` is where the next value of each feature goes."""
    indptr, indices, data, step, tokens = X.indptr, X.indices, X.data, X.step, columns.indices
    for t in range(len(indptr) - 1):
        for p in range(indptr[t], indptr[t + 1]):
            f = indices[p] - first
            if f >= 0:
                if len(places) > 0:
                    places[p] = place[f]
                tokens[place[f]] = t
                columns.data[place[f] * step] = data[p * step]
                place[f] += 1


@kernel
def _masks(rows):
    P = padded(rows.width)
    masks = np.zeros(len(rows.features) * P // LANES, np.uint8)
    for r in range(len(rows.features)):
        for q in range(rows.indptr[rows.features[r]], rows.indptr[rows.features[r] + 1]):
            place = r * P + rows.labels[q]
            masks[place // LANES] |= 1 << (place % LANES)
    return masks


@kernel
def _expand(w, rows, single_pairs, W):
    P = padded(rows.width)
    for r in range(len(rows.features)):
        for q in range(rows.indptr[rows.features[r]], rows.indptr[rows.features[r] + 1]):
            W[r * P + rows.labels[q]] = w[q]
    n_table = len(rows.features) * P
    for f in range(len(single_pairs)):
        W[n_table + f] = w[single_pairs[f]]


@kernel
def _compress(table, stride, rows, w):
    for r in range(len(rows.features)):
        for q in range(rows.indptr[rows.features[r]], rows.indptr[rows.features[r] + 1]):
            w[q] = table[r * stride + rows.labels[q]]


@kernel
def _rows_forward(X, table, first, out):
    """out[t] = sum_p data[p] * table[indices[p]] over the stored values p of row first + t, three vectors at a time."""
    indptr, indices, data, step = X.indptr, X.indices, X.data, X.step
    n, K = out.shape
    P, zero = padded(K), splat(table.dtype.type(0))
    for t in range(n):
        k, o = 0, t * K
        while k < P:
            wide = k + 3 * LANES <= P
            a, b, c = zero, zero, zero
            for p in range(indptr[first + t], indptr[first + t + 1]):
                m, later = np.int64(indices[p]) * P + k, np.int64(indices[p + AHEAD]) * P + k
                x = splat(table.dtype.type(data[p * step]))
                prefetch(table, later)
                a = fma(x, load(table, m), a)
                if wide:
                    prefetch(table, later + LANES)
                    prefetch(table, later + 2 * LANES)
                    b = fma(x, load(table, m + LANES), b)
                    c = fma(x, load(table, m + 2 * LANES), c)
            store_part(out, o + k, a, K - k)
            if wide:
                store_part(out, o + k + LANES, b, K - k - LANES)
                store_part(out, o + k + 2 * LANES, c, K - k - 2 * LANES)
            k += 3 * LANES if wide else LANES


@kernel
def _rows_scatter(X, R, stride, first, masks, K, scale, table):
    """table[indices[p]] += scale * data[p] * R[t] for the rows that the table has; masks, if any, keep only weights."""
    indptr, indices, data, step = X.indptr, X.indices, X.data, X.step
    P, zero, masked = padded(K), R.dtype.type(0), len(masks) > 0
    n_rows = len(table) // P
    for t in range(len(R) // stride):
        k = P if masked and not _any(R, t * stride, K) else 0
        while k < P:
            wide = k + 3 * LANES <= P
            i = t * stride + k
            a = cast(load_part(R, i, K - k, zero), table)
            b = cast(load_part(R, i + LANES, K - k - LANES, zero), table)
            c = cast(load_part(R, i + 2 * LANES, K - k - 2 * LANES, zero), table)
            for p in range(indptr[first + t], indptr[first + t + 1]):
                if indices[p] >= n_rows:
                    break  # values of hot rows come first
                if masked:  # a table of all rows, larger than a cache
                    later = np.int64(indices[p + AHEAD]) * P + k
                    prefetch(table, later)
                    if wide:
                        prefetch(table, later + LANES)
                        prefetch(table, later + 2 * LANES)
                m = np.int64(indices[p]) * P + k
                x, v = splat(table.dtype.type(scale * data[p * step])), m // LANES
                store(table, m, fma(x, keep(a, masks[v]) if masked else a, load(table, m)))
                if wide:
                    m += LANES
                    store(table, m, fma(x, keep(b, masks[v + 1]) if masked else b, load(table, m)))
                    m += LANES
                    store(table, m, fma(x, keep(c, masks[v + 2]) if masked else c, load(table, m)))
            k += 3 * LANES if wide else LANES


@kernel
def _any(R, i, n):
    """Whether a row is not zero; of perceptrons most are."""
    found = False
    for k in range(i, i + n):
        found |= R[k] != 0.0
    return found


@kernel
def _put(R, kept, first):
    n, K = R.shape
    for t in range(n):
        for k in range(0, K, LANES):
            store(kept, (first + t) * padded(K) + k, cast(load_part(R, t * K + k, K - k, 0.0), kept))


@kernel
def _put_singles(X, labels, R, first, places, values):
    indptr, data, step = X.indptr, X.data, X.step
    for t in range(len(R)):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            values[places[p]] = data[p * step] * R[t, labels[p]]


@kernel
def _singles_sum(values, bounds, pairs, part, grad):
    for f in range(part[0], part[1]):
        total = 0.0
        for p in range(bounds[f], bounds[f + 1]):
            total += values[p]
        grad[pairs[f]] = total


@kernel
def _singles_forward(X, labels, weights, first, out):
    indptr, indices, data, step = X.indptr, X.indices, X.data, X.step
    for t in range(len(out)):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            out[t, labels[p]] += data[p * step] * weights[indices[p]]


@kernel
def _singles_scatter(X, labels, R, first, scale, weights):
    indptr, indices, data, step = X.indptr, X.indices, X.data, X.step
    for t in range(len(R)):
        for p in range(indptr[first + t], indptr[first + t + 1]):
            weights[indices[p]] += scale * data[p * step] * R[t, labels[p]]
