"""Sparse X to labels: the weights of a feature form a dense row, padded to whole vectors.

Features with a single label (the large majority in text) stay single numbers. The `HOT` rows, those
of the most frequent features, fit half of a second-level cache and serve most occurrences: their
gradient is scattered token by token. That of the other, cold rows is gathered feature by feature.
Those and the single numbers are numbered as they first occur, so that memory is read nearly in
order.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    aligned,
    at,
    cast,
    fma,
    keep,
    load,
    load_part,
    mul,
    padded,
    prefetch,
    splat,
    store,
    store_part,
)
from sklearn_struct.compiled.threads import N_PARTS, Pool, even_parts, parts
from sklearn_struct.containers.csr import CSR
from sklearn_struct.linear.entries import AHEAD, SINGLE, Entries, columns_of, split
from sklearn_struct.linear.interleaved import ONE, Grains

__all__ = ["RowsMap", "rows_forward"]

HOT = 65_536  # numbers in the gradient table of the most frequent features: half of a 1 MB cache


class _Rows(NamedTuple):
    """The weights of row r of a table stand, compact, at the pairs (features[r], labels) of a CSR
    pattern.
    """

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
        self.width = width
        self.size = len(pairs.indices)
        self.dtype = X.data.dtype
        n_pairs = np.diff(pairs.indptr)
        hot = np.flatnonzero(n_pairs > 1)
        if not once:
            counts = np.bincount(X.indices, minlength=len(n_pairs))
            hot = hot[counts[hot] > 0]
            hot = hot[np.argsort(-counts[hot], kind="stable")[: HOT // padded(width)]]
        self.n_hot = len(hot)
        number = np.full(len(n_pairs), -1, dtype=np.int32)
        number[hot] = np.arange(self.n_hot)
        data, step = (np.ones(1, X.data.dtype), 0) if np.all(X.data == 1) else (X.data, 1)
        kind = np.minimum(n_pairs, 2).astype(np.int8)
        stored = Entries(X.indptr, X.indices, data, step)
        self.entries, self.singles = split(stored, kind, number, self.n_hot)
        self.rows = _Rows(width, _in_order(number, kind == 2), pairs.indptr, pairs.indices)
        self.single_pairs = pairs.indptr[_in_order(number - SINGLE, kind == 1)]
        stored_singles = self.singles.indices[: self.singles.indptr[-1]]
        labels = pairs.indices[self.single_pairs[stored_singles]]
        self.single_places = _places(self.singles.indptr, labels, width)
        self._n_table = len(self.rows.features) * padded(width)
        self.expanded_size = self._n_table + len(self.single_pairs)

    @cached_property
    def masks(self) -> np.ndarray:
        """One bit for each number of the table that is a weight."""
        masks = np.zeros(len(self.rows.features) * padded(self.rows.width) // LANES, np.uint8)
        _mark(self.rows, masks)
        return masks

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        """Write the compact `w` into W; entries of pairs that have no weight are left alone."""
        _expand(w, self.rows, self.single_pairs, W)

    def compress(self, W: np.ndarray) -> np.ndarray:
        w = np.zeros(self.size)
        _compress(W, padded(self.width), self.rows, w)
        w[self.single_pairs] = W[self._n_table :]
        return w

    @property
    def grains(self) -> Grains:
        return [(self._n_table, padded(self.width)), (len(self.single_pairs), 1)]

    def forward(
        self, W: np.ndarray, rows: slice, out: np.ndarray, scales: np.ndarray = ONE
    ) -> None:
        """``out[:] = X[rows] @ sum_c scales[c] * W_c``."""
        table, numbers = self._split(W, len(scales))
        rows_forward(self.entries, table, rows.start, scales, out)
        _singles_forward(self.singles, self.single_places, numbers, rows.start, scales, out)

    def scatter(self, R: np.ndarray, rows: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """``W_c += scales[c] * X[rows].T @ R``, for pairs that have a weight."""
        table, numbers = self._split(W, len(scales))
        _rows_scatter(
            self.entries,
            R.reshape(-1),
            self.width,
            rows.start,
            self.masks,
            self.width,
            scales,
            table,
        )
        _singles_scatter(self.singles, self.single_places, R, rows.start, scales, numbers)

    def _split(self, W: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        return W[: n * self._n_table], W[n * self._n_table :]

    def transpose(self, dtype: np.dtype) -> _RowsTranspose:
        return _RowsTranspose(self, dtype)


class _RowsTranspose:
    """X' R, once all rows of R are put, which are kept padded."""

    def __init__(self, of: RowsMap, dtype: np.dtype) -> None:
        self.of = of
        self.stride = padded(of.width)
        n_tokens = len(of.entries.indptr) - 1
        self.no_masks = np.empty(0, dtype=np.uint8)  # the sums of unobserved pairs are never read
        self.R = aligned(n_tokens * self.stride, dtype)
        self.tables = aligned(N_PARTS * of.n_hot * self.stride, dtype).reshape(N_PARTS, -1)
        n_cold = len(of.rows.features) - of.n_hot
        self.columns, _ = columns_of(of.entries, of.n_hot, n_cold)
        columns, self.places = columns_of(of.singles, 0, len(of.single_pairs))
        self.single_bounds = columns.indptr
        self.values = np.empty(columns.indptr[-1], dtype)

    def put(self, R: np.ndarray, rows: slice) -> None:
        """Keep the residuals of some rows; those at single numbers go to the place where their sum
        is taken.
        """
        _put(R, self.R, rows.start)
        _put_singles(
            self.of.singles, self.of.single_places, R, rows.start, self.places, self.values
        )

    def product(self, pool: Pool, out: np.ndarray) -> None:
        """Write ``X.T @ R``, compact."""
        out[:] = 0.0
        of = self.of
        tokens = parts(len(self.of.entries.indptr) - 1)
        cold = even_parts(self.columns.indptr)
        single = even_parts(self.single_bounds)

        def part(c: int) -> None:
            self.tables[c] = 0
            R = self.R[tokens[c].start * self.stride : tokens[c].stop * self.stride]
            _rows_scatter(
                of.entries,
                R,
                self.stride,
                tokens[c].start,
                self.no_masks,
                of.width,
                ONE,
                self.tables[c],
            )
            sums = np.empty((cold[c, 1] - cold[c, 0], of.width), self.R.dtype)
            rows_forward(self.columns, self.R, cold[c, 0], ONE, sums)
            features = of.rows.features[of.n_hot :][cold[c, 0] : cold[c, 1]]
            _compress(sums.reshape(-1), of.width, of.rows._replace(features=features), out)
            _singles_sum(self.values, self.single_bounds, of.single_pairs, single[c], out)

        pool.map(part, N_PARTS)
        hot = of.rows._replace(features=of.rows.features[: of.n_hot])
        _compress(np.sum(self.tables, axis=0), self.stride, hot, out)


