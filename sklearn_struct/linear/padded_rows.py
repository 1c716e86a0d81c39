"""Sparse X to labels: the weights of a feature form a dense row, padded to whole vectors.

Features with a single label (the large majority in text) stay single numbers, those with few of
many labels lists of numbers. The `HOT` rows, those of the most frequent features, fit half of a
second-level cache and serve most occurrences: their gradient is scattered token by token. That of
all others is gathered feature by feature. These are numbered as they first occur, so that memory is
read nearly in order.

The gradient is made of windows of tokens, one after the other, so that with many labels their
residuals never exist for all tokens at once.
"""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from sklearn_struct.compiled.simd import LANES, aligned, padded
from sklearn_struct.compiled.threads import N_PARTS, Pool, even_parts, longest, parts
from sklearn_struct.containers.csr import CSR
from sklearn_struct.linear.few_labels import (
    few_forward,
    few_scatter,
    few_sums,
    has_few,
)
from sklearn_struct.linear.label_lists import add_lists, label_lists, read_lists, write_lists
from sklearn_struct.linear.padded_row_kernels import (
    compress,
    expand,
    mark,
    rows_forward,
    rows_scatter,
    singles_forward,
    singles_scatter,
)
from sklearn_struct.linear.pass_kernels import add_cold, add_hot, add_singles, put, scores
from sklearn_struct.linear.stored_values import (
    FEW,
    ROW,
    SINGLE,
    Columns,
    columns_of,
    counts_of,
    entries,
    split,
)
from sklearn_struct.linear.vectors_side_by_side import ONE, Grains

__all__ = ["RowsMap"]

