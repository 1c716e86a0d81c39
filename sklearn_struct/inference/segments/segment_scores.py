"""Structures and potentials of segmentations as kernels take them: flat tuples of arrays.

A labelling of tokens says where segments begin: the code ``k`` is the first token of a segment with
label k, ``K + k`` a later one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sklearn_struct.compiled.kernel import inlined, kernel
from sklearn_struct.compiled.simd import (
    LANES,
    Vector,
    add,
    fma,
    load,
    load_part,
    prefetch,
    splat,
    store,
    store_part,
    total,
)
from sklearn_struct.containers.structures import Potentials, Structure

__all__ = [
    "Places",
    "Scores",
    "by_first_token",
    "by_last_token",
    "first_candidate",
    "n_candidates",
    "places",
    "scores",
    "write_out",
]

AHEAD = 8192  # numbers that are read before they are needed; they stay in the processor's cache


class Scores(NamedTuple):
    """Log-potentials of segments, or sums of the same shape.

    ``node`` (n, K) of tokens; ``edge`` (n_edges or 1, K, K) of neighbouring segments, an edge being
    that into the first token of the second one; ``length`` (1 or 2, L, K) of segments of l + 1
    tokens, the last table being that of the last segments of sequences; ``first`` and ``last`` (n
    or 0, K) of the tokens at both ends of a segment; ``whole`` (n_candidates or 0, K) of whole
    segments.
    """

    node: np.ndarray
    edge: np.ndarray
    length: np.ndarray
    first: np.ndarray
    last: np.ndarray
    whole: np.ndarray


class Places(NamedTuple):
    """Which tokens, edges and candidates a sequence has."""

    offsets: np.ndarray
    edge_offsets: np.ndarray
    whole_offsets: np.ndarray


@kernel
def first_candidate(last: int, n_lengths: int) -> int:
    """How many candidates of a sequence end before its token `last`.

    Candidates stand in the order of their last tokens, and then of their lengths.
    """
    short = min(last, n_lengths)
    return short * (short + 1) // 2 + (last - short) * n_lengths


def n_candidates(lengths: np.ndarray, n_lengths: int) -> np.ndarray:
    """How many segments of at most `n_lengths` tokens sequences of these lengths have."""
    short = np.minimum(lengths, n_lengths)
    count: np.ndarray = short * (short + 1) // 2 + (lengths - short) * n_lengths
    return count


def places(structure: Structure, n_own: int) -> Places:
    """The arrays of a structure side by side; `n_own` families come before that of whole segments,
    if there is one.
    """
    offsets, families, _ = structure
    whole = families[n_own] if len(families) > n_own else families[0]
    return Places(offsets, families[0].offsets, whole.offsets)


def scores(
    potentials: Potentials, structure: Structure, longest: np.ndarray, has_ends: bool
) -> Scores:
    """The tables of potentials side by side, in the float type of sums; -inf for lengths that a
    label does not have.
    """
    node, (edge, *others) = potentials
    n_lengths = int(longest.max())
    lengths = others[: n_lengths - 1]
    dtype = np.result_type(np.float64, node, edge, *others)
    K = node.shape[1]
    # the first length has no scores: those of its tokens and its neighbours say as much
    length = np.concatenate([np.zeros((1, K)), *lengths]).astype(dtype)
    length[np.arange(n_lengths)[:, None] >= longest] = -np.inf

    def rows(f: int) -> np.ndarray:
        """The table of a family with a row for each clique."""
        table = potentials.cliques[f]
        n_rows = len(structure.families[f].nodes)
        # a table that is whole is no view of itself, which would be read-only: numba would compile
        # each kernel once more
        if len(table) != n_rows:
            table = np.broadcast_to(table, (n_rows, K))
        return np.ascontiguousarray(table, dtype)

    none = np.empty((0, K), dtype)
    n_own = n_lengths + 2 * has_ends
    return Scores(
        np.ascontiguousarray(node, dtype),
        np.ascontiguousarray(edge, dtype).reshape(len(edge), K, K),
        length[None],
        rows(n_lengths) if has_ends else none,
        rows(n_lengths + 1) if has_ends else none,
        rows(n_own) if len(potentials.cliques) > n_own else none,
    )


def write_out(sums: Scores, out: Potentials) -> None:
    """Add sums to the potentials whose memory they do not have."""
    n_lengths = sums.length.shape[1]
    if sums.node.dtype != out.node.dtype:
        out.node[:] += sums.node
        out.cliques[0][:] += sums.edge.reshape(out.cliques[0].shape)
    for row, table in zip(sums.length[0, 1:], out.cliques[1:n_lengths], strict=True):
        table += row
    # those of a family that is not there have no rows
    of_rows = [sums.first, sums.last] if len(sums.first) else []
    for rows, table in zip([*of_rows, sums.whole], out.cliques[n_lengths:]):
        table += rows if len(table) == len(rows) else rows.sum(axis=0)


@kernel
def by_last_token(of_starts: np.ndarray, offsets: np.ndarray, whole: np.ndarray) -> float:
    """Write scores (n, L, K) of segments of l + 1 tokens that begin with a token, in the order of
    candidates; those that would not end with their sequence are left out. Return the sum of the
    squares of all scores: it tells if they are finite.
    """
    L, K = of_starts.shape[1:]
    o = 0
    seen = 0
    squares = 0.0
    for i in range(len(offsets) - 1):
        for last in range(offsets[i], offsets[i + 1]):
            if seen <= last * L * K:
                # read in the order of memory, scores are near when they are put in another one
                stop = min(last * L * K + AHEAD, of_starts.size)
                squares += _sum_of_squares(of_starts, seen, stop)
                seen = stop
            for n in range(min(L, last - offsets[i] + 1)):
                _copy(of_starts, ((last - n) * L + n) * K, whole, o, K)
                o += K
    return squares


@inlined
def _sum_of_squares(array: np.ndarray, start: int, stop: int) -> float:
    # four sums, as an addition waits for the one before
    a = splat(0.0)
    b = splat(0.0)
    c = splat(0.0)
    d = splat(0.0)
    m = start
    while m + 4 * LANES <= stop:
        a = _fma_square(array, m, a)
        b = _fma_square(array, m + LANES, b)
        c = _fma_square(array, m + 2 * LANES, c)
        d = _fma_square(array, m + 3 * LANES, d)
        m += 4 * LANES
    for k in range(m, stop, LANES):
        part = load_part(array, k, stop - k, 0.0)
        a = fma(part, part, a)
    return total(add(add(a, b), add(c, d)))


@inlined
def _fma_square(array: np.ndarray, m: int, sums: Vector) -> Vector:
    part = load(array, m)
    return fma(part, part, sums)


@kernel
def by_first_token(whole: np.ndarray, offsets: np.ndarray, of_starts: np.ndarray) -> None:
    """The way back: write what candidates have, and 0 for segments that are none."""
    L, K = of_starts.shape[1:]
    ahead = L + 8
    first = 0
    o = 0
    for i in range(len(offsets) - 1):
        T = offsets[i + 1] - offsets[i]
        for t in range(T):
            # segments that end with other tokens are far apart: those of eight tokens further on
            later = (first + ahead * L) * K
            for m in range(later, min(later + L * K, whole.size), LANES):
                prefetch(whole, m)
            c = first
            for n in range(min(L, T - t)):
                _copy(whole, c * K, of_starts, o, K)
                # one more token at the end: behind all that end with token t + n, and longer
                c += min(t + n + 1, L) + 1
                o += K
            for _ in range(min(L, T - t), L):
                _clear(of_starts, o, K)
                o += K
            first += min(t + 1, L)


@inlined
def _copy(given: np.ndarray, start: int, written: np.ndarray, o: int, K: int) -> None:
    """Copy K numbers; what stands behind them is written afterwards, or not at all."""
    for k in range(0, K, LANES):
        if start + k + LANES <= given.size and o + k + LANES <= written.size:
            store(written, o + k, load(given, start + k))
        else:
            store_part(written, o + k, load_part(given, start + k, K - k, 0.0), K - k)


@inlined
def _clear(written: np.ndarray, o: int, K: int) -> None:
    for k in range(0, K, LANES):
        if o + k + LANES <= written.size:
            store(written, o + k, splat(0.0))
        else:
            store_part(written, o + k, splat(0.0), K - k)