def _places(indptr: np.ndarray, labels: np.ndarray, width: int) -> np.ndarray:
    """Flat place in potentials (n, width), row t and the label, of each value of a token."""
    kind = np.int32 if len(indptr) * width < 2**31 else np.int64
    return (
        np.repeat(np.arange(0, (len(indptr) - 1) * width, width, dtype=kind), np.diff(indptr))
        + labels
    )


def _in_order(number: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The chosen features that have a number, by number."""
    features = np.flatnonzero(chosen & (number >= 0))
    ordered = np.empty_like(features)
    ordered[number[features]] = features
    return ordered


@kernel
def _mark(rows, masks):
    P = padded(rows.width)
    for r in range(len(rows.features)):
        for q in range(rows.indptr[rows.features[r]], rows.indptr[rows.features[r] + 1]):
            place = r * P + rows.labels[q]
            masks[place // LANES] |= 1 << (place % LANES)


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
def rows_forward(X, table, first, scales, out):
    """out[t] = sum_p data[p] * table[indices[p]] over the stored values p of row first + t, three
    vectors at a time.

    Row i of table c of those that stand side by side, `scales[c]` each, has number i * len(scales)
    + c.
    """
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    n, K = out.shape
    P = padded(K)
    zero = splat(table.dtype.type(0))
    one = splat(table.dtype.type(1))
    stride = P * len(scales)
    for t in range(n):
        k = 0
        o = t * K
        while k < P:
            wide = k + 3 * LANES <= P
            A = zero
            B = zero
            C = zero
            for copy in range(len(scales)):
                a = zero
                b = zero
                c = zero
                i = copy * P + k
                for p in range(indptr[first + t], indptr[first + t + 1]):
                    m = np.int64(at(indices, p)) * stride + i
                    later = np.int64(at(indices, p + AHEAD)) * stride + i
                    x = one if step == 0 else splat(table.dtype.type(at(data, p * step)))
                    prefetch(table, later)
                    a = fma(x, load(table, m), a)
                    if wide:
                        prefetch(table, later + LANES)
                        prefetch(table, later + 2 * LANES)
                        b = fma(x, load(table, m + LANES), b)
                        c = fma(x, load(table, m + 2 * LANES), c)
                scale = splat(table.dtype.type(scales[copy]))
                A = fma(scale, a, A)
                B = fma(scale, b, B)
                C = fma(scale, c, C)
            store_part(out, o + k, A, K - k)
            if wide:
                store_part(out, o + k + LANES, B, K - k - LANES)
                store_part(out, o + k + 2 * LANES, C, K - k - 2 * LANES)
            k += 3 * LANES if wide else LANES


@kernel
def _rows_scatter(X, R, R_stride, first, masks, K, scales, table):
    """table[indices[p]] += scales * data[p] * R[t] for rows that the tables have; masks, if any,
    keep only weights.
    """
    indptr = X.indptr
    indices = X.indices
    data = X.data
    step = X.step
    P = padded(K)
    zero = R.dtype.type(0)
    masked = len(masks) > 0
    stride = P * len(scales)
    n_rows = len(table) // stride
    for t in range(len(R) // R_stride):
        k = P if masked and not _any(R, t * R_stride, K) else 0
        while k < P:
            wide = k + 3 * LANES <= P
            i = t * R_stride + k
            a = cast(load_part(R, i, K - k, zero), table)
            b = cast(load_part(R, i + LANES, K - k - LANES, zero), table)
            c = cast(load_part(R, i + 2 * LANES, K - k - 2 * LANES, zero), table)
            for copy in range(len(scales)):
                i = copy * P + k
                scale = splat(table.dtype.type(scales[copy]))
                for p in range(indptr[first + t], indptr[first + t + 1]):
                    if at(indices, p) >= n_rows:
                        break  # values of hot rows come first
                    if masked:  # a table of all rows, larger than a cache
                        later = np.int64(at(indices, p + AHEAD)) * stride + i
                        prefetch(table, later)
                        if wide:
                            prefetch(table, later + LANES)
                            prefetch(table, later + 2 * LANES)
                    m = np.int64(at(indices, p)) * stride + i
                    v = (np.int64(at(indices, p)) * P + k) // LANES
                    x = (
                        scale
                        if step == 0
                        else mul(scale, splat(table.dtype.type(at(data, p * step))))
                    )
                    store(table, m, fma(x, keep(a, at(masks, v)) if masked else a, load(table, m)))
                    if wide:
                        m += LANES
                        store(
                            table,
                            m,
                            fma(x, keep(b, at(masks, v + 1)) if masked else b, load(table, m)),
                        )
                        m += LANES
                        store(
                            table,
                            m,
                            fma(x, keep(c, at(masks, v + 2)) if masked else c, load(table, m)),
                        )
            k += 3 * LANES if wide else LANES


@inlined
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
            store(
                kept, (first + t) * padded(K) + k, cast(load_part(R, t * K + k, K - k, 0.0), kept)
            )


@kernel
def _put_singles(X, sources, R, first, places, values):
    data = X.data
    step = X.step
    R_flat = R.reshape(-1)
    o = first * R.shape[1]
    for p in range(X.indptr[first], X.indptr[first + len(R)]):
        prefetch(values, np.int64(at(places, p + AHEAD)))
        values[at(places, p)] = at(data, p * step) * at(R_flat, at(sources, p) - o)


@kernel
def _singles_sum(values, bounds, pairs, part, grad):
    for f in range(part[0], part[1]):
        total = 0.0
        for p in range(bounds[f], bounds[f + 1]):
            total += values[p]
        grad[pairs[f]] = total


@kernel
def _singles_forward(X, places, weights, first, scales, out):
    """Values of single-label features stand at flat `places` of potentials: one loop over all of
    them, not by token.
    """
    indices = X.indices
    data = X.data
    step = X.step
    flat = out.reshape(-1)
    o = first * out.shape[1]
    for p in range(X.indptr[first], X.indptr[first + len(out)]):
        i = np.int64(at(indices, p)) * len(scales)
        later = np.int64(at(indices, p + AHEAD)) * len(scales)
        prefetch(weights, later)
        for copy in range(len(scales)):
            x = out.dtype.type(scales[copy] * at(data, p * step))
            flat[at(places, p) - o] += x * at(weights, i + copy)


@kernel
def _singles_scatter(X, places, R, first, scales, weights):
    indices = X.indices
    data = X.data
    step = X.step
    flat = R.reshape(-1)
    o = first * R.shape[1]
    for p in range(X.indptr[first], X.indptr[first + len(R)]):
        i = np.int64(at(indices, p)) * len(scales)
        later = np.int64(at(indices, p + AHEAD)) * len(scales)
        prefetch(weights, later)
        r = at(flat, at(places, p) - o)
        for copy in range(len(scales)):
            weights[i + copy] += scales[copy] * at(data, p * step) * r