# numbers in the gradient table of the most frequent features: less than half of a 1 MB cache
HOT = 49_152


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
        # most features of text go with one label alone, and need no row of zeros for the others
        kind = np.minimum(n_pairs, ROW).astype(np.int8)
        kind[has_few(n_pairs, width)] = FEW
        hot = np.flatnonzero(kind == ROW)
        if not once:
            counts = counts_of(X.indices, len(n_pairs))
            # features that this X lacks would only take places in the cache
            hot = hot[counts[hot] > 0]
            # numbered by frequency; all others are numbered as they first occur, since rare
            # features are rare: reading is then nearly sequential
            hot = hot[np.argsort(-counts[hot], kind="stable")[: HOT // padded(width)]]
        self.n_hot = len(hot)
        number = np.full(len(n_pairs), -1, dtype=np.int32)
        number[hot] = np.arange(self.n_hot)
        self.entries, self.singles, self.few_values = split(entries(X), kind, number, self.n_hot)
        self.rows = label_lists(_in_order(number, kind == ROW), pairs)
        self.single_pairs = _short(pairs.indptr[_in_order(number, kind == SINGLE)])
        stored_singles = self.singles.indices[: self.singles.indptr[-1]]
        labels = pairs.indices[self.single_pairs[stored_singles]]
        self.single_places = _places(self.singles.indptr, labels, width)
        self.few = label_lists(_in_order(number, kind == FEW), pairs)
        if not len(self.few.labels):
            # where rows begin among no values
            self.few_values = self.few_values._replace(indptr=np.zeros(1, np.int64))
        self._n_table = len(self.rows.starts) * padded(width)
        self._n_numbers = self._n_table + len(self.single_pairs)
        self.expanded_size = self._n_numbers + len(self.few.labels)

    @cached_property
    def masks(self) -> np.ndarray:
        """One bit for each number of the table that is a weight."""
        # a bit for each number of a table: the pairs that were not observed must stay 0
        masks = np.zeros(self._n_table // LANES, np.uint8)
        mark(self.rows, self.width, masks)
        return masks

    def expand(self, w: np.ndarray, W: np.ndarray) -> None:
        """Write the compact `w` into W; entries of pairs that have no weight are left alone."""
        expand(w, self.rows, padded(self.width), self.single_pairs, W)
        # each kernel that a small fit does without is one that its process need not compile
        if len(self.few.labels):
            read_lists(w, self.few, W[self._n_numbers :])

    def compress(self, W: np.ndarray) -> np.ndarray:
        w = np.empty(self.size)
        self.compress_one(W, 1, 0, w)
        return w

    def expand_one(self, w: np.ndarray, W: np.ndarray, n: int, c: int) -> None:
        """The same for the c-th of n vectors side by side."""
        table, singles, few = self._split(W, n)
        P = padded(self.width)
        # rows of the same vector are so many numbers apart
        expand(w, self.rows, n * P, self.single_pairs[:0], table[c * P :])
        singles[c::n] = w[self.single_pairs]
        if len(few):
            numbers = np.empty(len(self.few.labels), W.dtype)
            read_lists(w, self.few, numbers)
            few[c::n] = numbers

    def compress_one(self, W: np.ndarray, n: int, c: int, w: np.ndarray) -> None:
        """Write the compact weights of the c-th of n vectors side by side."""
        table, singles, few = self._split(W, n)
        P = padded(self.width)
        w[:] = 0.0
        rows = np.empty(len(self.rows.labels))
        compress(table[c * P :], n * P, self.rows, len(self.rows.starts), rows)
        write_lists(rows, self.rows, w)
        w[self.single_pairs] = singles[c::n]
        write_lists(np.ascontiguousarray(few[c::n]), self.few, w)

    @property
    def grains(self) -> Grains:
        rows = (self._n_table, padded(self.width))
        return [rows, (len(self.single_pairs), 1), (len(self.few.labels), 1)]

    def forward(
        self, W: np.ndarray, rows: slice, out: np.ndarray, scales: np.ndarray = ONE
    ) -> None:
        """``out[:] = X[rows] @ sum_c scales[c] * W_c``."""
        table, singles, few = self._split(W, len(scales))
        of_singles = self.singles, self.single_places, singles
        if scales is ONE:
            scores(self.entries, table, *of_singles, rows.start, out)
        else:
            rows_forward(self.entries, table, rows.start, scales, out)
        if len(singles) and scales is not ONE:
            singles_forward(
                self.singles,
                self.single_places,
                singles,
                rows.start,
                scales,
                out.reshape(-1),
                self.width,
            )
        if len(few):
            few_forward(self.few_values, self.few, few, rows.start, scales, out)

    def scatter(self, R: np.ndarray, rows: slice, scales: np.ndarray, W: np.ndarray) -> None:
        """``W_c += scales[c] * X[rows].T @ R``, for pairs that have a weight."""
        table, singles, few = self._split(W, len(scales))
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
        if len(singles):
            singles_scatter(self.singles, self.single_places, R, rows.start, scales, singles)
        if len(few):
            few_scatter(self.few_values, self.few, R, rows.start, scales, few)

    def _split(self, W: np.ndarray, n: int) -> list[np.ndarray]:
        """The table, the single weights and those of few labels, of n vectors side by side."""
        return [
            W[: n * self._n_table],
            W[n * self._n_table : n * self._n_numbers],
            W[n * self._n_numbers :],
        ]

    def transpose(self, dtype: np.dtype, windows: list[slice]) -> _RowsTranspose:
        return _RowsTranspose(self, dtype, windows)


class _Window(NamedTuple):
    """Some rows, and the values that they have of rare rows and of features of few labels; which
    rows and columns are whose part.
    """

    rows: slice
    cold: Columns
    few: Columns
    tokens: list[slice]
    of_cold: np.ndarray
    of_few: np.ndarray


class _RowsTranspose:
    """X' R, window by window; the rows of R are padded."""

    # written anew for each product
    buffers: ClassVar[tuple[str, ...]] = ("R", "tables", "sums", "few_sums", "single_sums")

    def __init__(self, of: RowsMap, dtype: np.dtype, windows: list[slice]) -> None:
        self.of = of
        self.stride = padded(of.width)
        self.dtype = dtype
        # a table for each part: their sum is made in one order, whatever the threads. Each window
        # reads all of them: of several, each has fewer parts
        self.n_tables = N_PARTS if len(windows) == 1 else N_PARTS // 2
        # gradients of rare features are gathered feature by feature, and need no table of each
        # thread
        self.windows = []
        for rows in windows:
            cold = columns_of(of.entries, rows, of.n_hot, np.diff(of.rows.bounds[of.n_hot :]))
            among = rows if len(of.few.starts) else slice(0, 0)
            few = columns_of(of.few_values, among, 0, np.diff(of.few.bounds))
            # cut by stored values, not by features: these are of very different frequency
            self.windows.append(
                _Window(
                    rows,
                    cold,
                    few,
                    parts(rows.stop - rows.start, self.n_tables),
                    even_parts(cold.values.indptr, self.n_tables),
                    even_parts(few.values.indptr, self.n_tables),
                )
            )
        # by the number of parts: which features are whose
        self.of_singles = {1: np.array([[0, len(of.single_pairs)]])}
        self.begin()

    def begin(self) -> None:
        """Make room for a product, if it was given away."""
        if "R" in vars(self):
            return
        of = self.of
        longest_window = longest([window.rows for window in self.windows])
        self.R = aligned(longest_window * self.stride, self.dtype)
        n_table = of.n_hot * self.stride
        self.tables = aligned(self.n_tables * n_table, self.dtype).reshape(self.n_tables, -1)
        # in the order of rows and of lists, as the compact one is not that of the tokens
        self.sums = np.empty(len(of.rows.labels))
        self.few_sums = np.empty(len(of.few.labels))
        self.single_sums = np.empty(len(of.single_pairs))

    def rest(self) -> None:
        """Give the room away until the next product."""
        for name in self.buffers:
            vars(self).pop(name, None)

    def put(self, R: np.ndarray, rows: slice, first: int) -> None:
        """Keep the residuals of some rows of the window that begins with row `first`."""
        put(R, self.R, (rows.start - first) * self.stride)

    def add(self, pool: Pool, w: int, out: np.ndarray) -> None:
        """Add ``X[rows].T @ R``, compact, of the rows of window w.

        Windows take turns; what is summed up over all of them is added with the last one.
        """
        of = self.of
        window = self.windows[w]
        tokens = window.tokens
        cold = window.of_cold
        few = window.of_few

        if w == 0:
            self.sums[:] = 0.0
            self.few_sums[:] = 0.0
            self.single_sums[:] = 0.0

        def part(c: int) -> None:
            if w == 0:
                # it has the sums of the product before
                self.tables[c] = 0
            R = self.R[tokens[c].start * self.stride : tokens[c].stop * self.stride]
            add_hot(
                of.entries,
                R,
                self.stride,
                window.rows.start + tokens[c].start,
                of.n_hot,
                self.tables[c],
            )
            if cold[c, 1] > cold[c, 0]:
                add_cold(
                    window.cold,
                    self.R,
                    self.stride,
                    cold[c],
                    of.rows,
                    of.n_hot,
                    np.empty(self.stride, self.R.dtype),
                    self.sums,
                )
            if few[c, 1] > few[c, 0]:
                few_sums(window.few, of.few, self.R, self.stride, few[c], self.few_sums)

        pool.map(part, len(self.tables))
        if len(of.single_pairs):
            self._add_singles(pool, window.rows)
        if w == len(self.windows) - 1:
            self._add_sums(out)

    def _add_singles(self, pool: Pool, rows: slice) -> None:
        """Add what some rows have of features with a single weight."""
        of = self.of
        R = self.R[: (rows.stop - rows.start) * self.stride]
        # each part reads all values, so they are few; no sum depends on their number
        n = pool.n_pieces
        if n not in self.of_singles:
            counts = counts_of(of.singles.indices[: of.singles.indptr[-1]], len(of.single_pairs))
            self.of_singles[n] = even_parts(np.append(0, np.cumsum(counts)), n)
        parts_of_singles = self.of_singles[n]

        def part(c: int) -> None:
            add_singles(
                of.singles,
                of.single_places,
                of.width,
                R,
                self.stride,
                rows.start,
                parts_of_singles[c],
                self.single_sums,
            )

        pool.map(part, n)

    def _add_sums(self, out: np.ndarray) -> None:
        """Add the sums over all windows, where weights stand one after the other."""
        of = self.of
        hot = np.sum(self.tables, axis=0)
        rows = np.arange(0, len(hot), self.stride)
        firsts = np.repeat(rows, np.diff(of.rows.bounds[: of.n_hot + 1]))
        self.sums[: len(firsts)] = hot[firsts + of.rows.labels[: len(firsts)]]
        add_lists(self.sums, of.rows, out)
        out[of.single_pairs] = self.single_sums
        if len(self.few_sums):
            add_lists(self.few_sums, of.few, out)


def _places(indptr: np.ndarray, labels: np.ndarray, width: int) -> np.ndarray:
    """Flat place in potentials (n, width), row t and the label, of each value of a token."""
    # half the memory to read, wherever it is enough
    kind = np.int32 if len(indptr) * width < 2**31 else np.int64
    rows = np.arange(0, (len(indptr) - 1) * width, width, dtype=kind)
    places: np.ndarray = np.repeat(rows, np.diff(indptr)) + labels
    return places


def _short(numbers: np.ndarray) -> np.ndarray:
    """Numbers as int32, where that holds them all: half the memory."""
    fit = not len(numbers) or np.max(numbers) < 2**31
    return numbers.astype(np.int32) if fit else numbers


def _in_order(number: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The chosen features that have a number, by number."""
    features = np.flatnonzero(chosen & (number >= 0))
    ordered = np.empty_like(features)
    ordered[number[features]] = features
    return ordered
