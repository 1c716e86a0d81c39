"""Sparse X to labels: the weights of a feature form a dense row, padded to whole vectors.

Features with a single label (the large majority in text) stay single numbers. The `HOT` rows, those
of the most frequent features, fit half of a second-level cache and serve most occurrences: their
gradient is scattered token by token. That of the other, cold rows is gathered feature by feature.
Those and the single numbers are numbered as they first occur, so that memory is read nearly in
order.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from sklearn_struct.compiled.simd import LANES, aligned, padded
from sklearn_struct.compiled.threads import N_PARTS, Pool, even_parts, parts
from sklearn_struct.containers.csr import CSR
from sklearn_struct.linear.padded_row_kernels import (
    Rows,
    compress,
    expand,
    mark,
    put,
    put_singles,
    rows_forward,
    rows_scatter,
    singles_forward,
    singles_scatter,
    singles_sum,
)
from sklearn_struct.linear.stored_values import SINGLE, columns_of, entries, split
from sklearn_struct.linear.vectors_side_by_side import ONE, Grains

__all__ = ["RowsMap"]

HOT = 65_536  # numbers in the gradient table of the most frequent features: half of a 1 MB cache


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
            # features that this X lacks would only take places in the cache
            hot = hot[counts[hot] > 0]
            # numbered by frequency; all others are numbered as they first occur, since rare
            # features are rare: reading is then nearly sequential
            hot = hot[np.argsort(-counts[hot], kind="stable")[: HOT // padded(width)]]
        self.n_hot = len(hot)
        number = np.full(len(n_pairs), -1, dtype=np.int32)
        number[hot] = np.arange(self.n_hot)
        # most features of text go with one label alone, and need no row of zeros for the others
        kind = np.minimum(n_pairs, 2).astype(np.int8)
        self.entries, self.singles = split(entries(X), kind, number, self.n_hot)
        self.rows = Rows(width, _in_order(number, kind == 2), pairs.indptr, pairs.indices)
        self.single_pairs = pairs.indptr[_in_order(number - SINGLE, kind == 1)]
        stored_singles = self.singles.indices[: self.singles.indptr[-1]]
        labels = pairs.indices[self.single_pairs[stored_singles]]
        self.single_places = _places(self.singles.indptr, labels, width)
        self._n_table = len(self.rows.features) * padded(width)
        self.expanded_size = self._n_table + len(self.single_pairs)

    @cached_property
    def masks(self) -> np.ndarray:
        """One bit for each number of the table that is a weight."""
        # a bit for each number of a table: the pairs that were not observed must stay 0
        masks = np.zeros(len(self.rows.features) * padded(self.rows.width) // LANES, np.uint8)
        mark(self.rows, masks)
        return masks

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        """Write the compact `w` into W; entries of pairs that have no weight are left alone."""
        expand(w, self.rows, self.single_pairs, W)

    def compress(self, W: np.ndarray) -> np.ndarray:
        w = np.zeros(self.size)
        compress(W, padded(self.width), self.rows, w)
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
        if len(numbers):
            singles_forward(self.singles, self.single_places, numbers, rows.start, scales, out)

    def scatter(self, R: np.ndarray, rows: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """``W_c += scales[c] * X[rows].T @ R``, for pairs that have a weight."""
        table, numbers = self._split(W, len(scales))
        rows_scatter(
            self.entries,
            R.reshape(-1),
            self.width,
            rows.start,
            self.masks,
            self.width,
            scales,
            table,
        )
        if len(numbers):
            singles_scatter(self.singles, self.single_places, R, rows.start, scales, numbers)

    def _split(self, W: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        return W[: n * self._n_table], W[n * self._n_table :]

    def transpose(self, dtype: np.dtype) -> _RowsTranspose:
        return _RowsTranspose(self, dtype)


class _RowsTranspose:
    """X' R, once all rows of R are put, which are kept padded."""

    # written anew for each product
    buffers: ClassVar[tuple[str, ...]] = ("R", "tables", "values")

    def __init__(self, of: RowsMap, dtype: np.dtype) -> None:
        self.of = of
        self.stride = padded(of.width)
        n_tokens = len(of.entries.indptr) - 1
        self.no_masks = np.empty(0, dtype=np.uint8)  # the sums of unobserved pairs are never read
        self.R = aligned(n_tokens * self.stride, dtype)
        # a table for each part: their sum is made in one order, whatever the threads
        self.tables = aligned(N_PARTS * of.n_hot * self.stride, dtype).reshape(N_PARTS, -1)
        n_cold = len(of.rows.features) - of.n_hot
        # gradients of rare features are gathered feature by feature, and need no table of each
        # thread
        self.columns, _ = columns_of(of.entries, of.n_hot, n_cold)
        columns, self.places = columns_of(of.singles, 0, len(of.single_pairs))
        self.single_bounds = columns.indptr
        self.values = np.empty(columns.indptr[-1], dtype)

    def put(self, R: np.ndarray, rows: slice) -> None:
        """Keep the residuals of some rows; those at single numbers go where they are summed."""
        put(R, self.R, rows.start)
        put_singles(self.of.singles, self.of.single_places, R, rows.start, self.places, self.values)

    def product(self, pool: Pool, out: np.ndarray) -> None:
        """Write ``X.T @ R``, compact."""
        out[:] = 0.0
        of = self.of
        tokens = parts(len(self.of.entries.indptr) - 1)
        # cut by stored values, not by features: these are of very different frequency
        cold = even_parts(self.columns.indptr)
        single = even_parts(self.single_bounds)

        def part(c: int) -> None:
            # it has the sums of the product before
            self.tables[c] = 0
            R = self.R[tokens[c].start * self.stride : tokens[c].stop * self.stride]
            rows_scatter(
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
            compress(sums.reshape(-1), of.width, of.rows._replace(features=features), out)
            singles_sum(self.values, self.single_bounds, of.single_pairs, single[c], out)

        pool.map(part, N_PARTS)
        hot = of.rows._replace(features=of.rows.features[: of.n_hot])
        compress(np.sum(self.tables, axis=0), self.stride, hot, out)


def _places(indptr: np.ndarray, labels: np.ndarray, width: int) -> np.ndarray:
    """Flat place in potentials (n, width), row t and the label, of each value of a token."""
    # half the memory to read, wherever it is enough
    kind = np.int32 if len(indptr) * width < 2**31 else np.int64
    rows = np.arange(0, (len(indptr) - 1) * width, width, dtype=kind)
    places: np.ndarray = np.repeat(rows, np.diff(indptr)) + labels
    return places


def _in_order(number: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The chosen features that have a number, by number."""
    features = np.flatnonzero(chosen & (number >= 0))
    ordered = np.empty_like(features)
    ordered[number[features]] = features
    return ordered
