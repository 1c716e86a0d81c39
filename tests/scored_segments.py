"""Scores of the segments of a few short sequences, in all forms, and their enumeration."""

from __future__ import annotations

from typing import NamedTuple

import naive_segments
import numpy as np

from sklearn_struct.containers.structures import Potentials

LENGTHS = (3, 0, 1, 4, 2, 5)
CASES = ("shared", "tables", "forbidden", "float32", "one label", "one length", "strided", "far")


class Case(NamedTuple):
    """Arguments of all functions, as flat arrays."""

    segments: np.ndarray
    pairwise: np.ndarray
    lengths: list[int]

    def tokens(self, i):
        """Where the tokens of sequence i stand."""
        first = sum(self.lengths[:i])
        return slice(first, first + self.lengths[i])

    def steps(self, i):
        """Where the tables of its pairs of neighbours stand."""
        counts = [max(n - 1, 0) for n in self.lengths]
        first = sum(counts[:i])
        return slice(first, first + counts[i])

    def twins(self):
        """The enumeration of each sequence; of whole segments in the order of last tokens."""
        _, L, K = self.segments.shape
        for i, T in enumerate(self.lengths):
            rows = self.segments[self.tokens(i)]
            whole = np.zeros((len(every_segment(T, L)), K))
            for c, (start, stop) in enumerate(every_segment(T, L)):
                whole[c] = rows[start, stop - start - 1]
            shared = self.pairwise.ndim == 2
            tables = self.pairwise[None] if shared else self.pairwise[self.steps(i)]
            moves = tables.reshape(len(tables), tables.shape[1] ** 2)
            none = [np.zeros((1, K))] * (L - 1)
            potentials = Potentials(np.zeros((T, K)), (moves, *none, whole))
            yield naive_segments.Segmented(potentials, (L,) * K)


def every_segment(n_tokens, n_lengths):
    """(start, stop) of all segments, by last tokens and then by lengths."""
    return [
        (stop - length, stop)
        for stop in range(1, n_tokens + 1)
        for length in range(1, min(n_lengths, stop) + 1)
    ]


def case(name, n_sequences=6):
    """Scores of a kind; the lengths repeat. What leads out of a sequence is NaN."""
    rng = np.random.RandomState(0)
    K = 1 if name == "one label" else 2
    L = 1 if name == "one length" else 3
    lengths = [LENGTHS[i % len(LENGTHS)] for i in range(n_sequences)]
    n_steps = sum(max(n - 1, 0) for n in lengths)
    segments = rng.randn(sum(lengths), L, K)
    pairwise = rng.randn(n_steps, K, K) if name == "tables" else rng.randn(K, K)
    if name == "far":
        segments *= 1000
    if name == "forbidden":
        segments[::3, :2, 1] = -np.inf
        segments[:, 1, 0] = -np.inf
        pairwise[0, 1] = -np.inf
    if name == "float32":
        segments = segments.astype(np.float32)
    t = 0
    for n in lengths:
        for left in range(n, 0, -1):
            segments[t, left:] = np.nan
            t += 1
    if name == "strided":
        segments = np.asfortranarray(segments)
        pairwise = np.asfortranarray(pairwise)
    return Case(segments, pairwise, lengths)


def in_form(given, form):
    """segments, pairwise and lengths in another form."""
    rows = [given.segments[given.tokens(i)] for i in range(len(given.lengths))]
    tables = [given.pairwise[given.steps(i)] for i in range(len(given.lengths))]
    shared = given.pairwise.ndim == 2
    if form == "list":
        return rows, given.pairwise if shared else tables, None
    longest = max(given.lengths)
    segments = np.full((len(rows), longest, *given.segments.shape[1:]), np.nan)
    pairwise = np.full((len(rows), longest - 1, *given.pairwise.shape[-2:]), np.nan)
    for i, row in enumerate(rows):
        segments[i, : len(row)] = row
        if not shared:
            pairwise[i, : len(tables[i])] = tables[i]
    return segments, given.pairwise if shared else pairwise, given.lengths
